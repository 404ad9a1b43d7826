"""How tweet2vec is trained: which of a batch's turns comes after this one?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from rejoinder.data.negatives import Place, places_of
from rejoinder.encoders.tweet2vec.encoder import CharacterNetwork, padded_codes
from rejoinder.errors import NeedsError
from rejoinder.learning.batching import buckets
from rejoinder.learning.in_batch import in_batch_loss, negatives_of
from rejoinder.progress import bar
from rejoinder.types import Dialogue

if TYPE_CHECKING:
    from rejoinder.encoders.tweet2vec.encoder import Tweet2Vec

_CLIP = 1.0
_WARM = 0.05
"""Share of the steps in which the learning rate rises; then it falls to nothing."""


def learn_characters(
    encoder: Tweet2Vec, alphabet: Sequence[str], dialogues: Sequence[Dialogue], seed: int, *, quiet: bool
) -> CharacterNetwork:
    """The network after so many batches of neighbouring turns; the same for the same seed."""
    places = places_of(dialogues)
    if len(places) < 2:
        raise NeedsError(f"{encoder.name} learns which turn follows which: expected at least two that follow another")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = encoder.untrained(alphabet)
        optimiser = torch.optim.Adam(network.parameters(), lr=encoder.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step, encoder.steps))
        waiting: list[list[int]] = []
        lengths = [len(place.response) for place in places]
        with bar("training, tweet2vec", total=encoder.steps, unit="step", quiet=quiet) as moving:
            for step in range(encoder.steps):
                if not waiting:
                    rng = np.random.default_rng([seed, step])
                    # Of like length, so that length alone tells no turn from another.
                    waiting = [rows for rows in buckets(lengths, encoder.batch, rng) if len(rows) > 1]
                loss = _loss(encoder, network, alphabet, [places[row] for row in waiting.pop()])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
                optimiser.step()
                schedule.step()
                moving.update(1)
                moving.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    return network.eval()


def nearest_of(encoder: Tweet2Vec, dialogues: Sequence[Dialogue], at_once: int = 32, *, seed: int = 0) -> float:
    """How often the true next turn lies nearest to the one before it, among so many; chance is 1 / at_once."""
    places = places_of(dialogues)
    order = np.random.default_rng(seed).permutation(len(places))
    right = looked = 0
    for start in range(0, len(order) - at_once + 1, at_once):
        chosen = [places[row] for row in order[start : start + at_once].tolist()]
        before, after = (encoder.encode([text(place) for place in chosen]) for text in (_before, _after))
        right += int((np.argmax(before @ after.T, axis=1) == np.arange(at_once)).sum())
        looked += at_once
    return right / looked if looked else float("nan")


def _loss(
    encoder: Tweet2Vec, network: CharacterNetwork, alphabet: Sequence[str], places: Sequence[Place]
) -> torch.Tensor:
    before, after = (
        network(*padded_codes(encoder.codes([text(place) for place in places], alphabet))) for text in (_before, _after)
    )
    return in_batch_loss(before, after, negatives_of([place.response for place in places]))


def _before(place: Place) -> str:
    return place.context[-1]


def _after(place: Place) -> str:
    return place.response


def _rate(step: int, steps: int) -> float:
    """Linear warm-up, then linear decay."""
    warm = max(1, round(_WARM * steps))
    return min((step + 1) / warm, (steps - step) / max(1, steps - warm))
