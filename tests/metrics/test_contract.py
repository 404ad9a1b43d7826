"""What every registered metric must do, ours and plugged-in ones alike."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostile_texts import HOSTILE
from rejoinder.errors import CallError
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.metrics.batch import Batch
from rejoinder.registry import ALIASES, load, metric_names
from rejoinder.types import Example, Scores

NAMES = sorted({*metric_names(), *ALIASES})
WITH_REFERENCES = [name for name in NAMES if "references" in load(name).needs]
# CIDEr has no highest score for a single reply; PM tells what speaks against a reply, not how alike two texts are.
SIMILARITIES = [name for name in WITH_REFERENCES if name != "pm" and not name.startswith("cider")]

SCRIPTS = {
    "English": "see you soon",
    "one word": "yes",
    "two words": "thank you",
    "Chinese": "好的谢谢你",
    "Japanese": "ありがとう、またね",
    "Thai": "สวัสดีครับ",
    "Hindi": "नमस्ते दोस्त",
    "Arabic": "شكرا جزيلا",
    "Korean": "안녕하세요",
    "Russian": "до свидания",
    "emoji": "👍🏽 🎉",
    "punctuation": "?!",
    "mathematics": "𝒜𝓑 ∑∞",
}


def scored(metric: Metric, examples: Sequence[Example]) -> Scores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)
        return metric.score(examples)


@pytest.fixture(params=NAMES)
def metric(request: pytest.FixtureRequest) -> Metric:
    built: Metric = load(request.param)
    return built


def test_shape_type_and_range(metric: Metric, bundled: list[Example]) -> None:
    scores = metric.score(bundled)
    assert scores.shape == (len(bundled),)
    assert scores.dtype == np.float64
    known = scores[~np.isnan(scores)]
    least = 0.7 if metric.name == "fluency" else 0.9  # it says nothing about replies of fewer than four words
    assert len(known) > least * len(bundled)
    assert known.min() >= metric.range[0]
    assert known.max() <= metric.range[1] + 1e-12


def test_the_parts_of_a_corpus_count_as_the_whole(metric: Metric, bundled: list[Example]) -> None:
    if metric.counter() is None:
        assert metric.corpus_score(bundled) == pytest.approx(np.nanmean(metric.score(bundled)))
        return
    counters: list[Any] = [metric.counter() for _ in range(4)]
    whole, first, second, empty = counters
    parts = [Batch(bundled[start : start + 100]) for start in range(0, len(bundled), 100)]
    assert len(parts) == 3
    for counter, some in ((whole, parts), (first, parts[:2]), (second, parts[2:])):
        for part in some:
            counter.add(part, np.arange(len(part)))
    first.merge(second.state())
    empty.merge(whole.state())
    assert whole.value() == pytest.approx(metric.corpus_score(bundled))
    assert first.value() == pytest.approx(whole.value())
    assert empty.value() == whole.value()


def test_order_does_not_matter(metric: Metric, bundled: list[Example]) -> None:
    order = np.random.default_rng(0).permutation(len(bundled))
    shuffled = metric.score([bundled[place] for place in order])
    np.testing.assert_allclose(shuffled, metric.score(bundled)[order], atol=1e-6)


def test_an_example_scores_alone_as_in_company(metric: Metric, bundled: list[Example]) -> None:
    observer = metric.observer()
    ready = metric
    if observer is not None:
        observer.add(Batch(bundled))
        ready = observer.finish()
    together = ready.score_batch(Batch(bundled))
    alone = np.concatenate([ready.score_batch(Batch([example])) for example in bundled[:24]])
    np.testing.assert_allclose(alone, together[:24], atol=1e-6)


def test_no_examples(metric: Metric) -> None:
    assert metric.score([]).shape == (0,)


def test_the_order_of_references_does_not_matter(metric: Metric, bundled: list[Example]) -> None:
    turned = [Example(e.id, e.context, e.response, e.references[::-1], e.system) for e in bundled]
    np.testing.assert_allclose(metric.score(turned), metric.score(bundled), atol=1e-6)


def test_hostile_text_never_raises(metric: Metric) -> None:
    examples = [
        Example(f"{i}-{j}", (reply,), reply, (reference,))
        for i, reply in enumerate(HOSTILE)
        for j, reference in enumerate(HOSTILE)
    ]
    scores = scored(metric, [*examples, Example("none", (), "hello", ())])
    known = scores[~np.isnan(scores)]
    assert np.isfinite(known).all()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=30), min_size=3, max_size=6))
def test_any_text_scores_within_the_range(metric: Metric, texts: list[str]) -> None:
    scores = scored(
        metric, [Example("1", (texts[0],), texts[1], tuple(texts[2:])), Example("2", (), texts[2], (texts[0],))]
    )
    known = scores[~np.isnan(scores)]
    assert ((known >= metric.range[0]) & (known <= metric.range[1] + 1e-12)).all()


def test_an_empty_reply_scores_the_worst_value_with_a_warning(metric: Metric, bundled: list[Example]) -> None:
    empty = [
        Example(e.id, e.context, blank, e.references, e.system) for e, blank in zip(bundled, ["", "  "], strict=False)
    ]
    with pytest.warns(ScoreWarning, match="2 empty replies"):
        scores = metric.score([*empty, *bundled[2:]])
    assert (scores[:2] == metric.worst).all()
    assert (np.nanmin(scores) if metric.higher_is_better else np.nanmax(scores)) == metric.worst


@pytest.mark.parametrize("name", WITH_REFERENCES)
def test_without_references_there_is_no_score(name: str, bundled: list[Example]) -> None:
    scores = load(name).score([*bundled, Example("none", (), "hello there", ())])
    assert np.isnan(scores[-1])


BLANK = [("",), (" ",), ("\t\n", "\u3000"), ("", "", "")]


@pytest.mark.parametrize("name", WITH_REFERENCES)
@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_reference_is_no_reference(name: str, blank: tuple[str, ...], bundled: list[Example]) -> None:
    metric = load(name)
    replies = ["hello there", "hello there", "  ", bundled[0].response]
    hollow = [Example(f"blank {n}", ("hi",), reply, blank) for n, reply in enumerate(replies)]
    without = [replace(example, references=()) for example in hollow]
    filled = [replace(example, references=(*blank, *example.references, *blank)) for example in bundled]
    expected = scored(metric, [*without, *bundled])
    assert np.isnan(expected[: len(replies)]).all()
    np.testing.assert_array_equal(scored(metric, [*hollow, *filled]), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)
        assert np.isnan(metric.corpus_score(hollow))
        assert metric.corpus_score([*hollow, *filled]) == metric.corpus_score([*without, *bundled])


@pytest.mark.parametrize(
    ("name", "refs"),
    [
        *product(("bleu", "rouge-l", "meteor", "chrf", "embedding-average", "greedy-matching"), ("max", "mean")),
        ("bleu", "joint"),
        ("rouge-l", "best"),
        ("embedding-average", "centroid"),
        ("vector-extrema", "centroid"),
    ],
)
def test_a_blank_reference_is_none_however_references_are_joined(name: str, refs: str) -> None:
    metric = load(name, refs=refs)
    hollow = Example("1", (), "hello there", ("",))
    mixed, plain = Example("2", (), "hello there", ("", "hello you")), Example("2", (), "hello there", ("hello you",))
    assert np.isnan(scored(metric, [hollow])).all()
    np.testing.assert_array_equal(scored(metric, [mixed]), scored(metric, [plain]))


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_identical_replies_score_1(name: str, text: str) -> None:
    examples = [Example("1", (), text, (text,)), Example("2", (), text, ("something else", text))]
    np.testing.assert_allclose(load(name).score(examples), 1, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "refs"),
    [
        *product(("bleu", "rouge-l", "meteor", "embedding-average", "greedy-matching"), ("max", "mean")),
        ("bleu", "joint"),
        ("bleu-1", "joint"),
        ("rouge-l", "best"),
        ("vector-extrema", "centroid"),
    ],
)
def test_replies_that_stripping_leaves_empty(name: str, refs: str) -> None:
    metric = load(name, strip="stopwords", refs=refs)
    examples = [
        Example("identical", (), "it is", ("it is",)),
        Example("both without", (), "it is", ("we were",)),
        Example("nothing to compare", (), "it is", ("volcanoes erupt",)),
        Example("second reference", (), "it is", ("volcanoes erupt", "it is")),
        Example("no reference", (), "it is", ()),
        Example("empty", (), " ", ("it is",)),
        Example("with words", (), "it is volcanoes erupt", ("volcanoes erupt",)),
    ]
    expected = [1, np.nan, np.nan, 1, np.nan, metric.range[0], 1]
    np.testing.assert_allclose(scored(metric, examples), expected, atol=1e-9)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_replies_with_nothing_in_common_score_low(name: str) -> None:
    score = load(name).score([Example("1", (), "bananas ripen quickly", ("we won, hooray!",))])[0]
    assert score < 0.7


NUMBERS = [10**400, -(10**400), 1e308, -1e308, 5e-324, 1e-200, float("nan"), float("inf"), 0, -1, 2**63, 10**9]


@pytest.mark.parametrize("name", sorted(metric_names()))
def test_a_parameter_of_any_size_is_refused_or_works(name: str, bundled: list[Example]) -> None:
    refused = []
    for parameter, default in load(name).parameters.items():
        if isinstance(default, bool) or not isinstance(default, int | float | None):
            continue
        for number in NUMBERS:
            try:
                metric = load(name, **{parameter: number})
            except CallError as error:
                refused.append(str(error))
                continue
            scores = scored(metric, bundled[:8])
            known = scores[~np.isnan(scores)]
            assert ((known >= metric.range[0]) & (known <= metric.range[1] + 1e-9)).all()
    assert all(len(message) < 300 for message in refused)


def test_signature_names_every_parameter(metric: Metric) -> None:
    parts = metric.signature.split("|")
    assert parts[0] == metric.name
    assert parts[-1].startswith("v:")
    assert {part.split(":")[0] for part in parts[1:-1]} == {k for k, v in metric.parameters.items() if v is not None}


def test_equal_parameters_make_equal_metrics(metric: Metric) -> None:
    assert type(metric)(**metric.parameters) == metric
    assert hash(type(metric)(**metric.parameters)) == hash(metric)


def test_describes_itself(metric: Metric) -> None:
    assert metric.measures
    assert metric.citation
    assert metric.needs <= {"references", "context"}
