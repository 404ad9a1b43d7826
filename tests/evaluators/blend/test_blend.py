"""The evaluator `blend`: several sets, members that cannot say, cached scores, a saved folder."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.blend.columns import PART_WORDS, MemberScores, ReplyParts, joined_ratings, rated_sets
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.stats.correlation import spearman
from rejoinder.types import Example, JudgedExample, Scores

WORDS = "tea rain chess jazz bread snow tennis paint gold maps trains owls soup dance moons ships".split()
CALLS: list[int] = []


@dataclass(frozen=True, kw_only=True)
class Sampled(Metric):
    """The number after the # in a reply, with noise; unknown for every fourth reply that has no reference."""

    name: ClassVar[str] = "sampled"
    measures: ClassVar[str] = "a number in the reply"
    citation: ClassVar[str] = "these tests"
    range: ClassVar[tuple[float, float]] = (-100.0, 100.0)
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    place: int = 0

    def score_batch(self, batch: Batch) -> Scores:
        CALLS.append(len(batch))
        return np.array(
            [
                float(example.response.split("#")[1 + self.place]) if example.references else np.nan
                for example in batch.examples
            ]
        )


def rated(source: str, count: int = 120, scale: float = 1.0, seed: int = 0) -> list[JudgedExample]:
    """Replies that carry two noisy measurements of what people think; every fourth has no reference."""
    rng = np.random.default_rng(seed)
    found = []
    for row in range(count):
        truth = rng.normal()
        first, second = truth + rng.normal(0, 0.8, 2)
        example = Example(
            f"{source}{row}",
            (f"what about {WORDS[row // 2 % 16]} {source} {row // 2}?",),
            f"reply #{first:.3f}#{second:.3f}",
            () if row % 4 == 0 else ("reference",),
        )
        rating = float(scale * np.clip(truth + 3, 1, 5))
        found.append(JudgedExample(example, {"overall": (rating, rating), "other": (1.0,)}, source=source))
    return found


BOTH: tuple[Metric, ...] = (Sampled(), Sampled(place=1))


@pytest.fixture(scope="module")
def fitted() -> Blend:
    judged = [*rated("a", 300), *rated("b", 200, 20.0, seed=1)]
    return Blend(members=BOTH, models=("ridge",)).fit((), judged)


def test_it_is_better_than_its_members(fitted: Blend) -> None:
    new = rated("new", seed=5)
    examples = [item.example for item in new if item.example.references]
    human = [item.scores["overall"][0] for item in new if item.example.references]
    blended, *alone = (spearman(each.score(examples), human).coefficient for each in (fitted, *BOTH))
    assert blended > max(alone) + 0.03
    last = fitted.report_.sets[-1]
    assert (last.name, last.replies) == ("mean", 500)
    assert last.gain.low > 0
    assert all(line.adds.low > 0 and line.rising > 0.99 for line in fitted.report_.members)
    assert "blend" in str(fitted.report_)


def test_scores_are_on_the_human_scale_with_intervals(fitted: Blend) -> None:
    examples = [item.example for item in rated("new", seed=5)[1:4]]
    scores, (low, high) = fitted.score(examples), fitted.intervals(Batch(examples))
    assert fitted.gives_intervals
    assert ((low < scores) & (scores < high)).all()


def test_a_member_that_cannot_say_leaves_the_others(fitted: Blend) -> None:
    with_length = Blend(members=(*BOTH, "length"), models=("ridge",)).fit((), rated("a"))
    known, unknown = rated("new", 2, seed=5)[1].example, rated("new", 2, seed=5)[0].example
    assert np.isnan(fitted.score([known, unknown])).tolist() == [False, True]
    # `length` can score every reply, but says nothing about the others' subject.
    assert np.isnan(with_length.score([known, unknown])).tolist() == [False, True]
    assert fitted.needs == frozenset({"references"})


