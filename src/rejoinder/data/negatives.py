"""Unsuitable replies made from dialogues, and broken ones made from good replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import CallError
from rejoinder.types import Dialogue

# Unsuitable replies made from dialogues: a model learns to rank them below the true reply.
#
# Each kind teaches one thing. A *random* utterance teaches topic; another turn of the *same dialogue* teaches order; an
# *echo* of the context, that repetition is not an answer; a *generic* reply, that a phrase which fits everywhere says
# little; *shuffled*, *repeated* and *garbled* words and a *truncated* reply teach form; a *neighbour*, an utterance
# similar to the true reply, teaches small differences.


_GENERIC_KINDS = 100
_TRIES = 8


class Place(NamedTuple):
    """A turn of a dialogue that replies to what comes before it."""

    dialogue: Dialogue
    turn: int

    @property
    def context(self) -> tuple[str, ...]:
        """What the turn replies to, oldest first."""
        return self.dialogue.turns[: self.turn]

    @property
    def speakers(self) -> tuple[str, ...]:
        """One label per context turn, or none."""
        return self.dialogue.speakers[: self.turn]

    @property
    def response(self) -> str:
        """The true reply."""
        return self.dialogue.turns[self.turn]


@dataclass(frozen=True, kw_only=True)
class NegativeMixture:
    """The weight of each kind; only the proportions matter."""

    random: float = 0.4
    same_dialogue: float = 0.15
    echo: float = 0.1
    generic: float = 0.1
    shuffled: float = 0.05
    truncated: float = 0.05
    neighbour: float = 0.15
    repeated: float = 0.0
    garbled: float = 0.0

    def __post_init__(self) -> None:
        weights = self.weights
        if not all(0 <= weight < np.inf for weight in weights.values()) or not sum(weights.values()):
            raise CallError(f"the weights of negatives must be 0 or more, and one of them positive; found {weights}")

    @property
    def weights(self) -> dict[str, float]:
        """Kind -> weight."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def places_of(dialogues: Iterable[Dialogue]) -> list[Place]:
    """Every turn that replies to another speaker; without speaker labels, every turn but the first."""
    return [
        Place(dialogue, turn)
        for dialogue in dialogues
        for turn in range(1, len(dialogue.turns))
        if dialogue.turns[turn].strip()
        and not (dialogue.speakers and dialogue.speakers[turn] == dialogue.speakers[turn - 1])
    ]


