"""The corpus scores that the organisers of DSTC6 published for 20 systems (Hori & Hori 2017), by our metrics.

Their values, to six digits, are in dstc6_t2.systems.json next to the replies and the eleven references of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import pytest

from papers.dstc6 import EXACT
from places import JUDGED
from rejoinder.data.source import read
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.types import Example

REPLIES, PUBLISHED = JUDGED / "dstc6_t2.jsonl.gz", JUDGED / "dstc6_t2.systems.json"

CLOSE = 1e-5

pytestmark = pytest.mark.skipif(
    not (REPLIES.exists() and PUBLISHED.exists()), reason="needs dstc6_t2 of ../shared/data/judged"
)


def replies_by_system() -> Iterator[tuple[str, list[Example]]]:
    def system(example: Example) -> str:
        return example.system

    for name, replies in groupby(sorted(read(REPLIES), key=system), key=system):
        yield name, list(replies)


def corpus_score(metric: Metric, batch: Batch) -> float:
    """As `Metric.corpus_score`, of a batch whose tokens several metrics share."""
    observer, counter = metric.observer(), metric.counter()
    if observer is not None:
        observer.add(batch)
        metric = observer.finish()
    if counter is None:
        return float(np.mean(metric.score_batch(batch)))
    counter.add(batch, np.arange(len(batch)))
    return counter.value()


@pytest.mark.slow
def test_corpus_scores_equal_the_published_ones() -> None:
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))["objective"]
    metrics = {key: load(name, tokenise="whitespace", lowercase=False) for key, name in EXACT.items()}
    compared = 0
    for system, replies in replies_by_system():
        batch = Batch(replies)
        for key, metric in metrics.items():
            difference = abs(corpus_score(metric, batch) - published[system][key])
            assert difference <= CLOSE, f"{key} of {system} is off by {difference}"
            compared += 1
    assert compared == 20 * len(EXACT)
