"""The contract of evaluators, tested on every one in the registry, and on two that were written for it."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from large_hred import write_large_hred
from places import DOCS
from registered_evaluators import REGISTERED, SMALL
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.calibration import Calibration
from rejoinder.learning.data import TrainingData, labels
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import ScoreWarning
from rejoinder.metrics.batch import Batch
from rejoinder.registry import EVALUATORS, JUDGES, SHIPPED_EVALUATORS, load
from rejoinder.types import Example, JudgedExample, Scores
from small_evaluators import REFERENCES, Familiar, Lengthy, dialogues, judged
from tolerance import TOLERANCE, assert_same_scores

HOSTILE = ["a" * 5000, "\u200b", "﷽" * 50, "e\u0301" * 20, "<script>", "\\", "a\u2028b", "lone \ud800", "?!"]

EXAMPLES = [replace(item.example, references=("how are you", "word for word")) for item in judged()]


@pytest.fixture(params=SMALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def unfitted(name: str) -> Evaluator:
    return SMALL[name]()


@cache
def fitted_once(name: str) -> Evaluator:
    return SMALL[name]().fit(dialogues(), judged(), seed=3)


@pytest.fixture
def fitted(name: str) -> Evaluator:
    """One for all tests, none of which fits it again."""
    return fitted_once(name)


def test_every_registered_evaluator_is_tested() -> None:
    assert REGISTERED.keys() == EVALUATORS.keys()
    assert [make().name for make in REGISTERED.values()] == list(REGISTERED)


def test_every_evaluator_is_on_the_page_on_determinism() -> None:
    page = (DOCS / "reference" / "determinism.md").read_text(encoding="utf-8")
    assert [name for name in (*EVALUATORS, *JUDGES, *SHIPPED_EVALUATORS) if f"`{name}`" not in page] == []


def test_the_page_on_determinism_gives_the_tolerance_of_the_tests() -> None:
    page = (DOCS / "reference" / "determinism.md").read_text(encoding="utf-8")
    assert f"at most {TOLERANCE:.5f}" in page
    assert set(re.findall(r"0\.0\d+", page)) == {f"{TOLERANCE:.5f}"}, "there is one tolerance"


def test_fit_gives_the_same_object_back(unfitted: Evaluator) -> None:
    assert unfitted.fit(dialogues(), judged()) is unfitted


def test_there_is_one_fit_for_all(unfitted: Evaluator, capsys: pytest.CaptureFixture[str]) -> None:
    kind = type(unfitted)
    assert kind.fit is Evaluator.fit
    assert kind.range is Evaluator.range  # a class declares `raw_range`
    learn, valid = judged()[:30], judged()[30:]
    unfitted.fit(dialogues(), learn, valid=valid, seed=1, run=TrainingRun(quiet=True))
    assert unfitted.fitted.judged == (0 if kind.labels == "unused" else 40)
    assert unfitted.fitted.dialogues == (0 if kind.dialogues == "unused" else 3)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "use",
    [
        lambda evaluator, _: evaluator.score(EXAMPLES),
        lambda evaluator, _: evaluator.score([]),
        lambda evaluator, folder: evaluator.save(folder / "model"),
        lambda evaluator, _: evaluator.trained_contexts,
    ],
)
def test_unfitted_use_is_refused(unfitted: Evaluator, use: Callable[[Evaluator, Path], object], tmp_path: Path) -> None:
    with pytest.raises(CallError, match=f"{unfitted.name} is not fitted"):
        use(unfitted, tmp_path)
    assert not list(tmp_path.iterdir())


def test_shape_type_and_range(fitted: Evaluator) -> None:
    scores = fitted.score(EXAMPLES)
    assert scores.shape == (len(EXAMPLES),)
    assert scores.dtype == np.float64
    assert fitted.range[0] <= scores.min() <= scores.max() <= fitted.range[1]
    assert fitted.score([]).shape == (0,)


def test_neither_order_nor_company_matters(fitted: Evaluator) -> None:
    # Not to the last bit: some processors sum a row of a matrix product in an order that depends on its position.
    check_order_and_company(fitted, EXAMPLES)


def check_order_and_company(evaluator: Evaluator, examples: Sequence[Example]) -> None:
    together = evaluator.score(examples)
    assert_same_scores(evaluator.score(examples[::-1])[::-1], together)
    assert_same_scores([evaluator.score([example])[0] for example in examples], together)


def check_threads(evaluator: Evaluator, examples: Sequence[Example]) -> None:
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(evaluator.score(examples))
    finally:
        torch.set_num_threads(before)
    assert_same_scores(found[0], found[1])


def test_the_number_of_threads_does_not_matter(fitted: Evaluator) -> None:
    check_threads(fitted, EXAMPLES)


def test_large_dot_products_differ_little_relative_to_their_size(tmp_path: Path) -> None:
    evaluator = load(f"vhred-dot(encoder='{write_large_hred(tmp_path / 'hred')}')")
    examples = [replace(item.example, references=REFERENCES) for item in judged(16)]
    assert np.abs(evaluator.score(examples)).max() > 50
    check_order_and_company(evaluator, examples)
    check_threads(evaluator, examples)


def read_only_copy(evaluator: Evaluator) -> Evaluator:
    """A copy whose arrays may not be written to, as Ray gives it to its workers."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(evaluator, protocol=5, buffer_callback=buffers.append)
    found: Evaluator = pickle.loads(pickled, buffers=[bytes(buffer.raw()) for buffer in buffers])
    return found


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")  # torch, which does not write to it
def test_a_copy_with_read_only_arrays_scores_the_same(fitted: Evaluator) -> None:
    check_copy(fitted)


