"""The spread in a pilot: judged replies, or replies that a metric scores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from rejoinder.data.record import FieldMap
from rejoinder.data.source import OnError, Source
from rejoinder.errors import CallError, DataError
from rejoinder.meta.comparing.pairing import join, labels_of
from rejoinder.meta.judged import chosen_dimensions, read_judged
from rejoinder.metrics.base import Metric
from rejoinder.scoring.choosing import choose
from rejoinder.scoring.engines.local import LocalRun
from rejoinder.stats.planning.spread import PilotSpread, pilot_spread


def pilot_of(
    origins: Sequence[Any],
    metric: str | Metric | None,
    dimension: str | None,
    *,
    fields: FieldMap | None,
    on_error: OnError,
    quiet: bool,
) -> tuple[PilotSpread, str, tuple[str, ...]]:
    """The spread, what was measured (a dimension or a metric), and notes."""
    if metric is None:
        found, name, notes = _judged(origins, dimension, fields, on_error)
    else:
        found, name, notes = _scored(origins, metric, fields, on_error, quiet=quiet)
    if found.contexts < 3:
        raise CallError(f"the pilot has {found.contexts} contexts with scores: expected at least 3")
    if found.spread.between == 0 and found.spread.rating == 0:
        raise CallError(
            "the pilot's systems differ by the same amount on every context, so that it does not say how much they vary"
        )
    return found, name, (*notes, *_notes(found, rated=metric is None))


def _judged(
    origins: Sequence[Any], dimension: str | None, fields: FieldMap | None, on_error: OnError
) -> tuple[PilotSpread, str, list[str]]:
    if len(origins) > 1:
        raise CallError("several pilot files need a metric (-m); a pilot of judged replies is one file")
    judged = read_judged(origins[0], fields=fields, on_error=on_error)
    dimensions = chosen_dimensions(judged, dimension)
    notes = [f"uses the dimension {dimensions[0]}, the first of {', '.join(dimensions)}"] if len(dimensions) > 1 else []
    found = pilot_spread(judged.ratings[dimensions[0]], judged.systems, judged.contexts)
    return found, dimensions[0], notes


def _scored(
    origins: Sequence[Any], metric: str | Metric, fields: FieldMap | None, on_error: OnError, *, quiet: bool
) -> tuple[PilotSpread, str, list[str]]:
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(Source(origin, fields, on_error))) for origin in origins]
        joined, seen = join(sources, labels_of(origins), quiet=quiet)
        where = ", ".join(source.name for source in sources)
        examples = list(joined)
        if not examples:
            raise DataError("has no replies: expected at least one", file=where)
        chosen = choose(metric).served_by(seen, where)
        if len(chosen.metrics) != 1:
            raise CallError(f"a pilot is scored by one metric, found {len(chosen.metrics)}")
        table = LocalRun(examples, seen, chosen.metrics, "pilot", resamples=1, quiet=quiet).score()
    (label,) = table.metrics
    systems = [example.system for example in examples]
    contexts = np.arange(len(table)) if table.grouping is None else table.grouping.contexts
    return pilot_spread(table[label].reshape(-1, 1), systems, contexts), label, list(table.notes)


def _notes(found: PilotSpread, *, rated: bool) -> list[str]:
    notes = []
    if not found.paired:
        notes.append(
            "no two systems of the pilot answered the same contexts, so the plan is for systems that answer different "
            "contexts: contexts are counted per system; with the same contexts, fewer are needed"
        )
    if rated and not found.rated_twice:
        notes.append(
            "the pilot has one rating per reply, so the effect of more raters is unknown: the plan is for as many "
            "ratings per reply as the pilot's scores are made of"
        )
    return notes
