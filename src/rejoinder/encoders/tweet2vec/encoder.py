"""Sentence vectors from characters, by the network of tweet2vec (Dhingra et al. 2016): docs/reference/adem.md.

One GRU reads the characters of a text forwards, another backwards; the vector is a linear map of their last states.
Misspelt and unseen words get a vector like any other text. The paper trains the network to predict hashtags; dialogues
have none, so here it learns to find the turn that follows another among the turns of a batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rejoinder.arrays import Vectors
from rejoinder.data.negatives import places_of
from rejoinder.encoders.tweet2vec.characters import UNKNOWN, Alphabet
from rejoinder.errors import NeedsError
from rejoinder.learning.extras import require_extra
from rejoinder.learning.fitted import DialogueData, FittedOnDialogues
from rejoinder.learning.parameters import check_least, check_rates
from rejoinder.learning.saving import WEIGHTS
from rejoinder.learning.schedules import Schedule
from rejoinder.loading.schema import member
from rejoinder.model_folder import CONFIG

if TYPE_CHECKING:
    from rejoinder.encoders.tweet2vec.network import CharacterNetwork

_ROWS = 64
"""Texts that are encoded at once."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tweet2Vec(FittedOnDialogues):
    """A bidirectional character GRU, trained on dialogues, that gives one vector per text or context."""

    name: ClassVar[str] = "tweet2vec"
    kind: ClassVar[str] = "sentence encoder"
    trains_in_steps: ClassVar[bool] = True

    embedding: int = 48
    """Width of a character's vector."""
    hidden: int = 128
    """Width of the recurrent state of each direction."""
    width: int = 256
    """Width of a text's vector."""
    longest: int = 120
    """How many of a text's last characters are read."""
    steps: int = 2000
    """Training steps; with validation dialogues training may end earlier."""
    batch: int = 128
    """Turns per batch; each is contrasted with the others."""
    learning_rate: float = 2e-3
    """Peak learning rate: it rises over the first 5 % of the steps and then falls to 0."""

    alphabet_: Alphabet = dataclasses.field(init=False, repr=False, compare=False)
    network_: CharacterNetwork = dataclasses.field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_least(self, {"embedding": 1, "hidden": 1, "width": 1, "longest": 1, "steps": 1, "batch": 2})
        check_rates(self, "learning_rate")

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """The alphabet, and the trained network."""
        require_extra("train", f"training {self.name}")
        from rejoinder.encoders.tweet2vec.training import NextTurnStage
        from rejoinder.learning.loop import train_stage
        from rejoinder.learning.weights import seeded

        alphabet, places = Alphabet.of(data.dialogues), places_of(data.dialogues)
        if len(places) < 2:
            raise NeedsError(f"{self.name} learns which turn follows which: expected at least two replies")
        network = seeded(data.seed, lambda: self._network(alphabet))
        codes = partial(alphabet.codes, longest=self.longest)
        stage = NextTurnStage(network, codes, places, places_of(data.valid), data.seed)
        train_stage(stage, self._schedule(len(places)), data.seed, data.run, self.training_key(data))
        return {"alphabet_": alphabet, "network_": network}

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector of length 1 per text or context, independent of the other texts. (texts, width)"""
        import torch

        _ = self.fitted
        rows = self.alphabet_.codes(texts, self.longest)
        order = np.argsort([len(row) for row in rows], kind="stable")
        vectors = np.empty((len(rows), self.width), np.float32)
        with torch.inference_mode():
            for start in range(0, len(rows), _ROWS):
                chosen = order[start : start + _ROWS]
                # Every batch has the same number of rows: sums may be rounded differently for fewer.
                filled = [rows[row] for row in chosen.tolist()] + [[UNKNOWN]] * (_ROWS - len(chosen))
                found = self.network_(*self.network_.tensors(filled))
                vectors[chosen] = found.cpu().numpy()[: len(chosen)]
        return vectors

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the weights; the alphabet is returned for config.json."""
        from rejoinder.learning.weights import save_weights

        save_weights(self.network_, folder / WEIGHTS["torch"])
        return {"alphabet_": list(self.alphabet_.characters)}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        require_extra("train", self.name)
        from rejoinder.learning.weights import loaded_network

        alphabet = Alphabet(member(plain, "alphabet_", tuple[str, ...], str(folder / CONFIG)))
        network = loaded_network(lambda: self._network(alphabet), folder / WEIGHTS["torch"])
        return {"alphabet_": alphabet, "network_": network}

    def _network(self, alphabet: Alphabet) -> CharacterNetwork:
        from rejoinder.encoders.tweet2vec.network import CharacterNetwork

        return CharacterNetwork(len(alphabet), self.embedding, self.hidden, self.width)

    def _schedule(self, places: int) -> Schedule:
        """As many epochs as the steps need."""
        epochs = -(-self.steps // -(-places // self.batch))
        return Schedule(
            learning_rate=self.learning_rate,
            batch=self.batch,
            epochs=epochs,
            most_steps=self.steps,
            warm_up=0.05,
            weight_decay=0.0,
            fused=True,
        )
