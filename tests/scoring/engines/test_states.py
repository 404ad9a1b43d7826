"""What is counted in parts of a corpus and merged equals what is counted in the whole, for every metric."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import pytest

from rejoinder.folders.foreign import array_archive
from rejoinder.metrics.base import Metric, State
from rejoinder.metrics.batch import Batch
from rejoinder.registry import ALIASES, load, metric_names
from rejoinder.scoring.scorer import Scorer
from rejoinder.types import Example

NAMES = [*sorted({*metric_names(), *ALIASES}), "default-fast"]
WORDS = "some words go round and round until the end of a long day comes".split()
EXAMPLES = [
    Example(
        str(number),
        ("how are you?", "fine") if number % 4 else (),
        # Long replies, foreign ones and empty ones: watchers count them.
        " ".join(WORDS[: number % 13]) if number % 9 else "Спасибо большое, до свидания" * (number % 5),
        ("some words go and come", "a long day")[: number % 3],
        system="AB"[number % 2],
    )
    for number in range(60)
]


def written_and_read(state: State) -> State:
    """As a part of a run leaves it: in a file without objects."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **state)
    with array_archive(io.BytesIO(file.getvalue())) as arrays:
        return {name: arrays[name] for name in arrays.files}


def scorer_of(metrics: Mapping[str, Metric]) -> Scorer:
    return Scorer(metrics, ("A", "B"))


@pytest.mark.parametrize("name", NAMES)
def test_merged_parts_equal_the_whole(name: str) -> None:
    metrics = {name: load(name)}
    batches = [Batch(EXAMPLES[start : start + 12]) for start in range(0, len(EXAMPLES), 12)]
    whole, merged = scorer_of(metrics), scorer_of(metrics)
    assert whole.can_be_shared
    for batch in batches:
        whole.observe(batch)
        part = merged.restarted()
        part.observe(batch)
        merged.merge_observed(written_and_read(part.observed()))
    everything = written_and_read(merged.observed())
    whole.finish_observing()
    ready = scorer_of(metrics)
    ready.merge_observed(everything)
    ready.finish_observing()
    for batch in batches:
        part = ready.restarted()
        np.testing.assert_array_equal(part.score(batch)[name], whole.score(batch)[name])
        merged.merge(written_and_read(part.state()))
    assert {key: counter.value() for key, counter in merged.counters.items()} == pytest.approx(
        {key: counter.value() for key, counter in whole.counters.items()}, abs=0, nan_ok=True
    )
    column = {name: np.zeros(0)}
    assert merged._notes(column) == whole._notes(column)
    assert merged.blank == whole.blank > 0


def test_the_examples_make_a_watcher_speak() -> None:
    scorer = scorer_of({"default-fast": load("default-fast")})
    scorer.score(Batch(EXAMPLES))
    assert "unlike the training text" in scorer._notes({})[-1]


def test_an_adopted_table_of_frequencies_is_not_copied_and_can_be_added_to() -> None:
    observer = load("cider").observer()
    for batch in (Batch(EXAMPLES[:30]), Batch(EXAMPLES[30:])):
        observer.add(batch)
    state = observer.state()
    other = load("cider").observer()
    other.merge(state)
    assert other.state()["hashes"] is state["hashes"]
    other.add(Batch(EXAMPLES[:30]))
    assert other.state()["counts"].sum() > state["counts"].sum()
