"""Evaluators fitted many times: cells of one fit and one test, their store, partitions, and leakage."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder._version import __version__
from rejoinder.arrays import Ints
from rejoinder.data.contexts import context_groups, context_keys, digest_of
from rejoinder.data.judged import JudgedSet, chosen_dimensions, context_key, read_judged
from rejoinder.data.source import labels_of
from rejoinder.errors import CallError, DataError, LeakageError, NeedsError
from rejoinder.evaluators.base import Evaluator
from rejoinder.folders.outputs import locked
from rejoinder.folders.schema import json_value
from rejoinder.learning.data import examples_digest, fold_of_groups
from rejoinder.metrics.base import ScoreWarning
from rejoinder.progress import progress
from rejoinder.registry import EVALUATORS
from rejoinder.types import Dialogue, Example, JudgedExample, Scores

# A cell of an experiment: one fit and one test.


_EARLIER_CLASSES = {
    "encoder": "encoder.encoder.Encoder",
    "ensemble": "ensemble.Ensemble",
    "blend": "blend.blend.Blend",
    "encoder-cosine": "encoder_cosine.EncoderCosine",
    "skip-thought": "skip_thought.SkipThought",
    "likelihood": "likelihood.Likelihood",
    "static": "static.static.Static",
    "am-fm": "am_fm.am_fm.AmFm",
    "am": "am_fm.parts.Am",
    "fm": "am_fm.parts.Fm",
    "ruber": "ruber.ruber.Ruber",
    "ruber-ref": "ruber.pooling.RuberRef",
    "ruber-unref": "ruber.unref.RuberUnref",
    "adem": "adem.adem.Adem",
    "c-adem": "adem.adem.ContextAdem",
    "r-adem": "adem.adem.ReferenceAdem",
    "encoder-dot": "adem.dot.EncoderDot",
    "vhred-dot": "adem.dot.VhredDot",
    "t2v-dot": "adem.dot.Tweet2VecDot",
    "human-likeness": "adem.human_likeness.HumanLikeness",
}
"""Evaluator -> its class in rejoinder.evaluators before 0.2, which keys of finished cells depended on."""


@dataclass(frozen=True, eq=False)
class FitCell:
    """An unfitted evaluator, the data to fit it on, and the examples to score."""

    label: str
    """The evaluator's label."""
    evaluator: Evaluator
    train: tuple[JudgedExample, ...]
    test: tuple[Example, ...]
    dialogues: tuple[Dialogue, ...] = ()
    seed: int = 0
    train_set: str = ""
    test_set: str = ""
    """Names of the data sets; context ids are compared only within one set."""

    @cached_property
    def fit_key(self) -> str:
        """A hash of everything that determines the fitted evaluator."""
        return self._fit_key(_registered(self.evaluator) or _location(self.evaluator))

    @cached_property
    def key(self) -> str:
        """A hash of everything that determines the scores."""
        return digest_of([self.fit_key, examples_digest(self.test)])

    @cached_property
    def earlier_key(self) -> str:
        """The key of the same cell before 0.2, which named the evaluator's class."""
        earlier = _EARLIER_CLASSES.get(_registered(self.evaluator))
        location = f"rejoinder.evaluators.{earlier}" if earlier else _location(self.evaluator)
        return digest_of([self._fit_key(location), examples_digest(self.test)])

    def _fit_key(self, kind: str) -> str:
        data = self.evaluator.training_data(self.dialogues, self.train, seed=self.seed)
        return digest_of([kind, self.evaluator.signature, data.digest, self.seed])

    def fit(self) -> Evaluator:
        """The evaluator, fitted."""
        return self.evaluator.clone().fit(self.dialogues, self.train, seed=self.seed)


def _location(evaluator: Evaluator) -> str:
    return f"{type(evaluator).__module__}.{type(evaluator).__qualname__}"


def _registered(evaluator: Evaluator) -> str:
    """The name of the evaluator's class in the registry; "" if it comes from elsewhere."""
    location = _location(evaluator)
    return next((name for name, known in EVALUATORS.items() if known.replace(":", ".") == location), "")


# The cells of an experiment, run one after the other.


