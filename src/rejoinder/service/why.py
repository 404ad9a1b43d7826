"""Why a reply got its scores: what changes after other contexts, and when a part of the reply is left out.

This works for every metric: the reply is scored again without each of its words, and as a reply to contexts that have
nothing to do with it. Judges are left out of that, because every score of theirs is a request to a language model; they
say themselves why.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from rejoinder.evaluators.reference_points import points_of_signature
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.registry import JUDGES
from rejoinder.scoring.reliability import reply_reliability
from rejoinder.scoring.scorer import finite
from rejoinder.scoring.table import json_ready
from rejoinder.show.text import number_text
from rejoinder.types import Example

MOST_PARTS = 40
"""Parts of a reply that are left out one after the other; with more words, a part is several of them."""
OTHER_CONTEXTS = (
    "What time does the train to the airport leave?",
    "My cat has been asleep on the sofa all day.",
    "Which film did you watch last night?",
    "I have to renew my passport next week.",
)
"""Contexts that hardly any reply fits."""
COST = 1 + MOST_PARTS + len(OTHER_CONTEXTS)
"""How many replies an explanation scores at most."""
LONGEST = 20_000
"""Characters of a dialogue that is explained: it is scored many times."""
_SMALL = 0.02
"""The share of a metric's range below which a change is not mentioned."""


@dataclass(frozen=True, slots=True)
class _ReplyPart:
    """A part of the reply: where it begins and ends."""

    start: int
    end: int


def explained_reply(example: Example, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    """The scores of one reply, sentences that explain them, and the scores without each part of it."""
    parts = _parts(example.response)
    variants = [example, *_without(example, parts)]
    elsewhere = [replace(example, context=(other,), speakers=()) for other in OTHER_CONTEXTS if example.context]
    batch, first = Batch([*variants, *elsewhere]), Batch([example])
    told, without = {}, {}
    for label, metric in metrics.items():
        judged = metric.name in JUDGES
        scores = finite(metric.score_batch(first if judged else batch)).tolist()
        reading = _Reading(label, metric, scores[0])
        if not judged:
            reading = replace(
                reading,
                without=tuple(zip(parts, scores[1 : len(variants)], strict=True)),
                elsewhere=fmean(scores[len(variants) :]) if elsewhere else math.nan,
            )
            without[label] = scores[1 : len(variants)]
        [reliable] = reply_reliability(metric, first)
        doubt = f"{label} is not known to judge such replies as people do: {', '.join(reliable.reasons)}."
        told[label] = {
            "score": scores[0],
            "interval": reading.interval(first),
            "range": list(metric.range),
            "reliability": reliable.to_dict(),
            "why": [*([doubt] if reliable.is_doubtful else []), *reading.sentences(first)],
        }
    shown = [{"start": part.start, "end": part.end} for part in parts]
    return json_ready(
        {"id": example.id, "response": example.response, "scores": told, "parts": shown, "without": without}
    )


def _parts(reply: str) -> list[_ReplyPart]:
    """The words of a reply, or in a long one groups of them; in a script without spaces, its characters."""
    words = [_ReplyPart(*found.span()) for found in re.finditer(r"\w+(?:['’-]\w+)*", reply)]
    if len(words) < 2:
        words = [_ReplyPart(*found.span()) for found in re.finditer(r"\w", reply)]
    size = math.ceil(len(words) / MOST_PARTS)
    groups = [words[start : start + size] for start in range(0, len(words), size or 1)]
    return [_ReplyPart(group[0].start, group[-1].end) for group in groups] if len(groups) > 1 else []


def _without(example: Example, parts: Sequence[_ReplyPart]) -> Iterator[Example]:
    reply = example.response
    for part in parts:
        yield replace(example, response=(reply[: part.start].rstrip() + reply[part.end :]).lstrip(" ,;"))


@dataclass(frozen=True)
class _Reading:
    """What one metric says about the reply."""

    label: str
    metric: Metric
    score: float
    without: tuple[tuple[_ReplyPart, float], ...] = ()
    """Each part of the reply, and the score without it."""
    elsewhere: float = math.nan
    """The mean score of the same reply to other contexts."""

    def interval(self, batch: Batch) -> list[float] | None:
        """The interval expected to contain the rating; None where the metric gives none."""
        if not self.metric.gives_intervals or math.isnan(self.score):
            return None
        low, high = self.metric.intervals(batch)
        return [float(low[0]), float(high[0])]

    def sentences(self, batch: Batch) -> Iterator[str]:
        """Why the score is what it is, the most important first."""
        if math.isnan(self.score):
            yield f"It cannot be scored: {self.metric.cannot_score}."
            return
        if batch.blank[0]:
            yield "An empty reply gets the worst score."
            return
        yield from (reason for reason in self.metric.reasons(batch) if reason)
        yield from self._of_context()
        yield from self._of_parts(batch.examples[0].response)
        if (bounds := self.interval(batch)) is not None and not math.isnan(bounds[0]):
            low, high = (number_text(bound, 1) for bound in bounds)
            yield f"People's mean rating of this reply is expected to be between {low} and {high}."
        if points := points_of_signature(self.metric.signature):
            known = ", ".join(f"{point.name} {number_text(point.mean, 2)}" for point in points)
            yield f"For orientation, means on other conversations: {known}."
        # What a judge counts are its requests, not this reply.
        if self.metric.name not in JUDGES and (watcher := self.metric.watcher()) is not None:
            watcher.add(batch)
            yield from (f"Note: {note}." for note in watcher.notes())

    def _of_context(self) -> Iterator[str]:
        if abs(change := self.score - self.elsewhere) >= self._least:
            better = (change > 0) == self.metric.higher_is_better
            fits = "fits this context" if better else "fits this context no better than any other"
            yield f"The reply {fits}: after unrelated turns its mean score is {number_text(self.elsewhere, 2)}."

    def _of_parts(self, reply: str) -> Iterator[str]:
        known = [(self.score - score, part) for part, score in self.without if not math.isnan(score)]
        if not known:
            return
        for word, (change, part) in (("raises", max(known, key=_change)), ("lowers", min(known, key=_change))):
            if (change if word == "raises" else -change) >= self._least:
                without = number_text(self.score - change, 2)
                yield f"“{reply[part.start : part.end]}” {word} it the most: without it the score is {without}."

    @property
    def _least(self) -> float:
        low, high = self.metric.range
        return _SMALL * (high - low) if math.isfinite(high - low) else math.inf


def _change(pair: tuple[float, _ReplyPart]) -> float:
    return pair[0]
