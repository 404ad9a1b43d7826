"""What `compare` returns: a verdict in words, a table, JSON, LaTeX, and the condition of a gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rejoinder.comparing.fault_shares import FaultCheck, FaultShares, not_judged_without_texts
from rejoinder.comparing.labels import LabelDifference, LabelMeans
from rejoinder.comparing.tables import (
    all_in_words,
    all_means,
    all_tests,
    how_to_read,
    people_tables,
    slice_table,
    standings,
    two_systems,
)
from rejoinder.comparing.tests import Ranking
from rejoinder.comparing.verdict import FailIf, Gate, Verdict, gate, needed_text, verdict_words
from rejoinder.data.replay import Replay
from rejoinder.errors import UnknownNameError
from rejoinder.metrics.base import Metric
from rejoinder.scoring.advice import meaning
from rejoinder.scoring.reliability import remedy
from rejoinder.scoring.table import MOST_PLOTTED, DecidingMetric, ScoreTable
from rejoinder.show.document import (
    ALL_FORMS,
    TERMINAL,
    Block,
    Document,
    Made,
    Result,
    Say,
    Section,
    SystemName,
    VerdictText,
    renamed,
)
from rejoinder.show.text import counted, names_text, number_text, share_text, system_label

if TYPE_CHECKING:
    from rejoinder.show.figures import IntervalPanel
    from rejoinder.show.plots import Figure

# The result of a comparison of systems: a verdict in words, a table, JSON and LaTeX.


PLOTS = ("means", "differences")
"""The kinds of figure that a comparison can draw."""


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Pairwise comparisons of systems; `str()` is the verdict in words, followed by a short table.

    One metric is *primary*: it decides which system is better. With labels, people decide. The other metrics are
    secondary evidence.
    """

    table: ScoreTable
    verdicts: tuple[Verdict, ...]
    """Of each metric, the primary one first, and each pair of systems."""
    primary: DecidingMetric
    notes: tuple[str, ...] = ()
    """Those of the table, and those about the comparison."""
    skipped: tuple[str, ...] = ()
    """Messages about records that could not be read and were skipped."""
    rankings: tuple[Ranking, ...] = ()
    """One per metric that says which of three or more systems is better."""
    human: LabelMeans | None = None
    """Estimated ratings, where there are labels."""
    margin: float | None = None
    """Differences below it do not matter, where one was given."""
    slices: Mapping[str, Mapping[str, tuple[Verdict, ...]]] = field(default_factory=dict)
    """Field -> its value -> the verdicts of the primary metric on those replies."""
    coverage: tuple[str, ...] = ()
    """Which replies are in another language than the users write; how replies are paired, where not by context; which
    are not compared, and why."""
    faults: FaultShares | None = None
    """How often each fault was found in the replies of each system, where there are texts."""
    replies: Replay | None = field(default=None, compare=False, repr=False)
    """The replies, in the order of the table, where a report can read their texts; a copy that was pickled has none."""
    metrics: Mapping[str, Metric] = field(default_factory=dict, compare=False, repr=False)
    """Metric label -> the metric, of those that give reasons for their scores."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "replies": None, "metrics": {}}

    def without_texts(self) -> Comparison:
        """The same comparison, whose report has no texts."""
        return replace(self, replies=None)

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return self.table.system_names

    def system(self, name: str) -> SystemName:
        """A system's name with its colour."""
        return SystemName(name, self.systems.index(name))

    @property
    def decisive_verdicts(self) -> tuple[Verdict, ...]:
        """Those of the primary metric."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric == self.primary.metric)

    @property
    def secondary_verdicts(self) -> tuple[Verdict, ...]:
        """Those of the other metrics."""
        return tuple(verdict for verdict in self.verdicts if verdict.metric != self.primary.metric)

    @property
    def _decisive(self) -> Sequence[Verdict | LabelDifference]:
        return self.human.differences if self.human else self.decisive_verdicts

    @property
    def decided(self) -> bool:
        """Whether the scores can carry a verdict: False where the primary metric cannot judge the replies.

        With labels, people decide, whatever metric is combined with them.
        """
        return self.human is not None or not any(verdict.outcome == "doubtful" for verdict in self.decisive_verdicts)

    @property
    def remedy(self) -> str:
        """What would decide where the metric cannot."""
        return remedy(getattr(getattr(self.replies, "examples", None), "files", ()))

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
        """The systems by the primary metric; as given where it cannot judge the replies of one."""
        metric = self.primary.metric
        if self.table.doubt(metric):
            return list(self.systems)
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
        from rejoinder.show.plots import Figure

        label = self.primary.metric if metric is None else metric
        self.table[label]  # an unknown name is an error that lists the near ones
        if kind not in PLOTS:
            raise UnknownNameError("kind of plot", kind, PLOTS)
        panel = self.table.means_panel(label, self.best_first) if kind == "means" else self._differences(label)
        return Figure.of(panel.title, [panel])

    def _differences(self, metric: str) -> IntervalPanel:
        from rejoinder.show.figures import IntervalPanel

        rows = tuple(
            (f"{pair.b} minus {pair.a}", pair.result.difference) for pair in self.verdicts if pair.metric == metric
        )
        return IntervalPanel(f"Difference in mean {metric} with 95 % intervals", rows, (0,) * len(rows))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The verdict, one sentence each; the first says which system is better, the next what was not compared."""
        if self.human is not None:
            answer = _of_people(self, self.human)
        elif not self.decided:
            answer = _undecided(self)
        else:
            answer = _of_two(self) if len(self.systems) == 2 else _of_several(self)
        faults = self.faults.sentences(self.systems) if self.faults else []
        return (next(answer), *(f"{told}." for told in self.coverage), *faults, *answer)

    def headline(self) -> list[str]:
        """The verdict, one sentence each, as it was named before 0.2."""
        renamed("headline()", "sentences")
        return list(self.sentences)

    def gate(self, fail_if: FailIf) -> Gate:
        """Whether the second system passes as a check: see `gate`."""
        return gate(self, fail_if)

    def check_faults(self, *specs: str) -> tuple[FaultCheck, ...]:
        """Whether the second system has some faults no more often than the first: "cut-off", or with a margin in
        percentage points, "cut-off:2"."""
        return tuple(self.faults.check(spec) if self.faults else not_judged_without_texts(spec) for spec in specs)

    def document(self) -> Document:
        """The verdict; the means, people's estimated means and slices; single replies; all tests."""
        table = self.table
        means: list[Block] = [Made(lambda: [Say([how_to_read(self)]), all_means(self)])]
        means.append(two_systems(self) if len(self.systems) == 2 else standings(self))
        means += people_tables(self.human, self) if self.human else []
        slices = [slice_table(self, name) for name in self.slices]
        tests = f"All {counted(len(self.verdicts), 'test')}" if len(self.verdicts) > 1 else "The test"
        full = Made(lambda: [all_tests(self), *all_in_words(self)], only=ALL_FORMS, full=True)
        return Document(
            question_of(self.systems).removesuffix("?"),
            [
                VerdictText(self.sentences, only=TERMINAL),
                Made(self._page_answer),
                Section("The comparison", means, "Comparison"),
                *(self.faults.section(self.systems) if self.faults else []),
                *([Section(f"By {names_text(list(self.slices))}", slices, "Slices", folded=True)] if slices else []),
                Made(self._page_blocks),
                Section(tests, [full], "Tests", folded=True),
            ],
            question=question_of(self.systems),
            counts=table.counts,
            signatures=table.signatures,
            seed=table.seed,
            resamples=table.resamples,
        )

    def _page_answer(self) -> list[Block]:
        """The verdict beside the figure of the means."""
        table, primary, order = self.table, self.primary.metric, self.best_first
        lower = "" if table.higher_is_better.get(primary, True) else ", lower is better"
        more = len(order) - MOST_PLOTTED
        rest = f" The {more} others are in the table below." if more > 0 else ""
        doubt = f" {primary} cannot judge these replies." if table.doubt(primary) else ""
        return [
            VerdictText(
                self.sentences,
                table.means_panel(primary, order[:MOST_PLOTTED]),
                f"Means with 95 % intervals{lower}.{rest}{doubt}",
                meaning(table, told=primary),
                visible=2 + len(self.coverage),
                next_step=_next_step(self),
            )
        ]

    def _page_blocks(self) -> Sequence[Block]:
        from rejoinder.scoring.page import page_blocks

        return page_blocks(replace(self.table, replies=self.replies, reasoning=self.metrics), self.primary.metric)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **replace(self.table, slices=()).to_dict(),
            **self.answer,
            "better": self.better,
            "unbeaten": list(self.unbeaten),
            "primary": self.primary.metric,
            "primary_reason": self.primary.reason,
            "decided_by": "people" if self.human else self.primary.metric,
            "margin": self.margin,
            "faults": self.faults.to_dict() if self.faults else None,
            "coverage": list(self.coverage),
            "warnings": list(self.notes),
            "skipped": list(self.skipped),
            "comparisons": [verdict.to_dict() for verdict in self.verdicts],
            "rankings": [ranking.to_dict() for ranking in self.rankings],
            "human": self.human.to_dict() if self.human else None,
            "slices": {
                name: {value: [verdict.to_dict() for verdict in verdicts] for value, verdicts in values.items()}
                for name, values in self.slices.items()
            },
        }


