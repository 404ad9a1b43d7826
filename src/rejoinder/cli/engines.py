"""The run of `rejoinder score`, prepared for one of the engines."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import chosen_metrics

if TYPE_CHECKING:
    from rejoinder.data.source import Source, Survey
    from rejoinder.scoring.run import ScoringRun
    from rejoinder.scoring.score import Choice
    from rejoinder.scoring.table import ScoreTable


@dataclass(frozen=True)
class Prepared:
    """A run whose input was surveyed and whose metrics were chosen."""

    run: ScoringRun
    chosen: Choice
    score: Callable[[Path | None], ScoreTable]
    texts: Any
    """Gives the examples of some rows to a report: `take(rows)`."""


def choose_metrics(arguments: argparse.Namespace) -> Choice:
    """The metrics that the options name, before the data are read."""
    from rejoinder.scoring.score import choose

    return choose(chosen_metrics(arguments))


def prepared_local(source: Source, wanted: Choice, arguments: argparse.Namespace, stack: ExitStack) -> Prepared:
    """A run on this machine; what a report needs is closed with the stack."""
    from rejoinder.data.replay import Replay
    from rejoinder.data.source import survey
    from rejoinder.scoring.run import LocalRun

    replay = stack.enter_context(closing(Replay(source)))
    seen = survey(source, quiet=arguments.quiet)
    chosen = wanted.served_by(seen, source.name)
    run = LocalRun(replay if arguments.report else source, **_settings(source, seen, chosen, arguments))
    return Prepared(run, chosen, lambda target: run.score(target, resume=arguments.resume), replay)


def prepared_ray(source: Source, wanted: Choice, arguments: argparse.Namespace, _: ExitStack) -> Prepared:
    """A run on Ray."""
    from rejoinder.data.source import survey
    from rejoinder.data.spans import SpanFinder
    from rejoinder.errors import CallError
    from rejoinder.folders.sources import require_extra
    from rejoinder.scoring.ray import RayRun, part_size

    require_extra("scale", "--engine ray")
    spans = SpanFinder(source)
    seen = survey(source, quiet=arguments.quiet, visitor=spans)
    chosen = wanted.served_by(seen, source.name)
    settings = _settings(source, seen, chosen, arguments)
    parts = spans.found(part_size(chosen.metrics, seen))
    run = RayRun(source, **settings, spans=parts, skip_failed=arguments.on_error == "skip")

    def score(target: Path | None) -> ScoreTable:
        if target is None:
            raise CallError("a run on Ray writes into a folder: expected -o")
        return run.score(target, resume=arguments.resume)

    return Prepared(run, chosen, score, run)


def _settings(source: Source, seen: Survey, chosen: Choice, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "seen": seen,
        "metrics": chosen.metrics,
        "name": source.name,
        "seed": arguments.seed,
        "resamples": arguments.resamples,
        "quiet": arguments.quiet,
        "intervals": arguments.intervals,
        "notes": chosen.notes,
        "by": tuple(arguments.by),
        "jobs": arguments.jobs,
    }