@dataclass(frozen=True)
class CellRunner:
    """How cells are run: where finished ones are saved, and why leakage is allowed, if it is."""

    folder: str | Path | None = None
    allow_leakage: str | None = None
    quiet: bool = True
    faster: Sequence[str] = ("fewer folds, counts or seeds", "fewer evaluators")
    """Ways to be done sooner, which are named if the fits will take long."""

    def run(self, cells: Sequence[FitCell]) -> tuple[list[Scores], list[str]]:
        """The scores of each cell's test examples, and sentences on leakage that was allowed.

        All cells are checked before the first is fitted. Cells that are already in the folder are not run again, and
        consecutive cells with the same training data share one fit.
        """
        check = LeakageCheck(self.allow_leakage)
        for cell in cells:
            _check_needs(cell)
            check.look_at(cell)
        with CellStore.opened(None if self.folder is None else Path(self.folder)) as store:
            self._run(cells, store)
            return [store[cell] for cell in cells], check.sentences()

    def _run(self, cells: Sequence[FitCell], store: CellStore) -> None:
        fitted: tuple[str, Evaluator] | None = None
        missing = list({cell.key: cell for cell in cells if cell not in store}.values())
        for cell in progress(missing, "fitting", total=len(missing), unit="fits", quiet=self.quiet, faster=self.faster):
            started = time.perf_counter()
            if fitted is None or fitted[0] != cell.fit_key:
                fitted = (cell.fit_key, cell.fit())
            scores = _tested(fitted[1], cell)
            store.add(cell, scores, fitted[1].signature, time.perf_counter() - started)


def _check_needs(cell: FitCell) -> None:
    for need in sorted(cell.evaluator.needs):
        if not any(getattr(example, need) for example in cell.test):
            raise NeedsError(f"{cell.label} needs {need}, but no test reply of {cell.test_set} has any")


def _tested(evaluator: Evaluator, cell: FitCell) -> Scores:
    with warnings.catch_warnings():
        # Empty replies are judged like any others, and would cause a warning in every cell.
        warnings.simplefilter("ignore", ScoreWarning)
        return evaluator.score(cell.test)


# Finished cells on disk, one JSON line per cell, written as soon as the cell is finished.


FILE = "cells.jsonl"


