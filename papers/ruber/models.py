"""The models of the RUBER page, each trained once and cached, and their scores of the judged replies."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from papers.inputs import MINILM, Inputs
from papers.published.zhao2020 import DAILYDIALOG, PERSONACHAT
from papers.replies import OVERALL, RatedReplies
from rejoinder.arrays import Bools
from rejoinder.data.contexts import without_contexts
from rejoinder.errors import UnknownNameError
from rejoinder.evaluators.ruber.ruber import BLENDS, Ruber
from rejoinder.evaluators.ruber.unref import RuberPool
from rejoinder.learning.run import TrainingRun
from rejoinder.types import JudgedExample, Scores

FOLDS = 5
TUNED = ("s_U, tuned", "arithmetic, tuned")
SETS = {"DailyDialog": DAILYDIALOG, "PersonaChat": PERSONACHAT}
"""Corpus -> judged set."""
OTHER = {"DailyDialog": "PersonaChat", "PersonaChat": "DailyDialog"}
"""Corpus -> the other one."""
CORPORA = {"DailyDialog": "dailydialog.train", "PersonaChat": "personachat.valid"}
"""Corpus -> the dialogues that are learned from."""
PRETRAINED = "MiniLM"
ENCODERS = ("GRU", "hierarchical", PRETRAINED)

Columns = dict[str, Scores]


@dataclass(frozen=True)
class Budget:
    """How much each training may cost."""

    dialogues: Mapping[str, int]
    """Encoder -> the largest number of dialogues of a corpus."""
    epochs: Mapping[str, int]
    personachat: int
    """Times as many epochs for PersonaChat, which is a seventh as large."""
    label_epochs: int


BUDGETS = {
    "small": Budget(
        {"GRU": 10_000, "hierarchical": 300, "MiniLM": 200}, {"GRU": 3, "hierarchical": 3, "MiniLM": 15}, 1, 5
    ),
    # About as many pairs of DailyDialog as of PersonaChat, so that both directions of transfer can be compared.
    "equal": Budget(
        dict.fromkeys(("GRU", "hierarchical", "MiniLM"), 2_000), {"GRU": 3, "hierarchical": 3, "MiniLM": 30}, 1, 30
    ),
    "full": Budget(
        {"GRU": 10_000, "hierarchical": 3_000, "MiniLM": 10_000}, {"GRU": 10, "hierarchical": 3, "MiniLM": 30}, 3, 30
    ),
}


@dataclass(frozen=True, eq=False)
class Replies(RatedReplies):
    """A judged set with the folds of its contexts."""

    @cached_property
    def cleaned(self) -> Scores:
        """The same without ratings far from the reply's median, which Zhao et al. 2020 drop."""
        return self.judged.without_outliers().human(OVERALL)

    @cached_property
    def test(self) -> Bools:
        """Which replies are in the published test split."""
        return self.judged.in_split("test")

    @cached_property
    def true(self) -> Bools:
        """Which replies are the true ones, by their system or word for word."""
        return np.array(
            [example.system == "ground-truth" or example.response in example.references for example in self.examples]
        )

    @cached_property
    def items(self) -> list[JudgedExample]:
        """The replies with their overall ratings alone."""
        return [replace(item, scores={OVERALL: item.scores[OVERALL]}) for item in self.judged.judged_examples()]

    def folds(self) -> list[Bools]:
        """Which replies each fold tests: those of a context are in one fold."""
        contexts = self.judged.contexts
        # Not `fold_of_groups`, which numbers the permuted contexts the other way round: the published page has these.
        place = np.argsort(np.random.default_rng(0).permutation(int(contexts.max()) + 1))
        return [place[contexts] % FOLDS == fold for fold in range(FOLDS)]


