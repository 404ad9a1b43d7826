"""Choosing, scoring and the table in one call, from Python."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from rejoinder.arguments import checked, one_or_more
from rejoinder.data.record import FieldMap, Fields
from rejoinder.data.source import OnError, Source
from rejoinder.data.survey import survey
from rejoinder.defaults import RESAMPLES
from rejoinder.metrics.base import ScoreWarning
from rejoinder.scoring.choosing import Metrics, choose
from rejoinder.scoring.engines.local import LocalRun
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.terminal import one_line


@checked(by=one_or_more("the name of a field, or a list of names"))
def score(
    examples: Any,
    metrics: Metrics | None = None,
    *,
    intervals: bool = False,
    by: str | Sequence[str] = (),
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    resamples: int = RESAMPLES,
    jobs: int | None = None,
) -> ScoreTable:
    """Score examples (a list, a frame, a data set, a path) by metrics given by name, such as ["bleu(n=2)", "rouge-l"].

    Without `metrics` the default set runs, as far as the data have what each metric needs. With `intervals`, calibrated
    evaluators also give, for each reply, the interval expected to contain the human score. `fields` maps our field
    names to the data's. `by` names fields of the data (or length, turns): the table then also shows the replies with
    each of their values separately. With `on_error="skip"` unreadable examples are left out, and a warning counts them.
    `jobs` is the number of processes that score; by default as many as there are cores for evaluators, and for fast
    metrics where there are many replies, else one. Scores stay the same, but for the last digits of evaluators in
    torch.
    """
    chosen = choose(metrics)
    with closing(Source(examples, replace(FieldMap.given(fields), by=tuple(by)), on_error)) as source:
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
            by=tuple(by),
            jobs=jobs,
        )
        table = run.score()
        skipped = list(source.skipped.values())
    if skipped:
        warnings.warn(f"left out {len(skipped)} unreadable examples; the first: {skipped[0]}", stacklevel=2)
    for note in table.notes:
        warnings.warn(one_line(note), ScoreWarning, stacklevel=3)
    return table
