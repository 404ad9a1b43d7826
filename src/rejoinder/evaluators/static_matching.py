"""How static word vectors learn from dialogues, before any score: which reply answers which turn.

Every reply of a batch against every context of it, as an encoder's two towers learn (`rejoinder.models.in_batch`). A
mean of word vectors costs so little that all turns of many dialogues are gone through several times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.evaluators.static_reading import Reading
from rejoinder.models.in_batch import in_batch_loss, negatives_of
from rejoinder.models.ngram import NgramModel
from rejoinder.progress import progress
from rejoinder.types import Dialogue, Example

PLACES = 512
"""Places of one step."""
RATE = 1e-3
MOST_TURNS = 4
"""Turns of a context that are read."""

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
    places = places_of(dialogues)
    if len(places) < 2 or not passes:
        return
    rng = np.random.default_rng([seed, 13])
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


def places_of(dialogues: Sequence[Dialogue]) -> list[Example]:
    """Every turn that answers another, with the turns before it."""
    return [
        Example("", dialogue.turns[max(0, turn - MOST_TURNS) : turn], dialogue.turns[turn])
        for dialogue in dialogues
        for turn in range(1, len(dialogue.turns))
        if dialogue.turns[turn].strip() and dialogue.turns[turn - 1].strip()
    ]