@pytest.mark.parametrize("shipped", sorted(SHIPPED_EVALUATORS))
def test_a_copy_of_a_shipped_one_scores_the_same(shipped: str) -> None:
    check_copy(load(shipped))


def check_copy(evaluator: Any) -> None:
    copied = read_only_copy(evaluator)
    # The copy is the first to see these characters.
    batch = Batch([*EXAMPLES, replace(EXAMPLES[0], id="odd", response="what is \u2638 and \u0f4c?")])
    scores, notes = copied.score_batch(batch), notes_of(copied, batch)
    np.testing.assert_array_equal(scores, evaluator.score_batch(batch))
    assert notes == notes_of(evaluator, batch)


def notes_of(evaluator: Any, batch: Batch) -> list[str]:
    watcher = evaluator.watcher()
    if watcher is None:
        return []
    watcher.add(batch)
    return list(watcher.notes())


def test_calibrated_scores_are_on_the_human_scale(fitted: Evaluator) -> None:
    low, high = fitted.raw_range
    raw = np.linspace(max(low, -10.0), min(high, 10.0), 40)
    calibrated = fitted.with_calibration(Calibration.fit(raw, np.linspace(1, 5, 40)))
    assert (calibrated.range, fitted.range) == ((1.0, 5.0), fitted.raw_range)
    scores = calibrated.score(EXAMPLES)
    assert 1 <= scores.min() <= scores.max() <= 5
    assert calibrated.with_calibration(None).range == fitted.range


def test_an_empty_reply_scores_the_minimum_with_a_warning(fitted: Evaluator) -> None:
    empty = [replace(EXAMPLES[0], response=blank) for blank in ("", "  ")]
    with pytest.warns(ScoreWarning, match="2 empty replies"):
        scores = fitted.score([*empty, EXAMPLES[1]])
    assert (scores[:2] == fitted.range[0]).all()


def test_hostile_text_never_raises(fitted: Evaluator) -> None:
    examples = [
        Example(str(n), (context,), text, ("how are you",)) for n, text in enumerate(HOSTILE) for context in HOSTILE
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)
        assert np.isfinite(fitted.score(examples)).all()
    assert not fitted.trained_contexts.holds(examples).any()


def test_what_an_example_lacks_makes_its_score_unknown() -> None:
    scores = Lengthy().fit((), judged()).score([replace(EXAMPLES[0], context=()), EXAMPLES[1]])
    assert np.isnan(scores[0])
    assert not np.isnan(scores[1])


def test_the_seed_decides(unfitted: Evaluator) -> None:
    first, second = (unfitted.clone().fit(dialogues(), judged(), seed=1) for _ in range(2))
    np.testing.assert_array_equal(first.score(EXAMPLES), second.score(EXAMPLES))
    assert first == second
    other = Lengthy().fit((), judged(), seed=2)
    assert not np.array_equal(other.score(EXAMPLES), Lengthy().fit((), judged(), seed=1).score(EXAMPLES))


