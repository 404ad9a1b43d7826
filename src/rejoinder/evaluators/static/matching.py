"""How static word vectors learn from dialogues, before any score: which reply answers which turn.

Every reply of a batch against every context of it, as an encoder's two towers learn (`encoder/in_batch.py`). A mean of
word vectors costs so little that all turns of many dialogues are gone through several times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.evaluators.static.reading import Reading
from rejoinder.language_models.ngram import NgramModel
from rejoinder.learning.in_batch import in_batch_loss, negatives_of
from rejoinder.progress import progress
from rejoinder.types import Dialogue, Example

PLACES = 512
"""Places of one step."""
RATE = 1e-3
MOST_TURNS = 4
"""Turns of a context that are read."""
MOST_PLACES = 500_000
"""Places at most, drawn at random: a pass takes a minute or so, however many dialogues there are."""

Towers = Callable[[Reading], tuple[Tensor, Tensor, Tensor]]
"""Replies led to what they answer, last turns, and what came before. Each (places, dims), of length 1"""


def match_replies(
    learning: Sequence[nn.Parameter],
    towers: Towers,
    dialogues: Sequence[Dialogue],
    known: NgramModel,
    passes: int,
    seed: int,
) -> None:
    """Train, in place, what the towers are made of; at a rate that falls to nothing."""
    rng = np.random.default_rng([seed, 13])
    places = draw_places(dialogues, rng)
    if len(places) < 2 or not passes:
        return
    optimiser = torch.optim.Adam(learning, lr=RATE)
    orders = [rng.permutation(len(places)) for _ in range(passes)]
    batches = [order[start : start + PLACES] for order in orders for start in range(0, len(places), PLACES)]
    for step, batch in enumerate(progress(batches, "matching replies", total=len(batches), unit="steps")):
        chosen = [places[place] for place in batch.tolist()]
        replies, last_turns, before = towers(Reading.of(chosen, known))
        allowed = negatives_of([example.response for example in chosen])
        loss = in_batch_loss(last_turns, replies, allowed) + in_batch_loss(before, replies, allowed) / 2
        optimiser.param_groups[0]["lr"] = RATE * (1 - step / len(batches))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def draw_places(dialogues: Sequence[Dialogue], rng: np.random.Generator) -> list[Example]:
    """Turns that answer another, each with the turns before it, in random order; blank ones are left out."""
    answers = np.array([max(0, len(dialogue.turns) - 1) for dialogue in dialogues], np.int64)
    ends = np.cumsum(answers)
    drawn = rng.permutation(int(answers.sum()))[:MOST_PLACES]
    numbers = np.searchsorted(ends, drawn, side="right")
    turns = drawn - (ends - answers)[numbers] + 1
    places = [(dialogues[number].turns, turn) for number, turn in zip(numbers.tolist(), turns.tolist(), strict=True)]
    return [
        Example("", said[max(0, turn - MOST_TURNS) : turn], said[turn])
        for said, turn in places
        if said[turn].strip() and said[turn - 1].strip()
    ]