def test_ratings_of_several_files_are_joined_within_each() -> None:
    first, second = rated_sets([*rated("a"), *rated("b", 80, 20.0)], ())
    assert (first.name, len(first.human), second.name, len(second.human)) == ("a", 120, "b", 80)
    assert second.scale[1] == 100
    for how in ("ranks", "z-scores"):
        values = joined_ratings(second.human, how)
        assert (values.mean(), values.std()) == pytest.approx((0, 1))


def test_the_dimension_is_the_first_that_a_file_has() -> None:
    judged = [*rated("a"), *(replace(item, scores={"other": item.scores["overall"]}) for item in rated("b"))]
    assert [len(each.human) for each in rated_sets(judged, ("overall", "other"))] == [120, 120]
    with pytest.raises(CallError, match=r"b: none of the dimensions overall: expected one of other"):
        rated_sets(judged, ("overall",))


def test_whole_sets_can_be_held_out() -> None:
    judged = [item for seed, name in enumerate("abc") for item in rated(name, 60, seed=seed)]
    found = Blend(members=BOTH, models=("ridge",), hold_out="sets").fit((), judged)
    assert found.report_.sets[-1].blend.estimate > 0.6
    with pytest.raises(NeedsError, match="at least three judged sets"):
        Blend(members=BOTH, models=("ridge",), hold_out="sets").fit((), rated("a"))


def test_scores_of_members_are_computed_once(tmp_path: Path) -> None:
    judged, run = rated("a", 60), TrainingRun(member_scores=tmp_path)
    first = Blend(members=BOTH, models=("ridge",)).fit((), judged, run=run)
    CALLS.clear()
    again = Blend(members=BOTH, models=("ridge",)).fit((), judged, run=run)
    assert not CALLS
    assert again == first
    assert Blend(members=BOTH, models=("ridge",)).fit((), judged).signature == first.signature, "without a folder"
    CALLS.clear()
    more = MemberScores([item.example for item in rated("a", 61)], tmp_path).columns(BOTH[0])
    assert CALLS == [1]
    np.testing.assert_array_equal(more["score"], BOTH[0].score([item.example for item in rated("a", 61)]))
    (next(tmp_path.glob("*.safetensors"))).write_bytes(b"broken")
    assert Blend(members=BOTH, models=("ridge",)).fit((), judged, run=run) == first


def test_scores_of_members_survive_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.evaluators.blend.columns.PIECE", 20)
    examples = [item.example for item in rated("a", 60)]

    def interrupted(self: Sampled, batch: Batch) -> Scores:
        if len(CALLS) == 2:
            raise KeyboardInterrupt
        return scored(self, batch)

    scored = Sampled.score_batch
    CALLS.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Sampled, "score_batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            MemberScores(examples, tmp_path).columns(BOTH[0])
    found = MemberScores(examples, tmp_path).columns(BOTH[0])
    assert CALLS == [20, 20, 20], "the first two pieces are scored once"
    np.testing.assert_array_equal(found["score"], BOTH[0].score(examples))


def test_members_share_what_a_batch_remembers() -> None:
    examples, counted = [item.example for item in rated("a", 60)], []

    class Remembering(Sampled):
        def score_batch(self, batch: Batch) -> Scores:
            def slow() -> Scores:
                counted.append(len(batch))
                return np.arange(len(batch), dtype=np.float64)

            return batch.keep("a slow reading", slow)

    scores = MemberScores(examples, None)
    for member in (Remembering(), Remembering(place=1)):
        np.testing.assert_array_equal(scores.columns(member)["score"], np.arange(60))
    assert counted == [60]


def test_members_that_take_long_are_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rejoinder.progress.FIRST_LINE", 0.0)
    monkeypatch.setattr("rejoinder.progress.LONG", 0.0)
    monkeypatch.setattr("rejoinder.evaluators.blend.columns.PIECE", 5)
    MemberScores([item.example for item in rated("a", 20)], None, quiet=False).columns(BOTH[0])
    said = capsys.readouterr().err
    assert said.startswith(f"note: scoring with {BOTH[0].name} will take about ")
    assert said.endswith("; faster: a blend without it, fewer judged replies\n")


