"""The models of the RUBER study, each trained once and kept, and what they give the judged replies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.contexts import without_contexts
from rejoinder.data.dialogues import DialogueSource
from rejoinder.encoders.text_encoder import TextEncoder
from rejoinder.evaluators.ruber.pooling import RuberPool
from rejoinder.evaluators.ruber.ruber import BLENDS, Ruber
from rejoinder.learning.run import TrainingRun
from rejoinder.meta.judged import JudgedSet, read_judged
from rejoinder.types import Example, JudgedExample, Scores

FOLDS = 5
TUNED = ("s_U, tuned", "arithmetic, tuned")
SETS = {"DailyDialog": "zhao2020_dailydialog", "PersonaChat": "zhao2020_personachat"}
CORPORA = {"DailyDialog": "dailydialog.train", "PersonaChat": "personachat.valid"}
ENCODERS = ("GRU", "hierarchical", "MiniLM")

Columns = dict[str, Scores]


@dataclass(frozen=True)
class Budget:
    """How much each training may cost."""

    dialogues: Mapping[str, int]
    """Encoder -> dialogues of a corpus at most."""
    epochs: Mapping[str, int]
    little: int
    """Times as many epochs for PersonaChat, which is a seventh as large."""
    label_epochs: int


BUDGETS = {
    "small": Budget(
        {"GRU": 10_000, "hierarchical": 300, "MiniLM": 200}, {"GRU": 3, "hierarchical": 3, "MiniLM": 15}, 1, 5
    ),
    "full": Budget(
        {"GRU": 10_000, "hierarchical": 3_000, "MiniLM": 10_000}, {"GRU": 10, "hierarchical": 3, "MiniLM": 30}, 3, 30
    ),
}


@dataclass(frozen=True, eq=False)
class RememberingEncoder(TextEncoder):
    """An encoder that reads each text once in its life: folds ask for the same texts again and again."""

    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def encode(self, texts: Sequence[str], *, quiet: bool = True) -> NDArray[np.float32]:
        """One vector a text. (texts, width)"""
        fresh = list(dict.fromkeys(text for text in texts if text not in self.known))
        if fresh:
            self.known.update(zip(fresh, super().encode(fresh, quiet=quiet), strict=True))
        return np.stack([self.known[text] for text in texts])


@dataclass(frozen=True)
class Models:
    """Trained models by corpus and encoder, in a folder of their own."""

    data: Path
    folder: Path
    minilm: Path
    budget: Budget
    hred: Path | None = None
    """A reply model of DailyDialog, which the hierarchical form of that corpus starts from."""

    def model(self, corpus: str, encoder: str) -> Ruber:
        """The model of a corpus, trained now if it was not before."""
        home = self.folder / f"{corpus.lower()}-{encoder.lower()}"
        if not (home / "config.json").exists():
            home.parent.mkdir(parents=True, exist_ok=True)
            self.train(corpus, encoder).save(home)
        model: Ruber = Ruber.load(home)
        reader = model.scorer_.reader
        if isinstance(reader, TextEncoder):
            scorer = replace(
                model.scorer_, reader=RememberingEncoder(reader.network, reader.definition, reader.max_length)
            )
            model._remember({"vectors_": model.vectors_, "scorer_": scorer, "ranges_": model.ranges_}, model.fitted)
        return model

    def train(self, corpus: str, encoder: str) -> Ruber:
        """A model of a corpus, and a word on standard output about what it took."""
        path = self.data / "dialogues" / f"{CORPORA[corpus]}.jsonl.gz"
        tested = [example for name in SETS.values() for example in Replies.read(self.data, name).examples]
        known = islice(DialogueSource(path), self.budget.dialogues[encoder])
        dialogues = without_contexts(known, tested)
        epochs = self.budget.epochs[encoder] * (self.budget.little if corpus == "PersonaChat" else 1)
        parameters: dict[str, Any] = {"epochs": epochs, "label_epochs": self.budget.label_epochs, "batch": 128}
        parameters["encoder"] = str(self.minilm) if encoder == "MiniLM" else encoder.lower()
        if encoder == "hierarchical" and corpus == "DailyDialog" and self.hred is not None:
            parameters["start"] = str(self.hred)
        clock, cpu = time.perf_counter(), time.process_time()
        model = Ruber(learning_rate=2e-3, **parameters).fit(dialogues, run=TrainingRun(quiet=False))
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        pairs = sum(len(dialogue.turns) - 1 for dialogue in dialogues)
        print(f"{corpus}, {encoder}: {pairs:,} pairs, {epochs} epochs: {clock:.0f} s, {cpu:.0f} s of CPU", flush=True)
        return model


@dataclass(frozen=True, eq=False)
class Replies:
    """A judged set with the folds of its contexts."""

    judged: JudgedSet

    @classmethod
    def read(cls, data: Path, name: str) -> Replies:
        """From the judged set's file."""
        return cls(read_judged(data / "judged" / f"{name}.jsonl.gz"))

    @property
    def examples(self) -> Sequence[Example]:
        """All replies."""
        return self.judged.examples

    @cached_property
    def human(self) -> Scores:
        """The mean rating of each reply."""
        return self.judged.human("overall")

    @cached_property
    def cleaned(self) -> Scores:
        """The same without ratings that stray, which roberta-eval drops."""
        return self.judged.without_outliers().human("overall")

    @cached_property
    def test(self) -> NDArray[np.bool_]:
        """Which replies are in the published test split."""
        return np.array([split == "test" for split in self.judged.splits])

    @cached_property
    def true(self) -> NDArray[np.bool_]:
        """Which replies are those that were really given, by their system or word for word."""
        return np.array(
            [example.system == "ground-truth" or example.response in example.references for example in self.examples]
        )

    @cached_property
    def items(self) -> list[JudgedExample]:
        """The replies with their ratings, overall alone."""
        return [replace(item, scores={"overall": item.scores["overall"]}) for item in self.judged.judged_examples()]

    def folds(self) -> list[NDArray[np.bool_]]:
        """Which replies each fold tests: those of a context are in one fold."""
        contexts = self.judged.contexts
        order = np.random.default_rng(0).permutation(int(contexts.max()) + 1)
        return [np.isin(contexts, order[fold::FOLDS]) for fold in range(FOLDS)]


