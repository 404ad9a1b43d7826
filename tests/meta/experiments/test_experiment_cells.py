"""Cells run once, are kept the moment they are done, and are refused where they would test what they learned."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from learning_ridge import RidgeEvaluator, synthetic
from rejoinder.data.contexts import TrainedContexts, digest_of
from rejoinder.errors import CallError, DataError, LeakageError, NeedsError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.folders.outputs import locked
from rejoinder.learning.data import TrainingData, examples_digest
from rejoinder.metrics.batch import Batch
from rejoinder.registry import EVALUATORS, trainable_class
from rejoinder.trusting.cross_validation import cross_validate
from rejoinder.trusting.experiments import CellRunner, FitCell, refuse_trained
from rejoinder.types import Dialogue, Scores

MADE = synthetic(contexts=20)
ITEMS = tuple(replace(item, split="") for item in MADE.judged_examples())
TRAIN, TEST = ITEMS[:30], MADE.examples[30:]


@pytest.fixture(autouse=True)
def fits() -> Iterator[list[TrainingData]]:
    """What was fitted on in this test."""
    RidgeEvaluator.fits.clear()
    yield RidgeEvaluator.fits
    RidgeEvaluator.fits.clear()


def cell(**changes: Any) -> FitCell:
    """A cell that learns from the first half and is tested on the second, but for what is changed."""
    return replace(FitCell("ridge", RidgeEvaluator(), TRAIN, TEST, train_set="made", test_set="made"), **changes)


class PowerCut(BaseException):
    """The end of a process, as far as a test can have it."""


@dataclass(frozen=True, kw_only=True)
class Breaking(RidgeEvaluator):
    """Is interrupted at its fourth fit."""

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        if len(self.fits) == 3:
            self.fits.append(data)
            raise PowerCut
        return super().learn(data)


def test_two_grids_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with locked(tmp_path / "cells.jsonl"), pytest.raises(CallError, match="is being written by another call"):
        CellRunner(tmp_path).run([cell()])
    CellRunner(tmp_path).run([cell()])
    assert [path.name for path in tmp_path.iterdir()] == ["cells.jsonl"], "no lock is left behind"


def test_an_interrupted_grid_goes_on_where_it_stopped(tmp_path: Path, fits: list[TrainingData]) -> None:
    with pytest.raises(PowerCut):
        cross_validate(Breaking(), MADE, folds=6, folder=tmp_path)
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 3
    done = {data.digest for data in fits[:3]}
    fits.clear()
    resumed = cross_validate(Breaking(), MADE, folds=6, folder=tmp_path)
    assert len(fits) == 3
    assert not {data.digest for data in fits} & done
    fits.clear()
    again = cross_validate(Breaking(), MADE, folds=6, folder=tmp_path)
    assert not fits
    never_interrupted = cross_validate(RidgeEvaluator(), MADE, folds=6)
    assert str(again) == str(resumed) == str(never_interrupted)
    np.testing.assert_array_equal(again.scores["ridge"], never_interrupted.scores["ridge"])


def test_what_is_kept_gives_the_very_same_scores(tmp_path: Path) -> None:
    kept = [cross_validate(RidgeEvaluator(), MADE, folds=3, folder=tmp_path) for _ in range(2)]
    fresh = cross_validate(RidgeEvaluator(), MADE, folds=3)
    for result in kept:
        np.testing.assert_array_equal(result.scores["ridge"], fresh.scores["ridge"])


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path, fits: list[TrainingData]) -> None:
    cross_validate(RidgeEvaluator(), MADE, folds=3, folder=tmp_path)
    path = tmp_path / "cells.jsonl"
    finished = path.read_bytes()
    path.write_bytes(finished[:-40])
    fits.clear()
    cross_validate(RidgeEvaluator(), MADE, folds=3, folder=tmp_path)
    assert len(fits) == 1
    kept, expected = (list(map(json.loads, lines.splitlines())) for lines in (path.read_bytes(), finished))
    assert [{**record, "seconds": 0} for record in kept] == [{**record, "seconds": 0} for record in expected]


def test_a_finished_cell_can_be_traced(tmp_path: Path) -> None:
    CellRunner(tmp_path).run([cell(seed=4)])
    (record,) = map(json.loads, (tmp_path / "cells.jsonl").read_text().splitlines())
    assert record["key"] == cell(seed=4).key
    assert record["signature"].startswith("ridge|alpha:1.0|fit:")
    assert "|seed:4|v:" in record["signature"]
    assert record["train"] == {"set": "made", "judged": 30, "dialogues": 0}
    assert record["ids"] == [example.id for example in TEST]
    assert len(record["scores"]) == 30


CHANGED: dict[str, dict[str, Any]] = {
    "parameter": {"evaluator": RidgeEvaluator(alpha=2.0)},
    "class": {"evaluator": Breaking()},
    "seed": {"seed": 1},
    "fewer labels": {"train": TRAIN[1:]},
    "another label": {"train": (replace(TRAIN[0], scores={"overall": (1.0, 1.1)}), *TRAIN[1:])},
    "another reply": {"train": (replace(TRAIN[0], example=replace(TRAIN[0].example, response="no")), *TRAIN[1:])},
    "one to stop by": {"train": (replace(TRAIN[0], split="valid"), *TRAIN[1:])},
    "fewer tests": {"test": TEST[1:]},
    "other tests": {"test": (replace(TEST[0], references=("yes",)), *TEST[1:])},
    "dialogues": {"dialogues": (Dialogue("1", ("some", "talk")),)},
}


@pytest.mark.parametrize("change", CHANGED)
def test_whatever_decides_the_scores_decides_the_key(change: str) -> None:
    assert cell(**CHANGED[change]).key != cell().key == cell().key


@pytest.mark.parametrize("name", EVALUATORS)
def test_a_key_names_the_evaluator_and_not_its_module(name: str) -> None:
    """A class may move to another module; cells of 0.1, which named it, are still found."""
    known = trainable_class(name)
    one = cell(evaluator=object.__new__(known))
    object.__setattr__(one, "_fit_key", lambda kind: kind)  # in place of the hash of this and the data
    assert one.fit_key == name
    assert one.key == digest_of([name, examples_digest(TEST)])
    assert one.earlier_key != one.key


def test_cells_with_a_key_of_before_are_not_fitted_again(tmp_path: Path) -> None:
    """The key is that of rejoinder 0.1 for this cell."""
    ridge = Blend(members=("length", "chrf"), models=("ridge",))
    one = cell(evaluator=ridge)
    data = ridge.training_data((), TRAIN, seed=0)
    fit_key = digest_of(["rejoinder.evaluators.blend.blend.Blend", ridge.signature, data.digest, 0])
    record = {"key": digest_of([fit_key, examples_digest(TEST)]), "scores": [0.5] * len(TEST)}
    (tmp_path / "cells.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    [scores], _ = CellRunner(tmp_path).run([one])
    assert scores.tolist() == [0.5] * len(TEST)
    assert len((tmp_path / "cells.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_names_decide_nothing() -> None:
    assert cell(label="other", train_set="x", test_set="y").key == cell().key


def test_neighbours_that_are_fitted_alike_share_the_fit(fits: list[TrainingData]) -> None:
    scores, _ = CellRunner().run([cell(), cell(test=TEST[:10]), cell(), cell(seed=1)])
    assert len(fits) == 2
    np.testing.assert_array_equal(scores[0][:10], scores[1])


def test_unknown_scores_are_kept_as_unknown(tmp_path: Path) -> None:
    examples = tuple(replace(example, context=()) if row % 2 else example for row, example in enumerate(TEST))
    for _ in range(2):
        (scores,), _ = CellRunner(tmp_path).run([cell(test=examples)])
        assert np.isnan(scores).tolist() == [False, True] * 15


def test_folders_that_hold_something_else(tmp_path: Path) -> None:
    (tmp_path / "cells.jsonl").write_text('{"key": "1"}\n')
    with pytest.raises(DataError, match=r"cells\.jsonl:1: is not a finished cell"):
        CellRunner(tmp_path).run([cell()])
    (tmp_path / "cells.jsonl").write_text("nonsense\n")
    with pytest.raises(DataError, match="is not JSON"):
        CellRunner(tmp_path).run([cell()])
    with pytest.raises(CallError, match="is a file"):
        CellRunner(tmp_path / "cells.jsonl").run([cell()])


def test_needs_are_checked_before_anything_is_fitted(fits: list[TrainingData]) -> None:
    bare = tuple(replace(example, context=()) for example in TEST)
    with pytest.raises(NeedsError, match="ridge needs context, but no test reply of made has any"):
        CellRunner().run([cell(), cell(test=bare)])
    assert not fits


def test_training_contexts_are_not_tested_on(fits: list[TrainingData]) -> None:
    with pytest.raises(LeakageError) as refused:
        CellRunner().run([cell(), cell(train=ITEMS[:20], test=MADE.examples[6:40])])
    # Rows 6..19 were learned from, and row 20 answers the same context as rows 18 and 19.
    ids = [ITEMS[row].example.id for row in range(6, 16)]
    assert "15 of 34 test replies" in str(refused.value)
    assert f"{', '.join(ids)} and 5 more" in str(refused.value)
    assert not fits


def test_a_refusal_names_the_ways_to_go_on() -> None:
    anyway = r"--allow-leakage REASON to test on them anyway \(in Python: allow_leakage\)$"
    leaking = MADE.examples[:3]
    with pytest.raises(LeakageError, match=rf"; use --folds 5 for folds that share no context, or {anyway}"):
        CellRunner().run([cell(test=leaking)])
    with pytest.raises(
        LeakageError, match=rf"; use --shared drop to leave these contexts out of training, or {anyway}"
    ):
        CellRunner().run([cell(test=leaking, test_set="other")])
    with pytest.raises(LeakageError, match=rf"the training dialogues: [^;]*; use {anyway}"):
        CellRunner().run([cell(dialogues=(Dialogue("1", ("hello", *TEST[0].context, "and so on")),))])


def test_leakage_is_allowed_for_a_reason_that_is_told() -> None:
    scores, findings = CellRunner(allow_leakage="the paper's split is by reply").run([cell(test=MADE.examples[29:33])])
    assert len(scores[0]) == 4
    (finding,) = findings
    assert "up to 1 of 4 test replies" in finding
    assert "the paper's split is by reply" in finding
    assert CellRunner(allow_leakage="never mind").run([cell()])[1] == []
    with pytest.raises(CallError, match="must give the reason"):
        CellRunner(allow_leakage=" ").run([cell()])


def test_those_to_stop_by_are_training_contexts_too() -> None:
    with pytest.raises(LeakageError, match="30 of 30"):
        CellRunner().run([cell(train=(*TRAIN, *(replace(item, split="valid") for item in ITEMS[30:])))])


def test_dialogues_that_hold_a_test_context_are_refused() -> None:
    context = TEST[0].context
    talk = (Dialogue("1", ("hello", *context, "and so on")),)
    with pytest.raises(
        LeakageError, match="3 of 30 test replies have a context that is also in the training dialogues"
    ):
        CellRunner().run([cell(dialogues=talk)])


@dataclass(frozen=True, kw_only=True)
class FineTuned(RidgeEvaluator):
    """Starts from something that has seen the last context."""

    def inherited_contexts(self) -> TrainedContexts:
        return TrainedContexts.of([TEST[-1]])


def test_what_an_evaluator_starts_from_counts() -> None:
    with pytest.raises(LeakageError, match="the training data of the model it starts from"):
        CellRunner().run([cell(evaluator=FineTuned())])
    assert FineTuned().fit((), TRAIN[:12]).trained_contexts.holds([TEST[-1]]).all()


def test_a_fitted_evaluator_can_be_checked_later(tmp_path: Path) -> None:
    cell().fit().save(tmp_path / "model")
    loaded = RidgeEvaluator.load(tmp_path / "model")
    refuse_trained(loaded, TEST)
    with pytest.raises(LeakageError, match="ridge would be tested on training contexts: 30 of 60") as refused:
        refuse_trained(loaded, MADE.examples)
    assert "--allow-leakage" not in str(refused.value), "it has no such option"


@dataclass(frozen=True, kw_only=True)
class Memory(Evaluator):
    """Knows the mean score of every context that it has seen, and nothing else."""

    name: ClassVar[str] = "memory"
    measures: ClassVar[str] = "what was said of the context"
    citation: ClassVar[str] = "these tests"
    raw_range: ClassVar[tuple[float, float]] = (1.0, 5.0)

    means_: dict[str, float] = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        said: dict[str, list[float]] = {}
        for item in data.judged:
            said.setdefault(item.example.context[-1], []).append(float(np.mean(item.scores["overall"])))
        return {"means_": {context: float(np.mean(scores)) for context, scores in said.items()}}

    def predict(self, batch: Batch) -> Scores:
        return np.array([self.means_.get(example.context[-1], 3.0) for example in batch.examples])


def test_memory_alone_is_worth_nothing() -> None:
    rng = np.random.default_rng(0)
    level = rng.normal(3, 1, 20)
    items = [
        replace(item, scores={"overall": (float(level[row // 3]),)}, split="test" if row % 3 == 0 else "train")
        for row, item in enumerate(ITEMS)
    ]
    honest = cross_validate(Memory(), items, folds=5)
    assert (honest.scores["memory"] == 3.0).all()
    leaked = cross_validate(Memory(), items, folds="published", allow_leakage="to show what it does")
    tested = ~np.isnan(leaked.scores["memory"])
    assert np.corrcoef(leaked.scores["memory"][tested], level[np.arange(60) // 3][tested])[0, 1] > 0.99
