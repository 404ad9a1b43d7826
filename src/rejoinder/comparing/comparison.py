"""What `compare` returns: a verdict in words, a table, JSON, LaTeX, and the condition of a gate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rejoinder.comparing.labels import HumanDifference, HumanMeans
from rejoinder.comparing.tests import Ranking
from rejoinder.comparing.verdict import Verdict, claim, needed_text
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.scoring.reliability import REMEDY
from rejoinder.scoring.table import CAUTION, Primary, ScoreTable
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.plots import Figure
from rejoinder.show.text import (
    NOTEBOOK_WIDTH,
    bounds_text,
    counted,
    decimals_of,
    grid,
    interval_text,
    latex_safe,
    latex_table,
    names_text,
    number_text,
    p_text,
    share_text,
    signed,
    text_html,
    wrapped,
)

if TYPE_CHECKING:
    from rejoinder.data.replay import Replay
    from rejoinder.metrics.base import Metric
    from rejoinder.stats.intervals import Interval

# The result of a comparison of systems: a verdict in words, a table, JSON and LaTeX.


PLOTS = ("means", "differences")
"""The kinds of figure that a comparison can draw."""


@dataclass(frozen=True)
class Comparison:
    """Pairwise comparisons of systems; `str()` is the verdict in words, followed by a short table.

    One metric is *primary*: it decides which system is better. With labels, people decide. The other metrics are
    secondary evidence.
    """

    table: ScoreTable
    verdicts: tuple[Verdict, ...]
    """Of each metric, the primary one first, and each pair of systems."""
    primary: Primary
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Messages about records that could not be read and were skipped."""
    rankings: tuple[Ranking, ...] = ()
    """One per metric that says which of three or more systems is better."""
    human: HumanMeans | None = None
    """Estimated human scores, where there are labels."""
    margin: float | None = None
    """Differences below it do not matter, where one was given."""
    slices: Mapping[str, Mapping[str, tuple[Verdict, ...]]] = field(default_factory=dict)
    """Field -> its value -> the verdicts of the primary metric on those replies."""
    coverage: tuple[str, ...] = ()
    """How replies are paired, where not by context, and which are not compared, and why."""
    replies: Replay | None = field(default=None, compare=False, repr=False)
    """The replies, in the order of the table, where a report can read their texts; a copy that was pickled has none."""
    metrics: Mapping[str, Metric] = field(default_factory=dict, compare=False, repr=False)
    """Metric label -> the metric, of those that give reasons for their scores."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "replies": None, "metrics": {}}

    @property
    def decisive_verdicts(self) -> tuple[Verdict, ...]:
        """Those of the primary metric."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric == self.primary.metric)

    @property
    def secondary_verdicts(self) -> tuple[Verdict, ...]:
        """Those of the other metrics."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric != self.primary.metric)

    @property
    def _decisive(self) -> Sequence[Verdict | HumanDifference]:
        return self.human.differences if self.human else self.decisive_verdicts

    @property
    def decided(self) -> bool:
        """Whether the scores can carry a verdict: False where the primary metric cannot judge the replies.

        With labels, people decide, whatever metric is combined with them.
        """
        return self.human is not None or not any(verdict.outcome == "doubtful" for verdict in self.decisive_verdicts)

    @cached_property
    def better(self) -> str | None:
        """The system that is significantly better than every other one; None if there is none."""
        others = len(self.table.system_names) - 1
        wins = {system: sum(pair.better == system for pair in self._decisive) for system in self.table.system_names}
        return next((system for system, count in wins.items() if count == others), None)

    @cached_property
    def unbeaten(self) -> tuple[str, ...]:
        """The systems that no other is significantly better than."""
        beaten = {pair.a if pair.better == pair.b else pair.b for pair in self._decisive if pair.better is not None}
        return tuple(system for system in self.table.system_names if system not in beaten)

    @cached_property
    def voices(self) -> tuple[Voice, ...]:
        """What the secondary metrics say; variants of one metric (BLEU-1..4) have one voice.

        Variants of the primary metric, and metrics that do not say what is better, have none.
        """
        members: dict[str, list[Verdict]] = {}
        for verdict in self.secondary_verdicts:
            family = self.table.family_of(verdict.metric)
            if verdict.higher_is_better is not None and family != self.table.family_of(self.primary.metric):
                members.setdefault(family, []).append(verdict)
        return tuple(Voice(family, tuple(verdicts)) for family, verdicts in members.items())

    @property
    def best_first(self) -> list[str]:
        """The systems by the primary metric."""
        metric = self.primary.metric
        ranked = next((ranking for ranking in self.rankings if ranking.metric == metric), None)
        if ranked is not None:
            return [place.system for place in ranked.places]
        cells = self.table.summary()[metric]
        sign = -1 if self.table.higher_is_better.get(metric, True) else 1
        return sorted(self.table.system_names, key=lambda name: sign * cells[name].mean)

    def plot(self, metric: str | None = None, *, kind: str = "means") -> Figure:
        """A figure of one metric, by default the primary one: the systems' "means", best first, or "differences".

        Differences have one row per pair of systems, with the 95 % interval. The figure of the means is that of the
        report. A notebook shows it; `save` writes it to an SVG file.
        """
        label = self.primary.metric if metric is None else metric
        self.table[label]  # an unknown name is an error that lists the near ones
        if kind not in PLOTS:
            raise UnknownNameError("kind of plot", kind, PLOTS)
        panel = self.table.means_panel(label, self.best_first) if kind == "means" else self._differences(label)
        return Figure.of(panel.title, [panel])

    def _differences(self, metric: str) -> IntervalPanel:
        rows = tuple(
            (f"{pair.b} minus {pair.a}", pair.result.difference) for pair in self.verdicts if pair.metric == metric
        )
        return IntervalPanel(f"Difference in mean {metric} with 95 % intervals", rows, (0,) * len(rows))

    def headline(self) -> list[str]:
        """The verdict in words, one sentence each."""
        return headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **replace(self.table, slices=()).to_dict(),
            "decided": self.decided,
            "verdict": " ".join(self.headline()),
            "better": self.better,
            "unbeaten": list(self.unbeaten),
            "primary": self.primary.metric,
            "primary_reason": self.primary.reason,
            "decided_by": "people" if self.human else self.primary.metric,
            "margin": self.margin,
            "coverage": list(self.coverage),
            "warnings": [*self.table.notes, *self.notes],
            "skipped": list(self.skipped),
            "comparisons": [verdict.to_dict() for verdict in self.verdicts],
            "rankings": [ranking.to_dict() for ranking in self.rankings],
            "human": self.human.to_dict() if self.human else None,
            "slices": {
                name: {value: [verdict.to_dict() for verdict in verdicts] for value, verdicts in values.items()}
                for name, values in self.slices.items()
            },
        }

    def to_latex(self) -> str:
        """A booktabs table of the differences, and one of the estimated human means where there are labels."""
        return comparison_latex(self)

    def text(self, width: int = 80, *, details: bool = False) -> str:
        """The verdict and a short table, wrapped at the width; with `details` everything else."""
        return comparison_text(self, width, details=details)

    def _repr_html_(self) -> str:
        return text_html(self._with_notes(NOTEBOOK_WIDTH))

    def __str__(self) -> str:
        return self._with_notes(80)

    def _with_notes(self, width: int) -> str:
        """The text, followed by what the command line prints as notes on standard error."""
        notes = [f"Note: {note}" for note in (*self.table.notes, *self.notes)]
        return "\n\n".join([self.text(width), *(["\n".join(wrapped(note, width) for note in notes)] if notes else [])])


# The answer of a whole comparison in words: one verdict, how sure and how large it is, and what is not settled.
#
# Terminal, JSON and report take their words from `headline`; what it says of a pair of systems comes from `verdict`.


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
    """The verdict, one sentence each; the first says which system is better, the next what was not compared."""
    first, *others = _answer(comparison)
    return [first, *(f"{told}." for told in comparison.coverage), *others]


def _answer(comparison: Comparison) -> list[str]:
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
    means = f"{verdict.a} {number_text(verdict.result.mean_a)}, {verdict.b} {number_text(verdict.result.mean_b)}"
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
        yield f"A difference above {number_text(max(known), digits)}{pair} would have been detected with 80% power."


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
        others = "both others" if len(systems) == 3 else f"each of the {len(systems) - 1} others"
        return f"{best} is better than {others}{on}"
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


# A comparison as text for the terminal and as LaTeX.


_LONGEST_NAME = 14
_MOST_PAIRS = 12


def comparison_text(comparison: Comparison, width: int, *, details: bool = False) -> str:
    """The verdict and a short table, wrapped at the width; with `details` everything else."""
    first, *others = comparison.headline()
    parts = [wrapped(first, width), wrapped(" ".join(others), width), _short_table(comparison, width)]
    if comparison.human is not None:
        parts.append(comparison.human.table(width))
    parts += [slice_text(comparison, field, width) for field in comparison.slices]
    if details:
        parts += _details(comparison, width)
    return "\n\n".join(filter(None, parts))


def slice_text(comparison: Comparison, field: str, width: int) -> str:
    """One row per value of a field and pair of systems: the difference by the primary metric, p, and n."""
    rows = [
        [
            value,
            f"{verdict.a} → {verdict.b}",
            interval_text(verdict.result.difference, sign=True),
            p_text(verdict.p_adjusted),
            verdict.better or "-",
            f"{verdict.n:,}",
        ]
        for value, verdicts in comparison.slices[field].items()
        for verdict in verdicts
    ]
    header = [field, "A → B", f"{comparison.primary.metric}: B - A [95 %]", "p", "better", "n"]
    table = grid(header, rows, left=2, fit=width)
    return f"{table}\n{wrapped(f'p is corrected for all rows (Holm). {CAUTION.format(count=len(rows))}', width)}"


def _short_table(comparison: Comparison, width: int) -> str:
    if len(comparison.table.system_names) == 2:
        return _two_systems(comparison, width)
    return _standings(comparison, width)


def _two_systems(comparison: Comparison, width: int) -> str:
    """One row per metric: both means, the difference, p, n."""
    a, b = map(_shortened, comparison.table.system_names)
    rows = []
    for verdict in comparison.verdicts:
        result = verdict.result
        rows.append(
            [
                _metric(verdict),
                number_text(result.mean_a) + ("*" if verdict.better == verdict.a else ""),
                number_text(result.mean_b) + ("*" if verdict.better == verdict.b else ""),
                interval_text(result.difference, sign=True),
                p_text(verdict.p_adjusted),
                f"{verdict.n:,}",
            ]
        )
    table = grid(["metric", a, b, "difference [95 %]", "p", "n"], rows, fit=width)
    caption = f"Difference: {b} minus {a}. n: {_counted(comparison)}. * significantly better{_correction(comparison)}."
    return f"{table}\n{wrapped(caption + _arrow(comparison), width)}"


def _standings(comparison: Comparison, width: int) -> str:
    """One row per system, by the primary metric, best first; ties share a group."""
    verdicts, metric = comparison.decisive_verdicts, comparison.primary.metric
    ranked = next((ranking for ranking in comparison.rankings if ranking.metric == metric), None)
    summary = comparison.table.summary()[metric]
    if ranked is not None:
        order = [(str(place.cluster or "-"), place.system, place.mean) for place in ranked.places]
    else:
        reverse = verdicts[0].higher_is_better is not False
        systems = sorted(summary, key=lambda system: summary[system].mean, reverse=reverse)
        order = [("-", system, summary[system].mean) for system in systems]
    rows = []
    for group, system, mean in order:
        own = [verdict for verdict in verdicts if system in (verdict.a, verdict.b) and verdict.significant]
        ahead = sum(verdict.leader == system for verdict in own)
        rows.append(
            [group, system, number_text(mean), str(ahead), str(len(own) - ahead), f"{summary[system].n:,}"],
        )
    word = "higher" if verdicts[0].higher_is_better is None else "better"
    table = grid(["group", "system", metric, f"{word} than", f"{_OPPOSITE[word]} than", "n"], rows, left=2, fit=width)
    caption = (
        "Systems of one group do not differ significantly. " if ranked is not None else ""
    ) + f"{word} than, {_OPPOSITE[word]} than: how many systems, p < 0.05 after Holm's correction. n: scored replies."
    return f"{table}\n{wrapped(caption, width)}"


_OPPOSITE = {"better": "worse", "higher": "lower"}


def _details(comparison: Comparison, width: int) -> list[str]:
    """All pairs and metrics with effect sizes and wins, a sentence each where they are few, and all rankings."""
    rows = [
        [
            _metric(verdict),
            f"{verdict.a} → {verdict.b}",
            interval_text(verdict.result.difference, sign=True),
            p_text(verdict.p_adjusted),
            verdict.better or "-",
            signed(verdict.result.effect_size, 2),
            share_text(verdict.outcomes.wins),
            p_text(verdict.result.p_value),
            number_text(verdict.detectable),
            f"{verdict.n:,}",
        ]
        for verdict in comparison.verdicts
    ]
    header = ["metric", "A → B", "B - A [95 %]", "p (Holm)", "better", "effect", "B wins", "p alone", "detectable", "n"]
    parts = [grid(header, rows, left=2, fit=width)]
    parts[0] += "\n" + wrapped(
        "Intervals are not corrected for the number of comparisons. effect: in standard deviations (Cohen's d_z; "
        "unpaired Hedges' g). B wins: how often B has the better score. detectable: the difference that would have "
        "been detected with 80% power.",
        width,
    )
    if len(comparison.verdicts) <= _MOST_PAIRS:  # beyond that, the table and the rankings are easier to read
        parts.append("\n".join(wrapped(verdict.sentence(), width) for verdict in comparison.verdicts))
    if comparison.rankings:
        title = "Best first; a bar precedes a system that is significantly worse than one after the last bar:"
        lines = (wrapped(ranking.sentence(), width) for ranking in comparison.rankings)
        parts.append("\n".join([wrapped(title, width), *lines]))
    if comparison.human is not None:
        parts.append("\n".join(wrapped(row.sentence(), width) for row in comparison.human.differences))
    return parts


def _metric(verdict: Verdict) -> str:
    return f"{verdict.metric} ↓" if verdict.higher_is_better is False else verdict.metric


def _arrow(comparison: Comparison) -> str:
    return " ↓ lower is better." if any(v.higher_is_better is False for v in comparison.verdicts) else ""


def _correction(comparison: Comparison) -> str:
    """What p-values are corrected for."""
    if len(comparison.table.metrics) == 1:
        return ""
    decides = (
        f"{comparison.primary.metric} alone decides"
        if comparison.decided
        else f"{comparison.primary.metric} decides nothing here"
    )
    return f"; p: {decides}, the others are corrected together (Holm)"


def _counted(comparison: Comparison) -> str:
    first = comparison.verdicts[0]
    if not first.result.paired:
        return "replies of the system with fewer"
    return f"{first.paired_by}s that both {'have scores for' if first.paired_by == 'item' else 'answered'}"


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def comparison_latex(comparison: Comparison) -> str:
    """A booktabs table of the differences, and one of the estimated human means where there are labels.

    Significant differences and the better systems are in bold.
    """
    rows = []
    for verdict in comparison.verdicts:
        gap = verdict.result.difference
        names = [_bold(latex_safe(name), verdict.better == name) for name in (verdict.a, verdict.b)]
        means = [number_text(verdict.result.mean_a), number_text(verdict.result.mean_b)]
        shown = _bold(number_text(gap.estimate, decimals_of(gap)), verdict.significant)
        bounds = _latex_bounds(gap, decimals_of(gap))
        rows.append([latex_safe(verdict.metric), *names, *means, shown, bounds, latex_safe(p_text(verdict.p_adjusted))])
    p = "$p$ (Holm)" if len(comparison.verdicts) > 1 else "$p$"
    header = ["metric", "A", "B", "mean A", "mean B", "B $-$ A", r"95\,\% interval", p]
    table = latex_table(header, rows, left=3)
    return table if comparison.human is None else f"{table}\n\n{_latex_human(comparison.human)}"


def _latex_human(human: HumanMeans) -> str:
    """The estimated human means, and the differences of all pairs."""
    rows = []
    for system, result in human.means.items():
        interval = result.interval
        rows.append(
            [latex_safe(system), number_text(interval.estimate), _latex_bounds(interval), str(result.n_labelled), ""]
        )
    for row in human.differences:
        a, b = (_bold(latex_safe(name), row.better == name) for name in (row.a, row.b))
        gap = row.result.interval
        shown = _bold(number_text(gap.estimate), row.settled)
        rows.append([f"{b} $-$ {a}", shown, _latex_bounds(gap), "", latex_safe(p_text(row.p_adjusted))])
    header = [f"{latex_safe(human.dimension)} (people)", "estimate", r"95\,\% interval", "labels", "$p$"]
    return latex_table(header, rows)


def _latex_bounds(interval: Interval, digits: int = 3) -> str:
    """The bounds; a dash where they are unknown."""
    return "--" if math.isnan(interval.high - interval.low) else bounds_text(interval, digits)


def _bold(words: str, bold: bool) -> str:
    return rf"\textbf{{{words}}}" if bold else words


# Whether a candidate passes: the verdict of a comparison of two systems as a check for continuous integration.
#
# The first system is the baseline, the second the candidate. A check passes only where the data could have failed it:
# too few replies to show anything fail, as a difference does.


FailIf = Literal["worse", "not-better"]


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of a check; `reason` is one sentence with the numbers that decide."""

    fail_if: FailIf
    passed: bool
    reason: str
    decided: bool = True
    """False where the metric cannot judge the replies: the candidate has neither passed nor failed."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"fail_if": self.fail_if, "passed": self.passed, "decided": self.decided, "reason": self.reason}


def gate(comparison: Comparison, fail_if: FailIf) -> Gate:
    """Whether the second system of a comparison passes.

    worse: it fails if it is significantly worse. With a margin it fails unless it is shown to be no worse than the
    first system by the margin or more (a test of non-inferiority), so that too little data is a failure too.
    not-better: it fails unless it is significantly better, and with a margin also if the difference is shown to be
    below the margin.
    Nothing is checked where the metric cannot judge the replies: then the result is not decided.
    """
    pair = _only_pair(comparison)
    if isinstance(pair, Verdict) and pair.outcome == "doubtful":
        return Gate(fail_if, passed=False, reason=f"{comparison.table.doubt(pair.metric)}. {REMEDY}", decided=False)
    passed = _no_worse(pair, comparison.margin) if fail_if == "worse" else _better(pair)
    return Gate(fail_if, passed, _reason(pair, passed=passed, fail_if=fail_if))


def _only_pair(comparison: Comparison) -> Verdict | HumanDifference:
    """The decisive comparison; a CallError where it cannot say which of two systems is better."""
    systems = comparison.table.system_names
    if len(systems) != 2:
        raise CallError(f"a check needs a baseline and a candidate: expected two systems, found {len(systems)}")
    if comparison.human:
        return comparison.human.differences[0]
    verdict = comparison.decisive_verdicts[0]
    if verdict.higher_is_better is None:
        raise CallError(f"{verdict.metric} does not say which replies are better: expected another primary metric")
    return verdict


def _no_worse(pair: Verdict | HumanDifference, margin: float | None) -> bool:
    if isinstance(pair, Verdict) and pair.outcome == "identical":
        return True
    if margin is not None:
        return _within_margin(pair)
    return pair.better != pair.a and not _shows_nothing(pair)


def _within_margin(pair: Verdict | HumanDifference) -> bool:
    """Whether the candidate is shown to be no worse by the margin or more."""
    if isinstance(pair, Verdict):
        return pair.no_worse == pair.b
    return pair.equivalence is not None and pair.equivalence.not_lower


def _shows_nothing(pair: Verdict | HumanDifference) -> bool:
    """Whether there are too few scores or labels for any difference to be significant."""
    if isinstance(pair, Verdict):
        return pair.outcome in ("untested", "too few")
    return math.isnan(pair.p_adjusted)


def _better(pair: Verdict | HumanDifference) -> bool:
    negligible = pair.equivalence is not None and pair.equivalence.equivalent
    return pair.better == pair.b and not negligible


def _reason(pair: Verdict | HumanDifference, *, passed: bool, fail_if: FailIf) -> str:
    """The verdict in words, or which interval does not show that the candidate is no worse."""
    found = pair.equivalence
    if passed or fail_if == "not-better" or found is None or pair.better == pair.a or math.isnan(pair.p_adjusted):
        return pair.sentence()
    on = f"{pair.metric}: " if isinstance(pair, Verdict) else "People's ratings: "
    bounds = bounds_text(found.interval, decimals_of(found.interval))
    return (
        f"{on}not shown that {pair.b} is no worse than {pair.a} within {found.margin:g} "
        f"({pair.b} - {pair.a}: {100 * found.confidence:.3g}% interval {bounds})."
    )
