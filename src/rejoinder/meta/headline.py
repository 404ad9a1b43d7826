"""The answer of a whole comparison in words: one verdict, how sure and how large it is, and what is not settled.

Terminal, JSON and report take their words from `headline`; what it says of a pair of systems comes from `verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rejoinder.meta.verdict import Verdict, claim, needed_text
from rejoinder.stats.formatting import counted, inflected, share_text
from rejoinder.text.grid import number

if TYPE_CHECKING:
    from rejoinder.meta.comparison import Comparison

_MOST_NAMED = 6


def headline(comparison: Comparison) -> list[str]:
    """The verdict, one sentence each; the first says which system is better."""
    if comparison.human is not None:
        found = _of_people(comparison)
    elif len(comparison.table.system_names) == 2:
        found = _of_two(comparison)
    else:
        found = _of_several(comparison)
    return [sentence[0].upper() + sentence[1:] if _opens(sentence) else sentence for sentence in found]


def _opens(sentence: str) -> bool:
    """Whether a sentence begins with a word of ours, not with a name."""
    return sentence.startswith(("no ", "too ", "the "))


def _of_two(comparison: Comparison) -> Iterator[str]:
    (verdict,) = comparison.decisive_verdicts
    yield f"{claim(verdict, f' on {verdict.metric}')}."
    yield from _means(comparison, verdict)
    needed = needed_text(verdict).removeprefix("; ")
    if needed:
        yield f"{needed[0].upper()}{needed[1:]}."
    yield from _sensitivity([verdict])
    yield from comparison.primary.reason_given(comparison.table.metrics)
    yield from secondary_evidence(comparison)


def _means(comparison: Comparison, verdict: Verdict) -> Iterator[str]:
    """Both means, on which scale and over how much, and who has the better score how often."""
    if verdict.outcome in ("untested", "identical"):
        return
    limits = comparison.table.limits(verdict.metric)
    scale = "" if limits is None else f" on a scale from {limits[0]:g} to {limits[1]:g}"
    lower = ", lower is better" if verdict.higher_is_better is False else ""
    means = f"{verdict.a} {number(verdict.result.mean_a)}, {verdict.b} {number(verdict.result.mean_b)}"
    shares, word = verdict.outcomes, "higher" if verdict.higher_is_better is None else "better"
    wins = f"; {verdict.a} is {word} in {share_text(shares.losses)} of them, {verdict.b} in {share_text(shares.wins)}"
    yield (
        f"Means{scale}{lower}: {means}, over {verdict.counted_units}" + (wins if verdict.result.paired else "") + "."
    )


def _sensitivity(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Which difference would have been detected: for several pairs, in the worst case."""
    known = [verdict.detectable for verdict in verdicts if np.isfinite(verdict.detectable)]
    if known:
        pair = "" if len(verdicts) == 1 else " between any two systems"
        digits = 3 if max(known) >= 0.001 else 6
        yield f"A difference above {number(max(known), digits)}{pair} would have been detected with 80% power."


def _of_several(comparison: Comparison) -> Iterator[str]:
    verdicts, metric = comparison.decisive_verdicts, comparison.primary.metric
    systems = comparison.table.system_names
    if verdicts[0].higher_is_better is None:
        settled = sum(verdict.significant for verdict in verdicts)
        yield (
            f"{metric} describes replies and does not say which are better: {settled} of "
            f"{counted(len(verdicts), 'pair')} of systems differ significantly."
        )
    elif all(verdict.outcome == "too few" for verdict in verdicts):
        few = f"{verdicts[0].counted_units} are too few to show any difference between {len(systems)} systems"
        yield f"{few} on {metric}{needed_text(verdicts[0])}."
    else:
        yield f"{_best_of(comparison.best, comparison.unbeaten, systems)} on {metric}."
        yield from _open_pairs(verdicts)
    yield from _sensitivity(verdicts)
    yield from comparison.primary.reason_given(comparison.table.metrics)
    yield from _other_rankings(comparison)