class Negatives:
    """Draws unsuitable replies for the places of one corpus.

    `neighbours` has for each place the indices of places with similar replies, padded with -1: the result of
    `near_neighbours`. If a kind cannot be made (a single word cannot be shuffled), a random reply is drawn instead.
    """

    def __init__(
        self,
        places: Sequence[Place],
        mixture: NegativeMixture | None = None,
        neighbours: NDArray[np.int64] | None = None,
    ) -> None:
        if len({_bare(place.response) for place in places}) < 2:
            raise CallError("negatives are drawn from other replies: expected at least two different replies")
        self.places = places
        weights = dict((mixture or NegativeMixture()).weights)
        if neighbours is None:
            weights["random"] += weights.pop("neighbour")
        self._neighbours = neighbours
        self._kinds = list(weights)
        self._shares = np.array(list(weights.values())) / sum(weights.values())
        counted = Counter(_bare(place.response) for place in places).most_common(_GENERIC_KINDS)
        common = {text for text, count in counted if count > 1}
        self._generic = sorted({place.response for place in places if _bare(place.response) in common})
        self._makers: dict[str, Callable[[int, np.random.Generator], str]] = {
            "random": self._random,
            "same_dialogue": self._same_dialogue,
            "echo": self._echo,
            "generic": self._generic_reply,
            "shuffled": self._shuffled,
            "truncated": self._truncated,
            "neighbour": self._neighbour,
            "repeated": self._repeated,
            "garbled": self._garbled,
        }

    def draw(self, place: int, rng: np.random.Generator) -> tuple[str, str]:
        """The kind and the text of a negative for the place at this index; never the true reply, never empty."""
        kind = self._kinds[int(rng.choice(len(self._kinds), p=self._shares))]
        truth = _bare(self.places[place].response)
        text = self._makers[kind](place, rng)
        if _bare(text) not in {"", truth}:
            return kind, text
        for _ in range(_TRIES):
            text = self._random(place, rng)
            if _bare(text) not in {"", truth}:
                return "random", text
        return "random", next(other.response for other in self.places if _bare(other.response) != truth)

    def of_kind(self, kind: str, place: int, rng: np.random.Generator) -> str | None:
        """A negative of one kind for the place at this index; None if there is none."""
        text = self._makers[kind](place, rng)
        return None if _bare(text) in {"", _bare(self.places[place].response)} else text

    def _random(self, place: int, rng: np.random.Generator) -> str:
        """A reply from another dialogue, if one is found within a few draws."""
        home = self.places[place].dialogue
        for _ in range(_TRIES):
            other = self.places[int(rng.integers(len(self.places)))]
            if other.dialogue is not home:
                break
        return other.response

    def _same_dialogue(self, place: int, rng: np.random.Generator) -> str:
        """Another turn of the dialogue, except the one before the reply, which would be an echo."""
        dialogue, turn = self.places[place]
        others = [*dialogue.turns[: turn - 1], *dialogue.turns[turn + 1 :]]
        return others[int(rng.integers(len(others)))] if others else ""

    def _echo(self, place: int, rng: np.random.Generator) -> str:
        """The last utterance of the context, or its second half."""
        last = self.places[place].context[-1]
        words = last.split()
        return last if rng.random() < 0.5 or len(words) < 4 else " ".join(words[len(words) // 2 :])

    def _generic_reply(self, _: int, rng: np.random.Generator) -> str:
        return self._generic[int(rng.integers(len(self._generic)))] if self._generic else ""

    def _shuffled(self, place: int, rng: np.random.Generator) -> str:
        words = self.places[place].response.split()
        return " ".join(words[index] for index in rng.permutation(len(words)))

    def _truncated(self, place: int, rng: np.random.Generator) -> str:
        """The first quarter to three quarters of the words."""
        words = self.places[place].response.split()
        return " ".join(words[: int(len(words) * rng.uniform(0.25, 0.75))])

    def _repeated(self, place: int, rng: np.random.Generator) -> str:
        """The reply with its second half repeated once or twice."""
        words = self.places[place].response.split()
        return " ".join([*words, *(words[len(words) // 2 :] * int(rng.integers(1, 3)))])

    def _garbled(self, place: int, rng: np.random.Generator) -> str:
        made = garbled(self.places[place].response, self.places[place].context[-1], rng)
        return "" if made is None else made.text

    def _neighbour(self, place: int, rng: np.random.Generator) -> str:
        if self._neighbours is None:
            return ""
        known = self._neighbours[place][self._neighbours[place] >= 0]
        return self.places[int(rng.choice(known))].response if len(known) else ""


def near_neighbours(
    vectors: NDArray[np.floating], *, nearest: int = 20, keep: int = 5, most: int = 20_000, seed: int = 0
) -> NDArray[np.int64]:
    """For each row the indices of `keep` rows with similar vectors by cosine, padded with -1. (rows, keep)

    They are drawn at random from the `nearest` rows. A zero vector has no neighbours. With more than `most` rows,
    neighbours are searched among a random sample of `most` rows, so that time grows linearly with the rows.
    """
    rng = np.random.default_rng(seed)
    lengths = np.linalg.norm(vectors, axis=1)
    unit = (vectors / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32)
    pool = np.flatnonzero(lengths > 0)
    if len(pool) > most:
        pool = np.sort(rng.choice(pool, most, replace=False))
    found = np.full((len(vectors), keep), -1, np.int64)
    wanted = min(nearest + 1, len(pool))
    for start in range(0, len(vectors) if wanted else 0, 1024):
        cosines = unit[start : start + 1024] @ unit[pool].T
        best = np.argpartition(-cosines, wanted - 1, axis=1)[:, :wanted]
        for offset, columns in enumerate(best):
            row = start + offset
            # Cosine 1 means the same utterance, or one with the same words: as good a reply as the true one.
            near = pool[columns[cosines[offset, columns] < 0.999]]
            near = near[near != row]
            if lengths[row] > 0 and len(near):
                chosen = rng.permutation(near)[:keep]
                found[row, : len(chosen)] = chosen
    return found


def _bare(text: str) -> str:
    """A text in one case, with single spaces between its words."""
    return " ".join(text.casefold().split())


# Replies in broken language, made from good ones, and how much lower they should score.
#
# Cosines and language models alike give a heap of the context's words a high score: an evaluator that learned from them
# has to be shown that broken language is worse.


Garble = Callable[[list[str], Sequence[str], np.random.Generator], list[str]]

SHORTEST = 4
"""Words that a reply must have to be garbled."""

_WRONG_FORMS = MappingProxyType(
    {"is": "are", "are": "is", "was": "were", "were": "was", "am": "is", "do": "does", "does": "do"}
    | {"have": "has", "has": "have", "i": "me", "me": "I", "he": "him", "him": "he", "they": "them"}
    | {"my": "I", "your": "you", "a": "an", "an": "the", "the": "a"}
    | {"to": "for", "for": "to", "in": "of", "of": "in", "at": "by"}
)
"""Word -> one that is wrong in its place."""


class Garbled(NamedTuple):
    """A reply in broken language."""

    text: str
    drop: float
    """How much lower it should score than its source reply, in logits."""


def garbled(reply: str, last_turn: str, rng: np.random.Generator) -> Garbled | None:
    """The reply broken in one of six ways; None if it is too short or would be unchanged."""
    words = reply.split()
    if len(words) < SHORTEST:
        return None
    garble, drop = _WAYS[rng.integers(len(_WAYS))]
    made = garble(words, last_turn.split(), rng)
    return Garbled(" ".join(made), drop) if len(made) > 1 and made != words else None


def _shuffled(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    return _drawn(words, len(words), rng)


def _stammered(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """About half of the words twice."""
    return [word for word in words for _ in range(1 + int(rng.random() < 0.5))]


def _misformed(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Words in wrong forms, function words replaced or left out."""
    made: list[str] = []
    for word in words:
        if word.lower() in _WRONG_FORMS and rng.random() < 0.7:
            made += [_WRONG_FORMS[word.lower()]] if rng.random() < 0.6 else []
        elif len(word) > 3 and word.isalpha() and rng.random() < 0.5:
            made.append(word[:-1] if word.endswith("s") else word + ("s", "ing", "ed")[rng.integers(3)])
        else:
            made.append(word)
    return made


def _mixed(words: list[str], context: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Half of its words and some of the context's, in random order."""
    half = max(1, len(words) // 2)
    both = _drawn(words, half, rng) + _drawn(context, max(2, half), rng)
    return _drawn(both, len(both), rng)


def _circling(words: list[str], context: Sequence[str], rng: np.random.Generator) -> list[str]:
    """A few words over and over."""
    return (_drawn(words, 2, rng) + _drawn(context, 1, rng)) * int(rng.integers(2, 5))


def _cut_off(words: list[str], _: Sequence[str], rng: np.random.Generator) -> list[str]:
    return words[: int(rng.integers(2, max(3, len(words) - 2)))]


def _drawn(words: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """`count` of the words, or all if there are fewer, in random order."""
    return [words[place] for place in rng.permutation(len(words))[:count].tolist()]


_WAYS: tuple[tuple[Garble, float], ...] = (
    (_shuffled, 1.6),
    (_stammered, 1.4),
    (_misformed, 0.9),
    (_mixed, 2.0),
    (_circling, 2.0),
    (_cut_off, 0.6),
)
"""Ways to break a reply, each with its drop."""