@dataclass(frozen=True, eq=False)
class Models:
    """Trained models by corpus and encoder."""

    inputs: Inputs
    budget_name: str
    hred: str = ""
    """The folder of a reply model of DailyDialog, which the hierarchical form of that corpus starts from."""

    @property
    def budget(self) -> Budget:
        """What training may cost."""
        if self.budget_name not in BUDGETS:
            raise UnknownNameError("budget", self.budget_name, BUDGETS)
        return BUDGETS[self.budget_name]

    @cached_property
    def replies(self) -> dict[str, Replies]:
        """Corpus -> its judged replies."""
        return {corpus: Replies(self.inputs.judged(name)) for corpus, name in SETS.items()}

    def model(self, corpus: str, encoder: str) -> Ruber:
        """The model of a corpus, trained if it is not cached."""
        unfitted = self.unfitted(corpus, encoder)
        key = [unfitted.signature, corpus, self.budget.dialogues[encoder]]
        name = f"ruber-{corpus}-{encoder}".lower()
        model: Ruber = self.inputs.cache.model(name, key, lambda: self.train(unfitted, corpus, encoder), Ruber.load)
        return model

    def unfitted(self, corpus: str, encoder: str) -> Ruber:
        """A model with the settings of its corpus and encoder."""
        epochs = self.budget.epochs[encoder] * (self.budget.personachat if corpus == "PersonaChat" else 1)
        parameters: dict[str, Any] = {"epochs": epochs, "label_epochs": self.budget.label_epochs, "batch": 128}
        parameters["encoder"] = str(self.inputs.model(MINILM)) if encoder == PRETRAINED else encoder.lower()
        if encoder == "hierarchical" and corpus == "DailyDialog" and self.hred:
            parameters["start"] = self.hred
        return Ruber(learning_rate=2e-3, **parameters)

    def train(self, model: Ruber, corpus: str, encoder: str) -> Ruber:
        """The model, fitted on dialogues that hold no judged context; reports how long it took."""
        tested = [example for replies in self.replies.values() for example in replies.examples]
        known = self.inputs.dialogues(CORPORA[corpus], self.budget.dialogues[encoder])
        dialogues = without_contexts(known, tested)
        clock, cpu = time.perf_counter(), time.process_time()
        model.fit(dialogues, run=TrainingRun(quiet=self.inputs.quiet))
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        pairs = sum(len(dialogue.turns) - 1 for dialogue in dialogues)
        self.inputs.say(f"{corpus}, {encoder}: {pairs:,} pairs in {clock:.0f} s, {cpu:.0f} s of CPU")
        return model


def untuned(model: Ruber, replies: Replies) -> Columns:
    """Scores of a model without labels: both parts and all blends."""
    examples = list(replies.examples)
    columns = {"s_R": model.ref.score(examples), "s_U": model.unref.score(examples)}
    return columns | {blend: model.with_blend(blend).score(examples) for blend in BLENDS}


def pooled(replies: Replies) -> Scores:
    """The baseline of Tao et al. 2018: vector pooling between query and reply."""
    return RuberPool().score(list(replies.examples))


def grouped(model: Ruber, replies: Replies) -> Columns:
    """Scores of each fold by a model tuned on the other folds."""
    columns = {name: np.full(len(replies.examples), np.nan) for name in TUNED}
    for fold in replies.folds():
        learn = [replace(item, split="") for item, tested in zip(replies.items, fold, strict=True) if not tested]
        _fill(columns, model.tuned(learn), replies, fold)
    return columns


def by_split(model: Ruber, replies: Replies) -> Columns:
    """Scores of the test split by a model tuned on the published training split; NaN elsewhere."""
    columns = {name: np.full(len(replies.examples), np.nan) for name in TUNED}
    _fill(columns, model.tuned(replies.items), replies, replies.test)
    return columns


def _fill(columns: Columns, tuned: Ruber, replies: Replies, rows: Bools) -> None:
    chosen = [example for example, wanted in zip(replies.examples, rows, strict=True) if wanted]
    for name, part in zip(TUNED, (tuned.unref, tuned), strict=True):
        columns[name][rows] = part.score(chosen)
