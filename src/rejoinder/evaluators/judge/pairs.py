"""Which of two replies to one context a judge prefers.

Judges tend to prefer the reply that they read first, or second (Zheng et al. 2023, "Judging LLM-as-a-judge"). So each
pair is shown in both orders: a reply wins only where both answers prefer it, and anything else is a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.evaluators.judge.answers import letter_masses
from rejoinder.evaluators.judge.asking import Answer, Question
from rejoinder.evaluators.judge.cost import Plan
from rejoinder.evaluators.judge.judge import Judge, name_host
from rejoinder.evaluators.judge.prompt import pair_messages
from rejoinder.types import Example

FIRST, SECOND, NEITHER = "ABC"
"""The letters that a judge answers with."""
_LETTER_TOKENS = 4

Pair = tuple[Example, Example]


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


def preferred(judge: Judge, pairs: Sequence[Pair]) -> list[PairVerdict]:
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


def planned_pairs(judge: Judge, pairs: Sequence[Pair]) -> Plan:
    """What judging the pairs would send."""
    asked = [pair for pair in pairs if _without_asking(*pair) is None]
    return judge.asker.planned([one for pair in asked for one in _questions(judge, pair)])


def _without_asking(a: Example, b: Example) -> PairVerdict | None:
    """The outcome where it needs no judge; None where it does."""
    filled = bool(a.response.strip()), bool(b.response.strip())
    if filled[0] != filled[1]:
        return PairVerdict("a" if filled[0] else "b")
    return PairVerdict("tie") if a.response.strip() == b.response.strip() else None


def _questions(judge: Judge, pair: Pair) -> list[Question]:
    """Both orders."""
    a, b = pair
    shown = [pair_messages(judge.rubric_read, *order, references=judge.shows_references) for order in ((a, b), (b, a))]
    return [Question(tuple(messages), _LETTER_TOKENS) for messages in shown]


def _masses(answer: Answer) -> list[float] | None:
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
