"""The skip-thought metric: the cosine of reply and reference by an encoder that learned to foretell neighbours.

What is saved is an evaluator and a sentence encoder in one folder: `rejoinder score -m FOLDER` takes it for the first,
`rejoinder train adem --encoder FOLDER` for the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Vectors
from rejoinder.data.digests import digest_of
from rejoinder.errors import NeedsError
from rejoinder.evaluators.base import Use
from rejoinder.evaluators.encoder_cosine import SentenceCosine
from rejoinder.language_models.recurrent.settings import RecurrentSettings
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.learning.saving import WEIGHTS
from rejoinder.types import Dialogue

if TYPE_CHECKING:
    from rejoinder.encoders.skip_thought import SkipThoughtNetwork
    from rejoinder.language_models.recurrent.token_dialogues import TokenDialogue
    from rejoinder.text.vocabulary import Ids, Vocabulary

_ASIDE = 20
"""One of so many dialogues decides when training stops; where there are fewer, none does."""
_MOST_ASIDE = 500
_AT_ONCE = 16


@dataclass(frozen=True, kw_only=True)
class SkipThought(RecurrentSettings, SentenceCosine):
    """The cosine of the vectors of reply and reference; of several references the nearest."""

    name: ClassVar[str] = "skip-thought"
    measures: ClassVar[str] = "cosine of vectors from which the neighbouring utterances can be foretold"
    citation: ClassVar[str] = "Kiros et al. 2015, Skip-Thought Vectors"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = "no references, or nothing but white space there"
    dialogues: ClassVar[Use] = "needed"

    vocabulary_: Vocabulary = field(init=False, repr=False, compare=False)
    network_: SkipThoughtNetwork = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The vocabulary, and the network that foretells neighbours best."""
        require_extra("train", f"training {self.name}")
        import torch

        from rejoinder.reply_models.neural.training import ReplyStage, train_replies
        from rejoinder.text.vocabulary import Vocabulary

        vocabulary = Vocabulary.learn((turn for one in data.dialogues for turn in one.turns), self.vocabulary)
        aside = _aside(len(data.dialogues), data.seed)
        learned, held_out = (
            self._tokens([one for row, one in enumerate(data.dialogues) if (row in aside) == kept], vocabulary)
            for kept in (False, True)
        )
        if not learned:
            raise NeedsError(f"{self.name} learns from neighbours: expected a dialogue of two turns at least")
        with torch.random.fork_rng():
            torch.manual_seed(data.seed)
            network = self._network(vocabulary)
        key = digest_of([self.name, self.parameters, data.digest, data.seed])
        train_replies(ReplyStage(network, learned, held_out, data.seed), self.schedule, data.run, key)
        return {"vocabulary_": vocabulary, "network_": network}

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector a text or context, whatever else is encoded with it. (texts, hidden)"""
        from rejoinder.language_models.recurrent.token_dialogues import token_contexts

        _ = self.fitted
        contexts = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        return self._read(token_contexts(contexts, self.vocabulary_, turns=self.turns, longest=self.longest))

    def unit_vectors(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """The same at length 1."""
        vectors = self.encode(texts).astype(np.float64)
        units: NDArray[np.float64] = vectors / np.maximum(np.sqrt((vectors**2).sum(axis=1, keepdims=True)), 1e-12)
        return units

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write vocabulary and weights."""
        from safetensors.torch import save_file

        from rejoinder.learning.weights import plain_state

        self.vocabulary_.save(folder)
        save_file(plain_state(self.network_), folder / WEIGHTS["torch"])
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        del plain
        require_extra("train", self.name)
        from rejoinder.learning.weights import load_weights
        from rejoinder.text.vocabulary import Vocabulary

        vocabulary = Vocabulary.load(folder)
        network = self._network(vocabulary)
        load_weights(network, folder / WEIGHTS["torch"])
        return {"vocabulary_": vocabulary, "network_": network.eval()}

    def _network(self, vocabulary: Vocabulary) -> SkipThoughtNetwork:
        from rejoinder.encoders.skip_thought import SkipThoughtNetwork

        return SkipThoughtNetwork(self.sizes_for(len(vocabulary)), longest=self.longest)

    def _tokens(self, dialogues: Sequence[Dialogue], vocabulary: Vocabulary) -> list[TokenDialogue]:
        from rejoinder.language_models.recurrent.token_dialogues import token_dialogues

        return token_dialogues(dialogues, vocabulary, turns=self.turns, longest=self.longest)

    def _read(self, contexts: Sequence[tuple[Ids, ...]]) -> Vectors:
        import torch

        vectors = np.empty((len(contexts), self.hidden), np.float32)
        with torch.inference_mode():
            for rows in _alike([min(self.longest, sum(map(len, turns))) for turns in contexts]):
                # Always as many rows of one length: sums may be rounded in another way for fewer.
                filled = [contexts[row] for row in [*rows, *[rows[0]] * (_AT_ONCE - len(rows))]]
                vectors[rows] = self.network_.encode(filled).float().cpu().numpy()[: len(rows)]
        return vectors


def _alike(lengths: Sequence[int]) -> list[list[int]]:
    """Row numbers in groups of one length, none larger than `_AT_ONCE`."""
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    return [rows[at : at + _AT_ONCE] for rows in by_length.values() for at in range(0, len(rows), _AT_ONCE)]


def _aside(count: int, seed: int) -> set[int]:
    """The numbers of the dialogues that are not learned from."""
    most = min(count // _ASIDE, _MOST_ASIDE)
    return set(np.random.default_rng([seed, 8]).permutation(count)[:most].tolist())