def test_saved_and_loaded_it_is_the_same(fitted: Evaluator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = type(fitted).load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.score(EXAMPLES), fitted.score(EXAMPLES))
    assert loaded == fitted
    assert hash(loaded) == hash(fitted)
    assert loaded.signature == fitted.signature
    assert loaded.fitted == fitted.fitted
    np.testing.assert_array_equal(loaded.trained_contexts.keys, fitted.trained_contexts.keys)


def test_nothing_saved_can_run_code(fitted: Evaluator, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".safetensors"}
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["name"] == fitted.name
    assert config["signature"] == fitted.signature
    assert config["parameters"].keys() == fitted.parameters.keys()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_saving_again_takes_the_place_of_the_old(fitted: Evaluator, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    fitted.save(folder)
    again = fitted.clone().fit(dialogues()[:2], judged(20))
    again.save(folder)
    assert type(fitted).load(folder) == again


def test_a_folder_of_something_else_is_left_alone(fitted: Evaluator, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CallError, match="holds something else"):
        fitted.save(tmp_path)
    with pytest.raises(CallError, match="does not exist"):
        fitted.save(tmp_path / "no" / "such" / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_clone_has_the_parameters_alone(fitted: Evaluator) -> None:
    clone = fitted.clone()
    assert clone.parameters == fitted.parameters
    assert clone != fitted
    with pytest.raises(CallError, match="not fitted"):
        clone.score(EXAMPLES)


def test_what_was_learned_is_no_parameter(fitted: Evaluator, unfitted: Evaluator) -> None:
    assert fitted.parameters == unfitted.parameters
    assert hash(fitted) == hash(unfitted)
    with pytest.raises(UnknownNameError, match="line_"):
        Lengthy(line_=np.ones(2))  # type: ignore[call-arg]


def test_the_signature_names_parameters_data_and_seed(fitted: Evaluator, unfitted: Evaluator) -> None:
    parts = unfitted.signature.split("|")
    given = {name for name, value in unfitted.parameters.items() if value is not None}
    assert {part.split(":")[0] for part in parts[1:]} == {*given, "v"}
    added = [part for part in fitted.signature.split("|") if part not in parts]
    assert {f"fit:{fitted.fitted.data[:12]}", "seed:3"} <= set(added)
    # Of some evaluators a signature also has the hash of a pretrained model, or the precision of the weights.
    assert {part.split(":")[0] for part in added} <= {"fit", "seed", "encoder", "weights", "calibrated"}
    other = fitted.clone().fit(dialogues()[:2], judged(20), seed=3)
    uses_data = (fitted.dialogues, fitted.labels) != ("unused", "unused")
    assert (other.signature != fitted.signature) == uses_data


def test_training_without_what_is_needed_is_refused() -> None:
    with pytest.raises(NeedsError, match="lengthy learns from judged examples"):
        Lengthy().fit(dialogues())
    with pytest.raises(NeedsError, match="familiar learns from dialogues"):
        Familiar().fit((), judged())


def test_what_is_not_used_is_not_counted_as_trained_on() -> None:
    fit = Familiar().fit(dialogues(), judged()).fitted
    assert (fit.dialogues, fit.judged) == (3, 0)
    assert not fit.contexts.holds(EXAMPLES).any()


def test_the_test_split_is_never_looked_at() -> None:
    items = [
        replace(item, split=split) for item, split in zip(judged(), ["train", "valid", "test", ""] * 10, strict=True)
    ]
    data = Lengthy().training_data(dialogues(), items)
    assert [item.split for item in data.judged] == ["train", ""] * 10
    assert [item.split for item in data.valid] == ["valid"] * 10
    with pytest.raises(NeedsError):
        Lengthy().fit((), [replace(item, split="test") for item in items])


class PowerCut(BaseException):
    """The end of a process, as far as a test can have it."""


@dataclass(frozen=True, kw_only=True)
class Failing(Lengthy):
    """Breaks off when the data are few."""

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        if len(data.judged) < 10:
            raise PowerCut
        return super().learn(data)


@dataclass(frozen=True, kw_only=True)
class Forgetful(Lengthy):
    """Learns less than it declares."""

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        return {"rated_": 1}


@dataclass(frozen=True, kw_only=True)
class Misshapen(Lengthy):
    """Gives one score for all."""

    def predict(self, batch: Batch) -> Scores:
        return np.ones(1)


def test_a_fit_that_is_broken_off_leaves_the_old_one() -> None:
    evaluator = Failing().fit((), judged())
    before = evaluator.score(EXAMPLES)
    with pytest.raises(PowerCut):
        evaluator.fit((), judged(5))
    np.testing.assert_array_equal(evaluator.score(EXAMPLES), before)
    assert evaluator.fitted.judged == 40


def test_an_evaluator_that_breaks_the_contract_is_told() -> None:
    with pytest.raises(ValueError, match="lengthy: learned rated_; expected line_, rated_"):
        Forgetful().fit((), judged())
    with pytest.raises(ValueError, match=r"gave shape \(1,\) for 40 examples"):
        Misshapen().fit((), judged()).score(EXAMPLES)


def saved(folder: Path) -> Path:
    Lengthy(most=20, cuts=(1, 2)).fit((), judged()).save(folder)
    return folder


def edited(folder: Path, **changes: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def test_parameters_come_back_as_they_were(tmp_path: Path) -> None:
    loaded = Lengthy.load(saved(tmp_path / "model"))
    assert loaded.parameters == {"most": 20, "cuts": (1, 2)}
    assert loaded.rated_ == 40


def test_what_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    with pytest.raises(CallError, match="holds the evaluator 'lengthy': expected 'familiar'"):
        Familiar.load(folder)
    with pytest.raises(CallError, match="holds no evaluator"):
        Lengthy.load(tmp_path)
    with pytest.raises(UnknownNameError, match="did you mean most"):
        Lengthy.load(edited(folder, parameters={"mots": 3}))
    with pytest.raises(DataError, match="format 2"):
        Lengthy.load(edited(folder, parameters={}, format=2))
    with pytest.raises(DataError, match="'rated_': is missing"):
        Lengthy.load(edited(folder, format=1, learned={}))
    (folder / "learned.safetensors").write_bytes(b"\x80\x04 a pickle?")
    with pytest.raises(DataError, match=r"learned\.safetensors: cannot be read"):
        Lengthy.load(edited(folder, learned={"rated_": 40}))
    (folder / "learned.safetensors").unlink()
    with pytest.raises(DataError, match="is missing"):
        Lengthy.load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        Lengthy.load(folder)


def test_retired_parameters_are_ignored(tmp_path: Path) -> None:
    evaluator = fitted_once("skip-thought")
    evaluator.save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    folder = edited(tmp_path / "model", parameters=config["parameters"] | {"minutes": 20.0})
    loaded = type(evaluator).load(folder)
    assert loaded == evaluator
    np.testing.assert_array_equal(loaded.score(EXAMPLES), evaluator.score(EXAMPLES))
    with pytest.raises(UnknownNameError, match=r"parameter of skip-thought in .*'hours'"):
        type(evaluator).load(edited(folder, parameters=config["parameters"] | {"hours": 1.0}))


def test_what_is_not_plain_cannot_be_saved(tmp_path: Path) -> None:
    evaluator = Familiar().fit(dialogues())
    object.__setattr__(evaluator, "words_", {"a set"})
    with pytest.raises(CallError, match="cannot be saved: Object of type set"):
        evaluator.save(tmp_path / "model")
    object.__setattr__(evaluator, "words_", np.array(["text"]))
    with pytest.raises(CallError, match="cannot be saved: words_ holds <U4"):
        evaluator.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_labels_are_the_means_of_what_was_rated() -> None:
    nan = float("nan")
    example = EXAMPLES[0]
    items = [
        JudgedExample(example, {"overall": (1.0, nan, 4.0), "grammar": (5.0,)}),
        JudgedExample(example, {"overall": (nan,), "grammar": (3.0,)}),
        JudgedExample(example, {"grammar": (1.0, 2.0)}),
    ]
    assert labels(items)[1].tolist() == [2.5]
    assert labels(items, "grammar")[1].tolist() == [5.0, 3.0, 1.5]
    with pytest.raises(UnknownNameError, match="did you mean grammar"):
        labels(items, "gramar")
    with pytest.raises(CallError, match="found relevance, grammar"):
        labels([JudgedExample(example, {"relevance": (1.0,), "grammar": (1.0,)})])
    with pytest.raises(CallError, match="found none"):
        labels([])
    with pytest.raises(NeedsError, match=r"^nobody rated overall: expected a rating"):
        labels([JudgedExample(example, {"overall": (float("nan"),)})])