class CellStore:
    """The scores of cells by key; only in memory where there is no folder."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._scores: dict[str, Scores] = {}
        if path is not None:
            self._read(path)

    @classmethod
    @contextmanager
    def opened(cls, folder: Path | None = None) -> Iterator[CellStore]:
        """The store of a folder, which no other run can write to during the block; CallError if one is writing."""
        if folder is None:
            yield cls()
            return
        if folder.exists() and not folder.is_dir():
            raise CallError(f"{folder} is a file: expected a folder for finished cells")
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / FILE):
            yield cls(folder / FILE)

    def __contains__(self, cell: FitCell) -> bool:
        return cell.key in self._scores or cell.earlier_key in self._scores

    def __getitem__(self, cell: FitCell) -> Scores:
        scores = self._scores[cell.key if cell.key in self._scores else cell.earlier_key]
        if len(scores) != len(cell.test):
            raise DataError(
                f"has {len(scores)} scores of cell {cell.key}: expected {len(cell.test)}", file=str(self._path)
            )
        return scores

    def add(self, cell: FitCell, scores: Scores, signature: str, seconds: float) -> None:
        """Save the scores of a finished cell."""
        self._scores[cell.key] = scores
        if self._path is None:
            return
        record = {
            "key": cell.key,
            "evaluator": cell.label,
            "signature": signature,
            "version": __version__,
            "seed": cell.seed,
            "train": {"set": cell.train_set, "judged": len(cell.train), "dialogues": len(cell.dialogues)},
            "test": {"set": cell.test_set, "replies": len(cell.test)},
            "seconds": round(seconds, 3),
            "ids": [example.id for example in cell.test],
            "scores": [value if math.isfinite(value) else None for value in scores.tolist()],
        }
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(record) + "\n")

    def _read(self, path: Path) -> None:
        """Read finished cells; an incomplete last line, left by an interrupted run, is removed."""
        if not path.exists():
            return
        end = 0
        with path.open("r+b") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    file.truncate(end)
                    break
                record = _record(line, path, number)
                scores = [math.nan if value is None else value for value in record["scores"]]
                self._scores[record["key"]] = np.array(scores, np.float64)
                end += len(line)


def _record(line: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        record = json_value(line)
    except ValueError as error:
        raise DataError(f"is not JSON ({error})", file=str(path), line=number) from error
    if not isinstance(record, dict) or not {"key", "scores"} <= record.keys():
        raise DataError("is not a finished cell: expected key and scores", file=str(path), line=number)
    return record


# The check that no test context was also trained on.


NAMED = 10
"""Most ids that a message lists; the others are counted."""

JUDGED = "the judged training replies"


class LeakageCheck:
    """Raises an error on leakage, or counts it where a reason for allowing it was given."""

    def __init__(self, allowed: str | None = None) -> None:
        if allowed is not None and not allowed.strip():
            raise CallError("allow_leakage must give the reason why leakage is allowed, but it is empty")
        self._allowed = allowed
        self._most: dict[str, tuple[int, int]] = {}

    def look_at(self, cell: FitCell) -> None:
        """Check a cell before it is fitted."""
        data = cell.evaluator.training_data(cell.dialogues, cell.train)
        shared = shares_context(cell.test, data.judged_examples, same_set=cell.train_set == cell.test_set)
        self._take(JUDGED, cell, shared)
        self._take("the training dialogues", cell, data.dialogue_contexts.holds(cell.test))
        self._take(
            "the training data of the model it starts from", cell, cell.evaluator.inherited_contexts().holds(cell.test)
        )

    def sentences(self) -> list[str]:
        """One sentence per source of leakage that was allowed."""
        return [
            f"Leakage, which was allowed ({self._allowed}): up to {leaked} of {tested} test replies have a context "
            f"that is also in {source}."
            for source, (leaked, tested) in self._most.items()
        ]

    def _take(self, source: str, cell: FitCell, leaks: NDArray[np.bool_]) -> None:
        leaked = int(leaks.sum())
        if leaked and self._allowed is None:
            raise LeakageError(f"{_message(cell.label, source, cell.test, leaks)}; {_ways_on(source, cell)}")
        if leaked:
            self._most[source] = max(self._most.get(source, (0, 0)), (leaked, len(cell.test)))


def _ways_on(source: str, cell: FitCell) -> str:
    """What can be done about leakage; the options of the command line are arguments of the same names in Python."""
    if source != JUDGED:
        other = ""
    elif cell.train_set == cell.test_set:  # folds share no context, so this is the data's own split
        other = "--folds 5 for folds that share no context, or "
    else:
        other = "--shared drop to leave these contexts out of training, or "
    return f"use {other}--allow-leakage REASON to test on them anyway (in Python: allow_leakage)"


def refuse_trained(evaluator: Evaluator, examples: Sequence[Example]) -> None:
    """Raise a LeakageError if a fitted evaluator was trained on the context of any of the examples."""
    held = evaluator.trained_contexts.holds(examples)
    if held.any():
        raise LeakageError(_message(evaluator.name, "its training data", examples, held))


def _message(label: str, source: str, examples: Sequence[Example], leaks: NDArray[np.bool_]) -> str:
    leaked = [example.id for example, leak in zip(examples, leaks, strict=True) if leak]
    rest = f" and {len(leaked) - NAMED} more" if len(leaked) > NAMED else ""
    return (
        f"{label} would be tested on training contexts: {len(leaked)} of {len(examples)} test replies have a context "
        f"that is also in {source}: {', '.join(leaked[:NAMED])}{rest}"
    )


# Unfitted evaluators, given directly or by a function that makes them.


Maker = Evaluator | Callable[[], Evaluator]
"""An evaluator, of which an unfitted copy is made, or a function that makes one."""

Makers = Maker | Mapping[str, Maker]


def named_evaluators(given: Makers) -> dict[str, Evaluator]:
    """Label -> unfitted evaluator; a single one is labelled by its name."""
    if isinstance(given, Mapping):
        if not given:
            raise CallError("no evaluator was given: expected at least one")
        return {label: _made(maker) for label, maker in given.items()}
    evaluator = _made(given)
    return {evaluator.name: evaluator}


def _made(maker: Maker) -> Evaluator:
    made = maker if isinstance(maker, Evaluator) else maker() if callable(maker) else None
    if not isinstance(made, Evaluator):
        raise CallError(f"{maker!r} is not an evaluator: expected one, or a function that makes one")
    return made.clone()


# Judged sets split into training, validation and test rows.


PUBLISHED = "published"
"""In place of a number of folds: use the data's own field `split`."""

