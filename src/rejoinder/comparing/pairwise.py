"""The preferences of a judge that is shown two replies, and what they say about the systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, overload

import numpy as np

from rejoinder.comparing.preferences import PreferencePair, Preferences, ranked_preferences, rate_text
from rejoinder.comparing.systems import join_systems
from rejoinder.comparing.verdict import FailIf, Gate
from rejoinder.data.judged import Preference, context_key
from rejoinder.data.records import FieldMap, Fields
from rejoinder.data.source import Source
from rejoinder.errors import CallError, NeedsError
from rejoinder.judge.asking import EndpointAnswer as JudgeAnswer
from rejoinder.judge.asking import JudgeQuestion
from rejoinder.judge.cost import AskingPlan, CostPlan
from rejoinder.judge.judge import Judge, family_notes, name_host
from rejoinder.judge.prompt import letter_masses, pair_messages
from rejoinder.options import (
    FIELDS_OPTION,
    RESAMPLES,
    MaxCost,
    OnError,
    Option,
    Quiet,
    Resamples,
    Seed,
    UnitOption,
    text,
    verb,
)
from rejoinder.registry import load
from rejoinder.scoring.run import judges_limited
from rejoinder.scoring.table import json_ready
from rejoinder.show.document import Document, Result, Say, VerdictText
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.text import counted, share_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval
from rejoinder.types import Example, Unit

# Which of two replies to one context a judge prefers.
#
# Judges tend to prefer the reply that they read first, or second (Zheng et al. 2023, "Judging LLM-as-a-judge"). So each
# pair is shown in both orders: a reply wins only where both answers prefer it, and anything else is a tie.


FIRST, SECOND, NEITHER = "ABC"
"""The letters that a judge answers with."""
_LETTER_TOKENS = 4

AskedPair = tuple[Example, Example]


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """A judge's opinion of two replies, a and b."""

    outcome: str
    """"a", "b" or "tie"; "" where an answer could not be used."""
    letters: tuple[str, str] | None = None
    """The answers with a shown first, and with b shown first; None where the judge was not asked or gave none."""

    @property
    def flipped(self) -> bool:
        """Whether the judge prefers one reply in one order and the other reply in the other order."""
        return self.letters in ((FIRST, FIRST), (SECOND, SECOND))

    @property
    def half_flipped(self) -> bool:
        """Whether the judge prefers a reply in one order only."""
        return self.letters is not None and (self.letters[0] == NEITHER) != (self.letters[1] == NEITHER)


def preferred(judge: Judge, pairs: Sequence[AskedPair]) -> list[PairVerdict]:
    """The judge's opinion of each pair; empty and equal replies are decided without it."""
    found = [_without_asking(a, b) for a, b in pairs]
    asked = [row for row, verdict in enumerate(found) if verdict is None]
    if asked:
        name_host(judge.asker.endpoint.host)
    answers = judge.asker.ask([one for row in asked for one in _questions(judge, pairs[row])], _masses, "judging pairs")
    letters = [_letter(samples) for samples in answers]
    for place, row in enumerate(asked):
        found[row] = _verdict(letters[2 * place], letters[2 * place + 1])
    return [verdict for verdict in found if verdict is not None]


def planned_pairs(judge: Judge, pairs: Sequence[AskedPair]) -> AskingPlan:
    """What judging the pairs would send."""
    asked = [pair for pair in pairs if _without_asking(*pair) is None]
    return judge.asker.planned([one for pair in asked for one in _questions(judge, pair)])


def _without_asking(a: Example, b: Example) -> PairVerdict | None:
    """The outcome where it needs no judge; None where it does."""
    filled = bool(a.response.strip()), bool(b.response.strip())
    if filled[0] != filled[1]:
        return PairVerdict("a" if filled[0] else "b")
    return PairVerdict("tie") if a.response.strip() == b.response.strip() else None


def _questions(judge: Judge, pair: AskedPair) -> list[JudgeQuestion]:
    """Both orders."""
    a, b = pair
    shown = [pair_messages(judge.rubric_read, *order, references=judge.shows_references) for order in ((a, b), (b, a))]
    return [JudgeQuestion(tuple(messages), _LETTER_TOKENS) for messages in shown]


def _masses(answer: JudgeAnswer) -> list[float] | None:
    return letter_masses(answer, FIRST + SECOND + NEITHER)


