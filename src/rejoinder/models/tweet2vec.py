"""tweet2vec (Dhingra et al. 2016): the encoder, and texts as character numbers."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rejoinder.arrays import Vectors
from rejoinder.data.negatives import places_of
from rejoinder.errors import NeedsError
from rejoinder.folders.saved import WEIGHTS
from rejoinder.folders.schema import CONFIG, checked_member
from rejoinder.folders.sources import require_extra
from rejoinder.learning.learned import DialogueData, FittedOnDialogues
from rejoinder.learning.schedules import Schedule
from rejoinder.options import check_least, check_rates
from rejoinder.types import Dialogue

if TYPE_CHECKING:
    from rejoinder.models.tweet2vec_network import CharacterNetwork

# Texts as character numbers.


PAD, UNKNOWN = 0, 1
_KNOWN = 2
"""The number of the first character of the alphabet."""
_OFTEN = 3
"""How often a character must occur to be part of the alphabet."""

Codes = list[int]


@dataclass(frozen=True)
class Alphabet:
    """The characters that have a number of their own."""

    characters: tuple[str, ...]

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue]) -> Alphabet:
        """Characters that occur often enough, most frequent first; empty where the dialogues have no text."""
        counts = Counter(character for dialogue in dialogues for turn in dialogue.turns for character in turn.lower())
        if not counts:
            return cls(())
        counts["\n"] += len(dialogues) * _OFTEN  # separates the turns of a context
        often = [character for character, count in counts.items() if count >= _OFTEN and not _is_surrogate(character)]
        return cls(tuple(sorted(often, key=lambda character: (-counts[character], character))))

    def __len__(self) -> int:
        """How many numbers there are, those for padding and for unknown characters included."""
        return len(self.characters) + _KNOWN

    def codes(self, texts: Sequence[str | Sequence[str]], longest: int) -> list[Codes]:
        """The numbers of each text's last characters, at least one; a line break separates the turns of a context."""
        joined = (text if isinstance(text, str) else "\n".join(text) for text in texts)
        return [
            [self._numbers.get(character, UNKNOWN) for character in text.lower()[-longest:]] or [UNKNOWN]
            for text in joined
        ]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {character: number for number, character in enumerate(self.characters, start=_KNOWN)}


def _is_surrogate(character: str) -> bool:
    """Whether it is half of a surrogate pair, which cannot be written to a file."""
    return "\ud800" <= character <= "\udfff"


# Sentence vectors from characters, by the network of tweet2vec (Dhingra et al. 2016): docs/reference/adem.md.
#
# One GRU reads the characters of a text forwards, another backwards; the vector is a linear map of their last states.
# Misspelt and unseen words get a vector like any other text. The paper trains the network to predict hashtags;
# dialogues have none, so here it learns to find the turn that follows another among the turns of a batch.


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
        from rejoinder.learning.checkpoints import seeded
        from rejoinder.learning.loop import train_stage
        from rejoinder.models.tweet2vec_network import NextTurnStage

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
        from rejoinder.learning.checkpoints import save_weights

        save_weights(self.network_, folder / WEIGHTS["torch"])
        return {"alphabet_": list(self.alphabet_.characters)}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        require_extra("train", self.name)
        from rejoinder.learning.checkpoints import loaded_network

        alphabet = Alphabet(checked_member(plain, "alphabet_", tuple[str, ...], str(folder / CONFIG)))
        network = loaded_network(lambda: self._network(alphabet), folder / WEIGHTS["torch"])
        return {"alphabet_": alphabet, "network_": network}

    def _network(self, alphabet: Alphabet) -> CharacterNetwork:
        from rejoinder.models.tweet2vec_network import CharacterNetwork

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