def untuned(model: Ruber, replies: Replies) -> Columns:
    """What a model without labels gives: both parts, all blends, and the pooling of the query by its vectors."""
    examples = list(replies.examples)
    columns = {"s_R": model.ref.score(examples), "s_U": model.unref.score(examples)}
    return columns | {blend: model.with_blend(blend).score(examples) for blend in BLENDS}


def pooled(replies: Replies) -> Scores:
    """ruber's baseline between query and reply."""
    return RuberPool().score(list(replies.examples))


def grouped(model: Ruber, replies: Replies) -> Columns:
    """What a model tuned on the other folds gives each fold."""
    columns = {name: np.full(len(replies.examples), np.nan) for name in TUNED}
    for fold in replies.folds():
        learn = [replace(item, split="") for item, tested in zip(replies.items, fold, strict=True) if not tested]
        _fill(columns, model.tuned(learn), replies, fold)
    return columns


def by_split(model: Ruber, replies: Replies) -> Columns:
    """What a model tuned on the published training split gives the test split, NaN elsewhere."""
    columns = {name: np.full(len(replies.examples), np.nan) for name in TUNED}
    _fill(columns, model.tuned(replies.items), replies, replies.test)
    return columns


def _fill(columns: Columns, tuned: Ruber, replies: Replies, rows: NDArray[np.bool_]) -> None:
    chosen = [example for example, wanted in zip(replies.examples, rows, strict=True) if wanted]
    for name, part in zip(TUNED, (tuned.unref, tuned), strict=True):
        columns[name][rows] = part.score(chosen)
