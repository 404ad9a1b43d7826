"""How often a retrieval model ranks the true reply among the first k of n candidates: recall@k of n.

The other candidates are random replies of other dialogues, as in the test of Lowe et al. 2015 (The Ubuntu Dialogue
Corpus): 1 in 10 R@1 and R@5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.data.negatives import Place, places_of
from rejoinder.errors import CallError, NeedsError
from rejoinder.options import RESAMPLES
from rejoinder.replies.corpus import Retrieval
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_intervals
from rejoinder.types import Dialogue, Scores

_TRIES = 100


@dataclass(frozen=True)
class Recall:
    """recall@k of n for several k, each with its confidence interval."""

    candidates: int
    contexts: int
    at: dict[int, Interval]
    """k -> the share of contexts whose true reply is among the first k."""

    def __str__(self) -> str:
        shown = [f"@{k} {found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]" for k, found in self.at.items()]
        return f"recall of {self.candidates}: {', '.join(shown)} ({self.contexts} contexts)"


def recall(
    model: Retrieval,
    dialogues: Iterable[Dialogue],
    *,
    candidates: int = 10,
    at: Sequence[int] = (1, 5),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Recall:
    """recall@k for each k of `at`, over every reply in the dialogues; intervals resample whole dialogues."""
    if candidates < 2 or not at or not all(1 <= k < candidates for k in at):
        raise CallError(f"recall@{list(at)} of {candidates}: expected each k from 1 to one less than the candidates")
    places = places_of(dialogues)
    offered = drawn_candidates(places, candidates, seed)
    scored = model.candidate_scores([place.context for place in places], offered)
    shares = np.array([[chance_of_rank(scores, k) for k in at] for scores in scored])
    homes = {id(place.dialogue): number for number, place in enumerate(places)}
    found = mean_intervals(shares, [homes[id(place.dialogue)] for place in places], resamples, seed=seed)
    return Recall(candidates, len(places), dict(zip(at, found, strict=True)))


def drawn_candidates(places: Sequence[Place], candidates: int, seed: int) -> list[list[str]]:
    """For each place its true reply, then replies of other dialogues; all candidates of a place are different."""
    if len({place.response for place in places}) < candidates:
        raise NeedsError(f"recall of {candidates} needs at least {candidates} different replies")
    rng = np.random.default_rng(seed)
    return [_drawn(places, place, candidates, rng) for place in places]


def chance_of_rank(scores: Scores, k: int) -> float:
    """The probability that the first candidate is among the best k, if ties are ordered at random."""
    above, equal = int((scores > scores[0]).sum()), int((scores == scores[0]).sum())
    return float(np.clip((k - above) / equal, 0.0, 1.0))


def _drawn(places: Sequence[Place], place: Place, candidates: int, rng: np.random.Generator) -> list[str]:
    chosen = {place.response: None}
    for _ in range(_TRIES):
        for number in rng.integers(len(places), size=candidates - len(chosen)).tolist():
            if places[number].dialogue is not place.dialogue:
                chosen.setdefault(places[number].response)
        if len(chosen) == candidates:
            return list(chosen)
    raise NeedsError(f"recall of {candidates} needs {candidates} different replies of other dialogues")
