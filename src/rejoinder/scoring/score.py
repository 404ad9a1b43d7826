"""Choosing, scoring and the table in one call, from Python."""

from __future__ import annotations

import warnings
from contextlib import closing
from typing import Any

from rejoinder.data.source import Source
from rejoinder.data.survey import survey
from rejoinder.defaults import RESAMPLES
from rejoinder.metrics.base import ScoreWarning
from rejoinder.scoring.choosing import Metrics, choose
from rejoinder.scoring.local import LocalRun
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.terminal import one_line


def score(
    examples: Any,
    metrics: Metrics | None = None,
    *,
    intervals: bool = False,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> ScoreTable:
    """Score examples (a list, a frame, a data set, a path) by metrics given by name, such as ["bleu(n=2)", "rouge-l"].

    Without `metrics` the default set runs, as far as the data have what each metric needs. With `intervals`, calibrated
    evaluators also give, for each reply, the interval expected to contain the human score.
    """
    chosen = choose(metrics)
    with closing(Source(examples)) as source:
        seen = survey(source, digest=False)
        served = chosen.served_by(seen, source.name)
        run = LocalRun(
            source,
            seen,
            served.metrics,
            source.name,
            seed,
            resamples,
            quiet=True,
            intervals=intervals,
            notes=served.notes,
            keep_ids=True,
        )
        table = run.score()
    for note in table.notes:
        warnings.warn(one_line(note), ScoreWarning, stacklevel=2)
    return table