Folds = int | str

NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class SplitPart:
    """One split of a set: rows to train on, to validate on (for early stopping) and to test on."""

    name: str
    train: Ints
    test: Ints
    valid: Ints


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """A judged set on one of its dimensions."""

    judged: JudgedSet
    dimension: str

    @classmethod
    def of(cls, origin: Any, dimension: str | None) -> LabelledSet:
        """From a judged set, or a source to read one from; by default on the overall dimension."""
        judged = read_judged(origin)
        chosen = chosen_dimensions(judged, dimension)
        if len(chosen) != 1:
            listed = ", ".join(chosen)
            raise CallError(f"{judged.name} was judged on {listed}: expected one of them as the dimension")
        return cls(judged, chosen[0])

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def name(self) -> str:
        """The name of the set: a file's name without its folder and suffix."""
        return labels_of([self.judged.name])[0]

    @cached_property
    def human(self) -> Scores:
        """The mean rating of each example."""
        return self.judged.human(self.dimension)

    @cached_property
    def groups(self) -> Ints:
        """The number of each example's context; contexts that share an id, a text or a reference count as one."""
        return groups_within_set(self.judged.examples)

    def examples(self, rows: Ints) -> tuple[Example, ...]:
        """The examples of these rows."""
        return tuple(self.judged.examples[row] for row in rows)

    def training(self, rows: Ints, valid: Ints = NONE) -> tuple[JudgedExample, ...]:
        """The rated examples of these training and validation rows, with their ratings on the dimension."""
        return tuple(
            self._rated[split][row]
            for chosen, split in ((rows, "train"), (valid, "valid"))
            for row in chosen.tolist()
            if row in self._rated[split]
        )

    @cached_property
    def _rated(self) -> dict[str, dict[int, JudgedExample]]:
        """Split -> row -> the example with its ratings, made once because most cells of an experiment share them."""
        ratings = self.judged.ratings[self.dimension]
        rows = np.flatnonzero(~np.isnan(self.human)).tolist()
        return {
            split: {
                row: JudgedExample(self.judged.examples[row], {self.dimension: tuple(ratings[row].tolist())}, split)
                for row in rows
            }
            for split in ("train", "valid")
        }

    def parts(self, folds: Folds, seed: int = 0) -> list[SplitPart]:
        """Folds that share no context, or the one published split."""
        if folds == PUBLISHED:
            return [self._published()]
        if isinstance(folds, str) or folds < 2:
            raise CallError(f"folds must be a number of at least 2, or {PUBLISHED!r}, not {folds!r}")
        fold_of = fold_of_groups(self.groups, folds, seed)
        return [
            SplitPart(f"fold {fold + 1}", np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold), NONE)
            for fold in range(folds)
        ]

    def _published(self) -> SplitPart:
        rows = {split: self._rows_of(split) for split in ("train", "valid", "test")}
        if not len(rows["train"]) or not len(rows["test"]):
            raise NeedsError(f"{self.judged.name} has no published split: expected `split` to be train or test")
        return SplitPart("published split", rows["train"], rows["test"], rows["valid"])

    def _rows_of(self, split: str) -> Ints:
        return np.flatnonzero(self.judged.in_split(split))


def groups_within_set(examples: Sequence[Example]) -> Ints:
    """The groups of `data.contexts` for examples of one data set, where equal ids also mean the same context."""
    return context_groups(examples, signs)


def signs(example: Example) -> Iterator[Hashable]:
    """Everything that identifies an example's context within its data set."""
    yield context_key(example)
    yield from context_keys(example)


def shares_context(examples: Sequence[Example], others: Sequence[Example], *, same_set: bool) -> NDArray[np.bool_]:
    """Which of the examples have a context of the others; ids are compared only within one data set."""
    by = signs if same_set else context_keys
    known = {key for other in others for key in by(other)}
    return np.array([not known.isdisjoint(by(example)) for example in examples], np.bool_)