def _letter(samples: Sequence[list[float] | None]) -> str | None:
    """The letter with the largest mean probability; neither where the two replies have the same."""
    usable = [masses for masses in samples if masses is not None]
    if not usable:
        return None
    first, second, neither = np.mean(usable, axis=0).tolist()
    if first == second or neither >= max(first, second):
        return NEITHER
    return FIRST if first > second else SECOND


def _verdict(with_a_first: str | None, with_b_first: str | None) -> PairVerdict:
    if with_a_first is None or with_b_first is None:
        return PairVerdict("")
    letters = (with_a_first, with_b_first)
    outcome = {(FIRST, SECOND): "a", (SECOND, FIRST): "b"}.get(letters, "tie")
    return PairVerdict(outcome, letters)


# Which system does a judge prefer? Replies to the same context are shown to a language model in pairs.


_JUDGES = "judges (language models)"
_OWN_FIELDS = ("id", "context_id", "context")


@overload
def prefer(*preferences: Any, judge: None = None, **settings: Any) -> Preferences: ...


@overload
def prefer(*preferences: Any, judge: str | Judge, **settings: Any) -> PairwisePreferences: ...


@verb  # type: ignore[misc]  # the overloads leave out the arguments that all results share
def prefer(
    *preferences: Annotated[
        Any,
        Option(
            "preferences between two replies: records with the systems `a` and `b`, the `winner` (a system's name, "
            "'tie' or 'both bad'), and optionally context, context_id, rater, response_a, response_b; with --judge, "
            "the replies of two or more systems",
            many="+",
        ),
    ],
    judge: Annotated[
        str | Judge | None,
        Option(
            "ask a judge which of two replies to one context is better, in both orders: --judge "
            "'judge(model=..., url=...)'",
            metavar="JUDGE",
            group=_JUDGES,
        ),
    ] = None,
    model: Annotated[
        str,
        Option(
            "davidson estimates how common ties are (default); bradley-terry counts a tie as half a win for each",
            choices=("davidson", "bradley-terry"),
        ),
    ] = "davidson",
    pair_by: Annotated[
        str | None,
        Option(
            "with --judge: pair the replies of different systems by equal values of this field (default: context_id, "
            "else equal context)",
            text,
            metavar="FIELD",
            group=_JUDGES,
        ),
    ] = None,
    unit: UnitOption = "reply",
    max_cost: MaxCost = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    resamples: Resamples = RESAMPLES,
    quiet: Quiet = True,
) -> Preferences | PairwisePreferences:
    """Rank the systems of pairwise preferences: a file, a data frame or records with `a`, `b` and `winner`.

    `model` is "davidson", which has a parameter for ties, or "bradley-terry", where a tie is half a win for each.
    Intervals resample contexts (`context_id`, else equal context text; without contexts, single preferences).

    With a `judge`, the systems are those of two or more files, lists or data frames of replies, or of one that
    holds several systems, and the judge says which of two replies to the same context (`context_id`, else equal
    context text; `pair_by` names another field) is better, in both orders. A reply wins where both answers prefer it;
    anything else is a tie. `max_cost` ends the run before the judge has cost more.
    """
    if judge is None:
        if pair_by is not None or max_cost is not None or unit != "reply":
            raise CallError("pair_by, unit and max_cost are for a judge, that is asked about pairs: expected a judge")
        if len(preferences) != 1:
            raise CallError(f"expected one set of preferences, or a judge and replies, found {len(preferences)}")
        return ranked_preferences(
            preferences[0], model=model, fields=fields, on_error=on_error, seed=seed, resamples=resamples
        )
    asked = judge_of(judge)
    with judges_limited([asked], max_cost, quiet=quiet):
        return _judged(asked, preferences, model, pair_by, unit, fields, on_error, seed, resamples)


def _judged(
    asked: Judge,
    origins: Sequence[Any],
    model: str,
    pair_by: str | None,
    unit: Unit,
    fields: Fields | None,
    on_error: OnError,
    seed: int,
    resamples: int,
) -> PairwisePreferences:
    """The systems as the judge prefers them."""
    pairs, skipped = pairs_of(origins, pair_by=pair_by, fields=fields, on_error=on_error, unit=unit)
    verdicts = preferred(asked, pairs)
    usable = [(pair, verdict) for pair, verdict in zip(pairs, verdicts, strict=True) if verdict.outcome]
    if not usable:
        raise NeedsError(f"{asked.model} gave no answer that could be used to any of the {len(pairs)} pairs")
    choices = [
        Preference(a, a.system, b.system, verdict.outcome, responses=(a.response, b.response))
        for (a, b), verdict in usable
    ]
    ranked = ranked_preferences(choices, model=model, fields=None, on_error="raise", seed=seed, resamples=resamples)
    family = family_notes(asked.model, {one.system for pair in pairs for one in pair})
    return PairwisePreferences(
        ranked,
        judge=asked.model,
        signature=asked.signature,
        flips=flips_of([pair for pair, _ in usable], [verdict for _, verdict in usable], seed, resamples),
        unusable=len(pairs) - len(usable),
        notes=(*ranked.notes, *asked.notes(), *family),
        skipped=skipped,
    )


