"""Which metrics run: names to labels, `all`, the default set, and what data cannot serve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

import rejoinder
from rejoinder import registry
from rejoinder.data.source import Source, Survey, survey
from rejoinder.errors import CallError, NeedsError, UnknownNameError
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.overlap import Length
from rejoinder.scoring.score import DEFAULT_METRICS, MetricChoice, choose_metrics
from rejoinder.types import Example

EXAMPLES = [
    Example("1", ("hi",), "one two three", ("one two",), "A"),
    Example("2", ("hi",), "one two", ("one two",), "B"),
    Example("3", ("ho",), "two three four", ("one two", "two"), "A"),
]
BARE = [replace(example, references=(), context=()) for example in EXAMPLES]
NO_REFERENCES = [replace(example, references=()) for example in EXAMPLES]
LONG_ENOUGH = [replace(example, response=f"{example.response} and so on and so on") for example in NO_REFERENCES]
"""For every metric: `fluency` does not score replies of fewer than four words."""
NO_CONTEXT = [replace(example, context=()) for example in EXAMPLES]


def seen(examples: list[Example]) -> Survey:
    return survey(Source(examples))


def labels(metrics: Any) -> list[str]:
    return list(choose_metrics(metrics).metrics)


def test_names_parameters_and_instances_become_labels() -> None:
    chosen = choose_metrics(["bleu", " bleu(n=2) ", "bleu-2", Length(), Length(lowercase=False)])
    assert list(chosen.metrics) == ["bleu", "bleu(n=2)", "bleu-2", "length", "length(lowercase=false)"]
    assert chosen.metrics["bleu(n=2)"] == chosen.metrics["bleu-2"] == Bleu(n=2)
    assert not chosen.optional


def test_labels_of_one_s_own() -> None:
    chosen = choose_metrics({"mine": "bleu(n=2)", "theirs": Length()})
    assert chosen.metrics == {"mine": Bleu(n=2), "theirs": Length()}
    assert choose_metrics(chosen) is chosen


def test_instances_of_one_name_differ_by_their_parameters() -> None:
    assert labels([Bleu(n=2)]) == ["bleu"]
    assert labels([Bleu(n=2), Bleu(n=3, smooth="none")]) == ["bleu(n=2)", "bleu(n=3, smooth=none)"]
    assert labels([Bleu(n=2), " bleu ", "rouge-l"]) == ["bleu(n=2)", "bleu", "rouge-l"]
    wrong: list[list[str | Metric]] = [[Bleu(n=2), Bleu(n=2)], [Bleu(n=2), Bleu(), "bleu(n=2)"]]
    for twice in wrong:
        with pytest.raises(CallError, match=r"^the metric 'bleu\(n=2\)' is named twice$"):
            choose_metrics(twice)


def test_all_is_every_metric_by_its_settings() -> None:
    chosen = choose_metrics(["all"])
    assert registry.ALIASES.keys() <= chosen.metrics.keys()
    assert len(set(chosen.metrics.values())) == len(chosen.metrics), "no setting runs twice"
    for name in registry.metric_names():
        assert registry.load(name) in chosen.metrics.values(), name
    assert chosen.optional == chosen.metrics.keys()


def test_what_is_named_beside_all_is_asked_for() -> None:
    chosen = choose_metrics(["all", "bleu(n=3, smooth=none)", "bleu-2", Length(strip="stopwords")])
    assert list(chosen.metrics)[-3:] == ["bleu(n=3, smooth=none)", "bleu-2", "length(strip=stopwords)"]
    assert "length" in chosen.metrics
    assert chosen.metrics.keys() - chosen.optional == set(list(chosen.metrics)[-3:])


def test_more_metrics_from_a_configuration() -> None:
    chosen = choose_metrics(["all", "length"]).adding({"mine": Bleu(n=2), "rouge-l": Bleu()})
    assert list(chosen.metrics)[-3:] == ["length", "mine", "rouge-l"]
    assert chosen.metrics["rouge-l"] == Bleu(), "a metric of a set gives way"
    assert not chosen.optional & {"length", "mine", "rouge-l"}
    with pytest.raises(CallError, match=r"^the metric 'length' is named twice$"):
        chosen.adding({"length": Length()})


def test_the_default_set_is_as_far_as_the_data_serve_it() -> None:
    full = choose_metrics(None).served_by(seen(EXAMPLES), "here")
    assert (tuple(full.metrics), full.notes) == (DEFAULT_METRICS, ())
    bare = choose_metrics(None).served_by(seen(BARE), "here")
    assert bare.metrics
    assert all(not metric.needs for metric in bare.metrics.values())
    assert bare.notes == (
        "left out default: no example has context",
        "left out bleu-2, rouge-l, meteor, embedding-average: no example has references",
    )


@pytest.mark.parametrize("examples", [EXAMPLES, BARE, NO_REFERENCES, NO_CONTEXT])
def test_all_leaves_out_what_no_example_has(examples: list[Example]) -> None:
    every = choose_metrics("all")
    served = every.served_by(seen(examples), "here")
    has = {need for need in ("references", "context") if getattr(examples[0], need)}
    assert served.metrics.keys() == {label for label, metric in every.metrics.items() if metric.needs <= has}
    left_out = [
        label for note in served.notes for label in note.removeprefix("left out ").partition(":")[0].split(", ")
    ]
    assert sorted(left_out) == sorted(every.metrics.keys() - served.metrics.keys())


def test_a_metric_that_was_asked_for_and_cannot_be_served_is_an_error() -> None:
    for metrics in (["bleu"], ["all", "bleu"], {"bleu": Bleu()}, choose_metrics("all").adding({"bleu": Bleu()})):
        with pytest.raises(NeedsError, match=r"^bleu needs references, but none of the 3 examples of here has any$"):
            choose_metrics(metrics).served_by(seen(NO_REFERENCES), "here")
    assert choose_metrics(["bleu"]).served_by(seen([EXAMPLES[0], *NO_REFERENCES[1:]]), "here").metrics, "one is enough"


@dataclass(frozen=True, kw_only=True)
class NeedsContext(Length):
    name: ClassVar[str] = "needs-context"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})


def test_a_context_may_be_needed() -> None:
    with pytest.raises(NeedsError, match=r"^mine needs context, but none of the 3 examples of here has any$"):
        choose_metrics({"mine": NeedsContext()}).served_by(seen(NO_CONTEXT), "here")


def test_what_is_no_metric() -> None:
    with pytest.raises(CallError, match=r"^the metric 'bleu' is named twice$"):
        choose_metrics(["bleu", "bleu"])
    wrong: Any = [Length]
    with pytest.raises(
        CallError, match=r"^<class '.*Length'> is not a metric: expected a name or an object returned by load\(\)$"
    ):
        choose_metrics(wrong)
    with pytest.raises(CallError, match=r"^bm25 is a reply model: expected a metric or an evaluator$"):
        choose_metrics("bm25")
    with pytest.raises(CallError, match=r"^ensemble is not trained: train it, save it, and name the folder that"):
        choose_metrics("ensemble(members=[length])")
    with pytest.raises(UnknownNameError):
        choose_metrics("blue")


@pytest.mark.parametrize("none", [[], {}, ()])
def test_a_choice_of_no_metric_is_an_error(none: Any) -> None:
    with pytest.raises(CallError, match=r"^no metric is named: expected some, or None for the default set$"):
        choose_metrics(none)
    assert not MetricChoice({}).served_by(seen(BARE), "here").metrics


def test_the_functions_say_what_they_left_out() -> None:
    with pytest.warns(ScoreWarning, match=r"^left out .*\bbleu-4, .*: no example has references$"):
        table = rejoinder.score(LONG_ENOUGH, ["all", "length(strip=stopwords)"])
    assert {"length", "length(strip=stopwords)"} <= set(table.metrics)
    assert not {"bleu-4", "rouge-l"} & set(table.metrics)
    comparison = rejoinder.compare(LONG_ENOUGH[:1], LONG_ENOUGH[1:2], metrics="all")
    assert comparison.table.metrics == table.metrics[:-1]
    assert comparison.table.notes[0] == table.notes[0]


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(registry.METRICS, "demanding", f"{__name__}:Demanding")
    monkeypatch.setitem(registry.METRICS, "gone", "no_such_module:X")
    registry.metric_names.cache_clear()
    yield
    registry.metric_names.cache_clear()


@dataclass(frozen=True, kw_only=True)
class Demanding(Length):
    path: str


@pytest.mark.usefixtures("plugged")
def test_all_leaves_out_plug_ins_that_cannot_be_built() -> None:
    chosen = choose_metrics("all")
    assert chosen.notes == (
        "left out demanding: demanding needs a value for path: demanding(path=...)",
        "left out gone: no_such_module:X cannot be imported (No module named 'no_such_module')",
    )
    assert not {"demanding", "gone"} & chosen.metrics.keys()
