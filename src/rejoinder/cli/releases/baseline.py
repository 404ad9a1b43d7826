"""`rejoinder compare new.jsonl --baseline runs/`: replies compared with the scores of a recorded release."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.cli.options import open_source, origin_of

if TYPE_CHECKING:
    from rejoinder.comparing.comparison import Comparison
    from rejoinder.scoring.score import Choice

_NOT_WITH_IT = ("scores", "labels", "pairwise", "pair_by", "cluster", "by", "dimension", "predictor")


def compare_with_baseline(chosen: Choice | None, arguments: argparse.Namespace) -> Comparison:
    """The comparison of the replies with a release; without -m, by the metrics that the release was scored by."""
    from rejoinder.comparing.history import baseline_of, check_comparable, compare_releases
    from rejoinder.comparing.release import scored_release
    from rejoinder.comparing.systems import labels_of
    from rejoinder.errors import CallError
    from rejoinder.scoring.score import choose

    for name in _NOT_WITH_IT:
        if getattr(arguments, name):
            raise CallError(f"--{name.replace('_', '-')} cannot be used with --baseline: expected one of them")
    if not arguments.replies:
        raise CallError("--baseline needs replies to compare with it: expected at least one file")
    old = baseline_of(Path(arguments.baseline))
    metrics = choose(old.table.metrics) if chosen is None else chosen
    label = labels_of([arguments.replies[0]])[0]
    name = label if label != old.name else f"{label} (new)"
    check_comparable(old, name, {each: metric.signature for each, metric in metrics.metrics.items()})
    settings = {option: getattr(arguments, option) for option in ("seed", "resamples", "jobs", "quiet")}
    new = scored_release(open_source(origin_of(arguments.replies), arguments), name, metrics, **settings)
    named = () if chosen is None else new.table.metrics
    return compare_releases(
        old, new, new.table.metrics, primary=arguments.primary, margin=arguments.margin, named=named
    )
