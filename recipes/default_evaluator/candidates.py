"""Places in dialogues, each with ten replies to judge: the true one, and others that fit less in various ways.

*random*: a reply from elsewhere. *same*: from the same dialogue. *next*: what was said after the true reply. *lexical*:
from another dialogue, sharing words with the context. *near-turn* and *near-true*: from elsewhere, near the last turn
or the true reply to the encoder. *walk*: the true reply's first words, continued at random. *generic*: a phrase that
fits anywhere. And two that are spoilt: an *echo* of the last turn, the replier's *own* earlier turn, words *shuffled*,
*truncated*, *repeated*, or *spliced* with another reply.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from recipes.default_evaluator.corpora import TURNS, Shares, read_corpus
from recipes.default_evaluator.neighbours import Neighbours
from recipes.default_evaluator.towers import TwoTowers
from recipes.default_evaluator.walks import Walks

CHUNK = 96
"""Places that lend each other replies; four of each of their dialogues."""
OF_A_DIALOGUE = 4
NEAREST = 6
"""Candidates by words or by vectors are drawn from so many of the nearest."""
POOL = 3000
"""Replies that the near ones are looked for in."""

GENERIC = (
    *("I don't know.", "That's great!", "Yes.", "No.", "I see.", "Okay.", "What do you mean?", "I'm not sure."),
    *("That sounds good.", "Thank you.", "Really?", "I think so too.", "What about you?", "I'm sorry."),
    *("Sure, no problem.", "That's interesting.", "Haha, yeah.", "Of course.", "Why not?", "Me too."),
)


class Spot(NamedTuple):
    """A turn of a dialogue that replies."""

    corpus: str
    turns: tuple[str, ...]
    turn: int

    @property
    def context(self) -> tuple[str, ...]:
        """The last turns before it."""
        return self.turns[max(0, self.turn - TURNS) : self.turn]

    @property
    def true(self) -> str:
        """The reply that was really given."""
        return self.turns[self.turn]


class Candidate(NamedTuple):
    """A reply, and how it was come by."""

    kind: str
    reply: str


class Candidates(NamedTuple):
    """A place with its replies."""

    spot: Spot
    replies: tuple[Candidate, ...]


def chunks(data: Path, shares: Shares, total: int, seed: int, towers: TwoTowers) -> Iterator[list[Candidates]]:
    """About `total` places, a chunk at a time; the same for the same seed and encoder."""
    rng = random.Random(seed)
    spots = draw_spots(data, shares, total, rng)
    trues = [spot.true for spot in spots]
    pool = Neighbours(towers, rng.sample(trues, min(POOL, len(trues))))
    walks = Walks(trues)
    for start in range(0, len(spots), CHUNK):
        part = spots[start : start + CHUNK]
        near_turn = pool.near([spot.context[-1] for spot in part], NEAREST, rng)
        near_true = pool.near([spot.true for spot in part], NEAREST, rng)
        words = [_words(spot.true) for spot in part]
        chunk = []
        for spot, *near in zip(part, near_turn, near_true, strict=True):
            replies = [
                *draw_replies(spot, part, words, rng),
                *map(Candidate, ("near-turn", "near-true"), near),
                Candidate("walk", walks.continue_from(spot.true, rng) or rng.choice(GENERIC)),
            ]
            chunk.append(Candidates(spot, tuple(replies)))
        yield chunk


def draw_spots(data: Path, shares: Mapping[str, float], total: int, rng: random.Random) -> list[Spot]:
    """Places of the corpora by their shares, up to four of a dialogue, which stay together."""
    spots: list[Spot] = []
    for name, share in shares.items():
        dialogues = [dialogue.turns for dialogue in read_corpus(data, name) if len(dialogue.turns) > 3]
        rng.shuffle(dialogues)
        found = 0
        for turns in dialogues:
            places = [
                turn
                for turn in range(1, len(turns))
                if turns[turn].strip() and all(text.strip() for text in turns[max(0, turn - TURNS) : turn])
            ]
            rng.shuffle(places)
            chosen = places[:OF_A_DIALOGUE]
            spots += [Spot(name.partition(".")[0], turns, turn) for turn in chosen]
            found += len(chosen)
            if found >= total * share:
                break
    groups = [spots[start : start + OF_A_DIALOGUE] for start in range(0, len(spots), OF_A_DIALOGUE)]
    rng.shuffle(groups)
    return [spot for group in groups for spot in group]


def draw_replies(
    spot: Spot, part: Sequence[Spot], words: Sequence[set[str]], rng: random.Random
) -> tuple[Candidate, ...]:
    """Eight replies to a place, from its chunk or spoilt; `words` are those of the chunk's true replies."""
    trues = [other.true for other in part]
    one, another = rng.choice(trues), rng.choice(trues)
    siblings = [other.true for other in part if other.turns is spot.turns and other.turn != spot.turn]
    wanted = _words(" ".join(spot.context[-2:]))

    def apart(number: int) -> float:
        """Less for a reply that shares more words with the context; most for one of the same dialogue."""
        if part[number].turns is spot.turns:
            return 9
        return -len(wanted & words[number]) / (3 + len(words[number]))

    near = sorted(range(len(part)), key=apart)[:NEAREST]
    following = spot.turns[spot.turn + 1] if spot.turn + 1 < len(spot.turns) else ""
    return (
        Candidate("true", spot.true),
        Candidate("random", one),
        Candidate("generic", rng.choice(GENERIC)),
        Candidate("same", rng.choice(siblings) if siblings else another),
        Candidate("next", following if following.strip() else another),
        Candidate("lexical", trues[rng.choice(near)]),
        spoilt(spot, another, rng),
        spoilt(spot, one, rng),
    )


def spoilt(spot: Spot, other: str, rng: random.Random) -> Candidate:
    """One of seven replies that nobody would give; a generic one where the true reply is too short for the rest."""
    way = rng.randrange(7)
    words, other_words = spot.true.split(), other.split()
    if way == 0:
        return Candidate("echo", spot.context[-1])
    if way == 1:
        return Candidate("own", spot.context[-2] if len(spot.context) > 1 else spot.context[-1])
    if way == 2 and len(words) > 3:
        rng.shuffle(words)
        return Candidate("shuffled", " ".join(words))
    if way == 3 and len(words) > 5:
        return Candidate("truncated", " ".join(words[: rng.randrange(2, len(words) - 1)]))
    if way == 4 and len(words) > 2:
        start = words[: rng.randrange(2, min(len(words), 6) + 1)]
        return Candidate("repeated", " ".join(start * rng.randrange(2, 4)))
    if way == 5 and len(other_words) > 3:
        half = words[: max(1, len(words) // 2)]
        return Candidate("spliced", " ".join(half + other_words[len(other_words) // 2 :]))
    return Candidate("generic", rng.choice(GENERIC))


def _words(text: str) -> set[str]:
    return set(text.lower().split())