def pair_costs(
    *replies: Any,
    judge: str | Judge,
    pair_by: str | None = None,
    unit: Unit = "reply",
    fields: Fields | None = None,
    on_error: OnError = "raise",
) -> CostPlan:
    """What `prefer` would send to the judge; nothing is sent."""
    asked = judge_of(judge)
    plan = planned_pairs(asked, pairs_of(replies, pair_by=pair_by, fields=fields, on_error=on_error, unit=unit)[0])
    return CostPlan({f"{asked.model} at {asked.asker.endpoint.host}": plan})


def judge_of(judge: str | Judge) -> Judge:
    """The judge that is named; a CallError if it is something else."""
    found = load(judge) if isinstance(judge, str) else judge
    if not isinstance(found, Judge):
        raise CallError(f"{judge} does not compare replies in pairs: expected judge(model=..., url=...)")
    return found


def pairs_of(
    origins: Sequence[Any], *, pair_by: str | None, fields: Fields | None, on_error: OnError, unit: Unit = "reply"
) -> tuple[list[AskedPair], tuple[str, ...]]:
    """All pairs of replies by different systems to one context, and messages about records that were left out."""
    if not origins or sum(isinstance(origin, str) and origin == "-" for origin in origins) > 1:
        raise CallError("expected files of replies, at most one of them - for standard input")
    given = FieldMap.given(fields)
    own = next((name for name in _OWN_FIELDS if pair_by in (name, given.of(name))), None)
    if pair_by is not None and own is None:  # a field that is not one of ours is read as the context's id
        given, own = FieldMap({**given.names, "context_id": pair_by}, given.separator), "context_id"
    with ExitStack() as stack:
        joined, _ = join_systems(
            origins,
            lambda some: [stack.enter_context(closing(Source(one, given, on_error, unit=unit))) for one in some],
        )
        pairs = list(pairs_in(joined, own))
        skipped = tuple(str(error) for source in joined.sources for error in source.skipped.values())
    if not pairs:
        raise NeedsError("no two systems replied to the same context: expected contexts that they share")
    return pairs, skipped


def pairs_in(examples: Any, pair_by: str | None = None) -> Iterator[AskedPair]:
    """All pairs of replies by different systems to one context; replies without a context are left out."""
    contexts: dict[object, dict[str, list[Example]]] = {}
    for example in examples:
        if example.context:
            key = getattr(example, pair_by) if pair_by else context_key(example)
            if not key:
                raise CallError(f"cannot pair by {pair_by!r}: example {example.id!r} of {example.system!r} has none")
            contexts.setdefault(key, {}).setdefault(example.system, []).append(example)
    for replies in contexts.values():
        for a, b in combinations(sorted(replies), 2):
            # Several replies of a system to one context are paired in their order.
            yield from zip(replies[a], replies[b], strict=False)


def flips_of(pairs: Sequence[AskedPair], verdicts: Sequence[PairVerdict], seed: int, resamples: int) -> Flips | None:
    """How often the order of the replies decides; None where the judge was asked about no pair."""
    asked = [row for row, verdict in enumerate(verdicts) if verdict.letters is not None]
    if not asked:
        return None
    codes: dict[object, int] = {}
    contexts = np.array([codes.setdefault(context_key(pairs[row][0]), len(codes)) for row in asked])
    flipped = np.array([verdicts[row].flipped for row in asked], np.float64)
    letters = [letter for row in asked for letter in (verdicts[row].letters or ()) if letter != NEITHER]
    return Flips(
        mean_interval(flipped, contexts, resamples, seed=seed, limits=(0.0, 1.0)),
        half=float(np.mean([verdicts[row].half_flipped for row in asked])),
        first=float(np.mean([letter == FIRST for letter in letters])) if letters else float("nan"),
        pairs=len(asked),
    )


# The result of comparing systems by a judge's preferences: verdict, tables, JSON, LaTeX.