# The answer of a whole comparison in words: one verdict, how sure and how large it is, and what is not decided.
#
# All forms take their words from `Comparison.sentences`; what is said of a pair of systems comes from `verdict`.


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


def _next_step(comparison: Comparison) -> str:
    """What to do after the verdict, where the verdict itself does not say it."""
    first = comparison.decisive_verdicts[0]
    if not comparison.decided or first.outcome == "identical":
        return ""
    if comparison.better is not None or first.outcome in ("equivalent", "no worse", "higher"):
        sees = (
            f": `rejoinder metrics {first.metric}` says what this metric does not see" if not comparison.human else ""
        )
        return f"What to do next: read the replies below, also those that speak against it{sees}."
    if comparison.human is not None:
        return "What to do next: let people rate more replies, or compare more contexts."
    return (
        "What to do next: compare more contexts, or let people rate some replies (`rejoinder sample`). If small "
        "differences do not matter, `--margin` says whether this one is small."
    )


def _undecided(comparison: Comparison) -> Iterator[str]:
    metric = comparison.primary.metric
    yield f"Not decided: {comparison.table.doubt(metric)}."
    yield comparison.remedy
    yield f"The numbers below are what {metric} gives, not what people would say."
    yield from secondary_evidence(comparison)


def _of_two(comparison: Comparison) -> Iterator[str]:
    (verdict,) = comparison.decisive_verdicts
    found = verdict_words(verdict.facts, f" on {verdict.metric}")
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
    wins = (
        f"; {verdict.a} is {word} in {share_text(shares.losses)} of them, {verdict.b} in {share_text(shares.wins)}, "
        f"and {share_text(shares.ties)} are tied"
    )
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
        significant = sum(verdict.significant for verdict in verdicts)
        yield (
            f"{metric} describes replies and does not say which are better: {significant} of "
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
        closest = min((v for v in verdicts if v.better == best), key=lambda verdict: verdict.facts.gap.estimate)
        yield f"Its smallest lead: {verdict_words(closest.facts)}."


def _open_pairs(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """How much is not decided, and what would settle the pair with the smallest p-value."""
    undecided = [verdict for verdict in verdicts if verdict.better is None]
    if not undecided:
        return
    yield f"In {len(undecided)} of {counted(len(verdicts), 'pair')}, the systems do not differ significantly."
    known = [verdict for verdict in undecided if np.isfinite(verdict.p_adjusted)]
    closest = min(known, key=lambda verdict: verdict.result.p_value, default=None)
    needed = "" if closest is None else needed_text(closest).removeprefix("; ")
    if closest is not None and needed:
        yield f"The pair closest to a significant difference is {closest.a} and {closest.b}: {needed}."


def _of_people(comparison: Comparison, human: LabelMeans) -> Iterator[str]:
    systems = comparison.table.system_names
    if len(systems) == 2:
        yield human.differences[0].sentence()
    else:
        by_people = f" by people's ratings ({human.dimension})"
        yield f"{_best_of(comparison.better, comparison.unbeaten, systems, by_people)}."
        undecided = sum(difference.better is None for difference in human.differences)
        if undecided:
            yield f"{undecided} of {counted(len(human.differences), 'pair')} of systems are not decided."
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
    undecided = [voice.name for voice in comparison.voices if voice.tested and not voice.winners and not voice.doubtful]
    mixed = [voice.name for voice in comparison.voices if len(voice.winners) > 1]
    if undecided:
        parts.append(
            f"{'no single best system' if several else 'no significant difference'} on {names_text(undecided)}"
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


def question_of(systems: Sequence[str]) -> str:
    """What a comparison of these systems answers."""
    if len(systems) == 2:
        return f"Which is better: {system_label(systems[0])} or {system_label(systems[1])}?"
    return f"Which of the {len(systems)} systems is best?"
