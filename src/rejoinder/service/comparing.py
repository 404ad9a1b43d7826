"""`POST /compare`: the comparison of the command line, on scores that the batcher computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from rejoinder.data.source import Source
from rejoinder.data.survey import Survey
from rejoinder.defaults import RESAMPLES
from rejoinder.errors import CallError
from rejoinder.meta.comparing.compare import compare_table
from rejoinder.meta.comparing.gate import FailIf, gate
from rejoinder.meta.comparing.pairing import join
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.choosing import Choice
from rejoinder.scoring.grouping import GroupFinder
from rejoinder.scoring.scorer import Scorer
from rejoinder.scoring.table import ScoreTable
from rejoinder.service.batcher import Columns
from rejoinder.service.bodies import ComparisonRequest
from rejoinder.types import Example


class SystemReplies:
    """The replies of all systems of a request, checked as those of files are, and the metrics that they allow."""

    def __init__(self, request: ComparisonRequest, metrics: Mapping[str, Metric]) -> None:
        sources = []
        for name, examples in request.systems.items():
            source = Source(examples)
            source.name = source.file = name
            sources.append(source)
        if len(sources) < 2:
            raise CallError(f"compare needs at least two systems, found {len(sources)}")
        joined, self.seen = join(sources, list(request.systems))
        self.examples: list[Example] = list(joined)
        if request.metrics is None:
            chosen = Choice(metrics, frozenset(metrics))
        else:
            chosen = Choice({label: metrics[label] for label in request.metrics})
        self.chosen = chosen.served_by(self.seen, "the request")
        if not self.chosen.metrics:
            raise CallError(f"no metric of this service can score these replies: {'; '.join(self.chosen.notes)}")
        self.request = request

    def compared(self, columns: Columns) -> dict[str, Any]:
        """What `rejoinder compare --json` prints, from the scores of the examples."""
        options = dict(self.request.options)
        table = _table(self.examples, self.seen, self.chosen, columns, options.pop("seed", 0))
        found = compare_table(table, named=tuple(self.chosen.metrics), **options)
        checked = gate(found, cast(FailIf, self.request.fail_if)) if self.request.fail_if else None
        return found.to_dict() | ({"check": checked.to_dict()} if checked else {})


def _table(examples: list[Example], seen: Survey, chosen: Choice, columns: Columns, seed: int) -> ScoreTable:
    scorer, groups = Scorer(chosen.metrics, seen.systems), GroupFinder()
    scorer.count(Batch(examples))
    groups.add(examples)
    return scorer.table(
        {label: np.array(columns[label], np.float64) for label in chosen.metrics},
        scorer.system_codes(examples),
        notes=chosen.notes,
        grouping=groups.found(),
        seed=seed,
        resamples=RESAMPLES,
    )