MANY_FLIPS = 0.3
"""The flip rate from which on the verdict has a note. A judge that answers at random with A or B flips half."""


@dataclass(frozen=True, slots=True)
class Flips:
    """How often a judge's opinion depends on the order of the replies."""

    rate: Interval
    """The share of pairs with opposite preferences in the two orders; the interval resamples contexts."""
    half: float
    """The share of pairs with a preference in one order and none in the other."""
    first: float
    """Of all answers that prefer a reply, the share that prefers the one shown first; .5 without position bias."""
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"rate": asdict(self.rate), "half": self.half, "first": self.first, "pairs": self.pairs}

    def __str__(self) -> str:
        return (
            f"Flip rate {rate_text(self.rate)}: the share of {counted(self.pairs, 'pair')} whose preferred reply "
            f"changes with the order. In {share_text(self.half)} of pairs there is a preference in one order only. "
            f"The reply shown first is preferred in {share_text(self.first)} of answers that prefer one."
        )


@dataclass(frozen=True, repr=False)
class PairwisePreferences(Result):
    """Systems ranked by a judge's preferences."""

    ranked: Preferences
    judge: str
    """The judge's model."""
    signature: str
    flips: Flips | None
    """None where every pair was decided without asking: equal or empty replies."""
    unusable: int = 0
    """Pairs that are left out because an answer could not be used."""
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @cached_property
    def better(self) -> str | None:
        """The system that the judge prefers significantly to every other one; None if there is none, or if the judge
        contradicts itself too often."""
        if not self.decided:
            return None
        best, *rest = (row.system for row in self.ranked.systems)
        pairs = [self.ranked.pair(best, other) for other in rest]
        return best if all(pair is not None and pair.significant for pair in pairs) else None

    @property
    def sentences(self) -> list[str]:
        """The answer, and what limits it."""
        said = self.ranked.said(f"The judge {self.judge} prefers")
        if self.flips is not None and self.flips.rate.estimate >= MANY_FLIPS:
            share = share_text(self.flips.rate.estimate)
            what = f"the judge contradicts itself in {share} of pairs when the replies change places"
            said.insert(0, f"Not decided: {what}, so that its preferences mean little.")
        said.append("This is the judge's preference; only labels by people show whether they agree.")
        return said

    def gate(self, fail_if: FailIf, *, baseline: str) -> Gate:
        """As `Preferences.gate`; not decided where the judge contradicts itself too often."""
        found = self.ranked.gate(fail_if, baseline=baseline)
        if self.ranked.decided and not self.decided:
            return Gate(fail_if, passed=False, reason=self.sentences[0].removeprefix("Not decided: "), decided=False)
        return replace(found, reason=self.sentences[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return json_ready(
            {
                **self.ranked.to_dict(),
                "data": "judge",
                **self.answer,
                "better": self.better,
                "judge": self.judge,
                "signature": self.signature,
                "flips": self.flips.to_dict() if self.flips else None,
                "unusable": self.unusable,
                "warnings": list(self.notes),
                "skipped": list(self.skipped),
            }
        )

    @property
    def decided(self) -> bool:
        """Whether there are enough contexts, and the judge does not contradict itself too often."""
        return self.ranked.decided and (self.flips is None or self.flips.rate.estimate < MANY_FLIPS)

    def document(self) -> Document:
        """The verdict, how far the judge can be relied on, and the ranking."""
        ranked = self.ranked.document()
        said = [_two_systems(self.ranked.pairs[0])] if len(self.ranked.pairs) == 1 else []
        if self.flips is not None:
            said.append(Say([str(self.flips)], fit=False))
        if self.unusable:
            said.append(Say([f"{counted(self.unusable, 'pair')} left out: an answer could not be used."], fit=False))
        panel = IntervalPanel("Strength by the judge", tuple((row.system, row.strength) for row in self.ranked.systems))
        blocks = [VerdictText(self.sentences, panel, fit=False), *said, *self.ranked.blocks()]
        return replace(
            ranked, title=f"Preferences of {self.judge}", blocks=blocks, signatures={self.judge: self.signature}
        )


def _two_systems(pair: PreferencePair) -> Say:
    counts = f"{pair.wins} wins, {pair.ties} ties, {pair.losses} losses"
    said = [f"{pair.b} wins against {pair.a}: {rate_text(pair.win_rate)} (ties count half; {counts})."]
    if pair.controlled is not None:
        said.append(f"At equal lengths of the replies: {rate_text(pair.controlled.controlled)}.")
    return Say(said, lines=True, fit=False)