def _best_of(best: str | None, unbeaten: Sequence[str], systems: Sequence[str]) -> str:
    if best is not None:
        return f"{best} is better than all {len(systems) - 1} others"
    if len(unbeaten) == len(systems):
        return f"no significant difference between any of the {len(systems)} systems"
    if len(unbeaten) == 1:
        return f"{unbeaten[0]} is the best, but not significantly better than all others,"
    return f"no single best system: no other is significantly better than {_listed(unbeaten, 'or')}"


def _open_pairs(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """How much is not settled, and what would settle the pair that is closest to it."""
    unsettled = [verdict for verdict in verdicts if verdict.better is None]
    if not unsettled:
        return
    yield f"{len(unsettled)} of {counted(len(verdicts), 'pair')} of systems show no significant difference."
    known = [verdict for verdict in unsettled if np.isfinite(verdict.p_adjusted)]
    closest = min(known, key=lambda verdict: verdict.result.p_value, default=None)
    needed = "" if closest is None else needed_text(closest).removeprefix("; ")
    if closest is not None and needed:
        yield f"The closest to it: {closest.a} and {closest.b}; {needed}."


def _of_people(comparison: Comparison) -> Iterator[str]:
    human = comparison.human
    assert human is not None  # narrows the type; `headline` has checked it
    systems = comparison.table.system_names
    if len(systems) == 2:
        yield human.differences[0].sentence()
    else:
        yield f"By people's ratings ({human.dimension}): {_best_of(comparison.best, comparison.unbeaten, systems)}."
        unsettled = sum(difference.better is None for difference in human.differences)
        if unsettled:
            yield f"{unsettled} of {counted(len(human.differences), 'pair')} of systems are not settled."
    labels = sum(result.n_labelled for result in human.means.values())
    counts = f"{counted(labels, 'label')} ({human.dimension})"
    yield f"Estimated from {counts} and the {human.predictor} scores of all replies."
    stance = {True: "agrees", False: "shows no significant difference"}
    (first, *_) = comparison.decisive_verdicts
    if len(systems) == 2 and comparison.better is not None and first.higher_is_better is not None:
        said = stance[first.better is not None] if first.better in (None, comparison.better) else "disagrees"
        yield f"The metric {first.metric} by itself {said}."
    yield from secondary_evidence(comparison)


def secondary_evidence(comparison: Comparison) -> Iterator[str]:
    """What the other metrics show for two systems, each family of metrics as one voice."""
    voices = comparison.voices
    if not voices:
        return
    a, b = comparison.table.system_names
    parts = []
    for system in (a, b):
        names = [name for name, better in voices.items() if better == system]
        if names:
            parts.append(f"{system} is better on {_listed(names)}")
    for word in ("no significant difference", "mixed results"):
        names = [name for name, better in voices.items() if better == f"({word})"]
        if names:
            parts.append(f"{word} on {_listed(names)}")
    higher = [v for v in comparison.secondary_verdicts if v.outcome == "higher"]
    parts += [f"{verdict.leader} is higher on {verdict.metric}" for verdict in higher]
    if parts:
        yield f"Secondary metrics, corrected together: {'; '.join(parts)}."


def _other_rankings(comparison: Comparison) -> Iterator[str]:
    """Which system the other metrics put first."""
    systems = comparison.table.system_names
    names = {
        best: [name for name, verdicts in comparison.families.items() if best_of_family(verdicts, systems) == best]
        for best in (*systems, None)
    }
    parts = [
        f"{best} is better than all others on {_listed(metrics)}" if best else f"no single best on {_listed(metrics)}"
        for best, metrics in names.items()
        if metrics
    ]
    if parts:
        yield f"Secondary metrics, corrected together: {'; '.join(parts)}."


def best_of_family(verdicts: Sequence[Verdict], systems: Sequence[str]) -> str | None:
    """The system that is better than every other by all variants of a metric; None if there is none."""
    variants = {verdict.metric for verdict in verdicts}
    for system in systems:
        if sum(verdict.better == system for verdict in verdicts) == len(variants) * (len(systems) - 1):
            return system
    return None


def _listed(names: Sequence[str], word: str = "and") -> str:
    """'a, b and c'; of many the first, and how many more."""
    if len(names) > _MOST_NAMED:
        more = len(names) - _MOST_NAMED + 1
        return f"{', '.join(names[: _MOST_NAMED - 1])} {word} {more} {inflected(more, 'other')}"
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
