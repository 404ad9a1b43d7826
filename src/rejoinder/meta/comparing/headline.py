"""The answer of a whole comparison in words: one verdict, how sure and how large it is, and what is not settled.

Terminal, JSON and report take their words from `headline`; what it says of a pair of systems comes from `verdict`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rejoinder.meta.comparing.verdict import Verdict, claim, needed_text
from rejoinder.scoring.reliability import REMEDY
from rejoinder.stats.formatting import counted, names_text, share_text
from rejoinder.text.grid import number

if TYPE_CHECKING:
    from rejoinder.meta.comparing.comparison import Comparison
    from rejoinder.meta.human_means import HumanMeans


@dataclass(frozen=True)
class Voice:
    """What one secondary metric says, with all its variants."""

    family: str
    verdicts: tuple[Verdict, ...]

    @property
    def name(self) -> str:
        """The metric; of several variants, how many they are."""
        labels = list(dict.fromkeys(verdict.metric for verdict in self.verdicts))
        return labels[0] if len(labels) == 1 else f"{self.family} ({len(labels)} variants)"

    @property
    def tested(self) -> bool:
        """Whether there were enough replies to compare any two systems."""
        return any(verdict.outcome != "untested" for verdict in self.verdicts)

    @property
    def doubtful(self) -> bool:
        """Whether the metric cannot judge the replies of some system."""
        return any(verdict.doubt for verdict in self.verdicts)

    @property
    def winners(self) -> frozenset[str]:
        """The systems that are better than every other by at least one variant."""
        systems = {name for verdict in self.verdicts for name in (verdict.a, verdict.b)}
        wins = Counter((verdict.metric, verdict.better) for verdict in self.verdicts if verdict.better is not None)
        return frozenset(str(system) for (_, system), count in wins.items() if count == len(systems) - 1)


def headline(comparison: Comparison) -> list[str]:
    """The verdict, one sentence each; the first says which system is better."""
    if comparison.human is not None:
        return list(_of_people(comparison, comparison.human))
    if not comparison.decided:
        return list(_undecided(comparison))
    if len(comparison.table.system_names) == 2:
        return list(_of_two(comparison))
    return list(_of_several(comparison))


def _undecided(comparison: Comparison) -> Iterator[str]:
    metric = comparison.primary.metric
    yield f"Not decided: {comparison.table.doubt(metric)}. {REMEDY}"
    yield f"The numbers below are what {metric} gives, not what people would say."
    yield from secondary_evidence(comparison)


def _of_two(comparison: Comparison) -> Iterator[str]:
    (verdict,) = comparison.decisive_verdicts
    found = claim(verdict.finding, f" on {verdict.metric}")
    begins_with_a_name = verdict.outcome not in ("open", "untested")
    yield f"{found if begins_with_a_name else _capitalised(found)}."
    yield from _means(comparison, verdict)
    needed = needed_text(verdict).removeprefix("; ")
    if needed:
        yield f"{_capitalised(needed)}."
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
        yield f"{_best_of(comparison.better, comparison.unbeaten, systems, f' on {metric}')}."
        yield from _closest_to_the_best(comparison.better, verdicts)
        yield from _open_pairs(verdicts)
    if comparison.margin is not None:
        within = sum(verdict.equivalence is not None and verdict.equivalence.equivalent for verdict in verdicts)
        yield f"{within} of {counted(len(verdicts), 'pair')} are equivalent within {comparison.margin:g}."
    yield from _sensitivity(verdicts)
    yield from comparison.primary.reason_given(comparison.table.metrics)
    yield from secondary_evidence(comparison)


def _best_of(best: str | None, unbeaten: Sequence[str], systems: Sequence[str], on: str) -> str:
    """Which system is the best one, or which ones may be; `on` says by what: " on bleu"."""
    if best is not None:
        return f"{best} is better than all {len(systems) - 1} others{on}"
    if len(unbeaten) == len(systems):
        return f"No significant difference between any of the {len(systems)} systems{on}"
    if len(unbeaten) == 1:
        (first,) = unbeaten
        return f"No system is significantly better than {first}{on}, but {first} is not better than all the others"
    among = "them" if len(unbeaten) == 2 else "any two of them"
    return f"The best system{on} is {names_text(unbeaten, 'or')}: there is no significant difference between {among}"


def _closest_to_the_best(best: str | None, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """How large the lead of the best system is: over the one that comes closest."""
    if best is not None:
        closest = min((v for v in verdicts if v.better == best), key=lambda verdict: verdict.finding.gap.estimate)
        yield f"Its smallest lead: {claim(closest.finding)}."


def _open_pairs(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """How much is not settled, and what would settle the pair with the smallest p-value."""
    unsettled = [verdict for verdict in verdicts if verdict.better is None]
    if not unsettled:
        return
    yield f"In {len(unsettled)} of {counted(len(verdicts), 'pair')}, the systems do not differ significantly."
    known = [verdict for verdict in unsettled if np.isfinite(verdict.p_adjusted)]
    closest = min(known, key=lambda verdict: verdict.result.p_value, default=None)
    needed = "" if closest is None else needed_text(closest).removeprefix("; ")
    if closest is not None and needed:
        yield f"The pair closest to a significant difference is {closest.a} and {closest.b}: {needed}."


def _of_people(comparison: Comparison, human: HumanMeans) -> Iterator[str]:
    systems = comparison.table.system_names
    if len(systems) == 2:
        yield human.differences[0].sentence()
    else:
        by_people = f" by people's ratings ({human.dimension})"
        yield f"{_best_of(comparison.better, comparison.unbeaten, systems, by_people)}."
        unsettled = sum(difference.better is None for difference in human.differences)
        if unsettled:
            yield f"{unsettled} of {counted(len(human.differences), 'pair')} of systems are not settled."
    labels = sum(result.n_labelled for result in human.means.values())
    counts = f"{counted(labels, 'label')} ({human.dimension})"
    yield f"Estimated from {counts} and the {human.predictor} scores of all replies."
    first = comparison.decisive_verdicts[0]
    if len(systems) == 2 and comparison.better is not None and first.higher_is_better is not None:
        agrees = "agrees" if first.better == comparison.better else "shows the opposite"
        alone = agrees if first.better else "shows no significant difference"
        yield f"The metric {first.metric} alone {'does not decide it' if first.doubt else alone}."
    yield from secondary_evidence(comparison)


def secondary_evidence(comparison: Comparison) -> Iterator[str]:
    """What the other metrics show, each with its variants as one voice."""
    several = len(comparison.table.system_names) > 2
    parts = []
    for system in comparison.table.system_names:
        names = [voice.name for voice in comparison.voices if voice.winners == {system}]
        if names:
            parts.append(f"{system} is better{' than all others' if several else ''} on {names_text(names)}")
    doubtful = [voice.name for voice in comparison.voices if voice.doubtful]
    unsettled = [voice.name for voice in comparison.voices if voice.tested and not voice.winners and not voice.doubtful]
    mixed = [voice.name for voice in comparison.voices if len(voice.winners) > 1]
    if unsettled:
        parts.append(
            f"{'no single best system' if several else 'no significant difference'} on {names_text(unsettled)}"
        )
    if mixed:
        parts.append(f"mixed results on {names_text(mixed)}")
    if doubtful:
        parts.append(f"not decided by {names_text(doubtful)}, unfit for such replies")
    if not several:
        higher = [verdict for verdict in comparison.secondary_verdicts if verdict.outcome == "higher"]
        parts += [f"{verdict.leader} is higher on {verdict.metric}" for verdict in higher]
    if parts:
        yield f"Other metrics, as secondary evidence: {'; '.join(parts)}."


def _capitalised(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