def test_long_replies_are_read_in_parts() -> None:
    text = " ".join(str(number) for number in range(100))
    parts = ReplyParts.of(Batch([Example("", ("a",), "short"), Example("", ("a",), text)]))
    assert [len(example.response.split()) for example in parts.batch.examples] == [1, 33, 33, 34]
    assert " ".join(example.response for example in parts.batch.examples[1:]) == text
    assert parts.mean(np.array([1.0, 2.0, 2.0, 5.0])) == pytest.approx([1.0, 3.02])
    same = Batch([Example("", ("a",), "word " * PART_WORDS)])
    assert ReplyParts.of(same).batch is same


def test_saved_it_needs_the_core_alone(tmp_path: Path) -> None:
    judged = [*rated("a", 60), *rated("b", 60, seed=1)]
    made = Blend(members=("default-fast",), models=("trees",)).fit((), judged)
    made.save(tmp_path / "model")
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert files == {"config.json", "contexts.safetensors", "familiarity.safetensors", "learned.safetensors"}, (
        "shipped members are not copied"
    )
    examples = [item.example for item in judged[:5]]
    loaded = rejoinder.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.score(examples), made.score(examples))
    assert str(loaded.report_) == str(made.report_)
    blocked = "import sys\nfor name in ('torch', 'transformers', 'onnx', 'sklearn'): sys.modules[name] = None\n"
    code = "import rejoinder\nfrom rejoinder.types import Example\ne = Example('', ('Hi there',), 'word for word')\n"
    code += f"print(rejoinder.load({str(tmp_path / 'model')!r}).score([e])[0])"
    done = subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True, check=True)
    assert 1 <= float(done.stdout) <= 5


def test_a_member_that_was_trained_on_the_judged_contexts_is_named(tmp_path: Path) -> None:
    inner = Blend(members=("length",), models=("ridge",)).fit((), rated("a", 60))
    outer = Blend(members=(inner, "chrf"), models=("ridge",)).fit((), [*rated("a", 60), *rated("b", 60)])
    [leak] = outer.report_.leaks
    assert "was trained on the contexts of 60 of the 120 judged replies" in leak
    assert leak in str(outer.report_)
    outer.save(tmp_path / "model")
    assert rejoinder.load(tmp_path / "model").report_.leaks == (leak,)


def test_another_version_of_a_shipped_member_is_refused(tmp_path: Path) -> None:
    Blend(members=("default-fast",), models=("ridge",)).fit((), rated("a", 60)).save(tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace("static|vectors", "static@0|vectors"))
    with pytest.raises(CallError, match="fitted with another version of default-fast"):
        rejoinder.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": ()}, "at least one"),
        ({"members": "length"}, "members must be a list"),
        ({"members": ("length", "length")}, "length is given twice"),
        ({"members": ("length",), "models": ("forest",)}, "models must be of ridge, trees"),
        ({"members": ("length",), "join": "means"}, "join must be one of"),
        ({"members": ("length",), "hold_out": "none"}, "hold_out must be one of"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        Blend(**parameters)


@pytest.mark.parametrize(
    ("members", "count", "error", "message"),
    [
        (("cider",), 60, CallError, "has to see all replies"),
        (("adem",), 60, CallError, "adem needs a value for encoder"),
        (("bleu",), 60, CallError, "bleu can score none"),
        (("length",), 10, NeedsError, "10 rated replies are too few"),
    ],
)
def test_what_cannot_be_fitted(members: tuple[str, ...], count: int, error: type[Exception], message: str) -> None:
    judged = [replace(item, example=replace(item.example, references=())) for item in rated("a", count)]
    with pytest.raises(error, match=message):
        Blend(members=members).fit((), judged)
