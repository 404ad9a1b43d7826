"""The skip-thought metric: the cosine of reply and reference, by an encoder that learned to predict neighbouring turns.

A saved folder is both an evaluator, for `rejoinder score -m FOLDER`, and a sentence encoder, for
`rejoinder train adem --encoder FOLDER`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Vectors
from rejoinder.data.digests import digest_of
from rejoinder.errors import NeedsError
from rejoinder.evaluators.base import Use
from rejoinder.evaluators.encoder_cosine import SentenceCosine
from rejoinder.evaluators.scale import OVERFLOW
from rejoinder.language_models.recurrent.model import RecurrentModel
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.learning.splits import held_out
from rejoinder.types import Dialogue

if TYPE_CHECKING:
    from rejoinder.encoders.skip_thought import SkipThoughtNetwork
    from rejoinder.language_models.recurrent.token_dialogues import TokenDialogue
    from rejoinder.text.vocabulary import Ids, Vocabulary

_HELD_OUT = 0.05
"""The share of the dialogues that decides when training stops."""
_FEWEST = 20
"""With fewer dialogues none is held out."""
_MOST_HELD_OUT = 500
_AT_ONCE = 16
"""Texts that are encoded at once."""


@dataclass(frozen=True, kw_only=True)
class SkipThought(RecurrentModel, SentenceCosine):
    """The cosine of the vectors of reply and reference; with several references, the highest."""

    name: ClassVar[str] = "skip-thought"
    measures: ClassVar[str] = "cosine of vectors from which the neighbouring utterances can be predicted"
    citation: ClassVar[str] = "Kiros et al. 2015, Skip-Thought Vectors"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = f"no references, nothing but white space there, or {OVERFLOW}"
    dialogues: ClassVar[Use] = "needed"
    trains_in_steps: ClassVar[bool] = True

    vocabulary_: Vocabulary = field(init=False, repr=False, compare=False)
    network_: SkipThoughtNetwork = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The vocabulary, and the network that predicts neighbouring turns best."""
        require_extra("train", f"training {self.name}")
        from rejoinder.learning.loop import train_stage
        from rejoinder.learning.weights import seeded
        from rejoinder.reply_models.neural.training import ReplyStage

        vocabulary = self.learned_vocabulary(data.dialogues)
        rows = range(len(data.dialogues))
        aside = held_out(rows, _HELD_OUT, [data.seed, 8], fewest=_FEWEST, most=_MOST_HELD_OUT)
        learned, valid = (
            self._tokens([data.dialogues[row] for row in rows if aside[row] == kept], vocabulary)
            for kept in (False, True)
        )
        if not learned:
            raise NeedsError(f"{self.name} learns from neighbouring turns: expected a dialogue of at least two turns")
        network = seeded(data.seed, lambda: self.make_network(vocabulary))
        key = digest_of([self.name, self.parameters, data.digest, data.seed])
        train_stage(ReplyStage(network, learned, valid, data.seed), self.schedule, data.seed, data.run, key)
        return {"vocabulary_": vocabulary, "network_": network}

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector per text or context, independent of the other texts. (texts, hidden)"""
        from rejoinder.language_models.recurrent.token_dialogues import token_contexts

        _ = self.fitted
        contexts = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        return self._read(token_contexts(contexts, self.vocabulary_, turns=self.turns, longest=self.longest))

    def unit_vectors(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """One vector of length 1 per text. (texts, hidden)"""
        vectors = self.encode(texts).astype(np.float64)
        units: NDArray[np.float64] = vectors / np.maximum(np.sqrt((vectors**2).sum(axis=1, keepdims=True)), 1e-12)
        return units

    def make_network(self, vocabulary: Vocabulary) -> SkipThoughtNetwork:
        """A reader and two decoders."""
        from rejoinder.encoders.skip_thought import SkipThoughtNetwork

        return SkipThoughtNetwork(self.sizes(vocabulary), longest=self.longest)

    def _tokens(self, dialogues: Sequence[Dialogue], vocabulary: Vocabulary) -> list[TokenDialogue]:
        from rejoinder.language_models.recurrent.token_dialogues import token_dialogues

        return token_dialogues(dialogues, vocabulary, turns=self.turns, longest=self.longest)

    def _read(self, contexts: Sequence[tuple[Ids, ...]]) -> Vectors:
        import torch

        vectors = np.empty((len(contexts), self.hidden), np.float32)
        with torch.inference_mode():
            for rows in _by_length([min(self.longest, sum(map(len, turns))) for turns in contexts]):
                # Every batch has the same number of rows, all of one length: sums may be rounded differently otherwise.
                filled = [contexts[row] for row in [*rows, *[rows[0]] * (_AT_ONCE - len(rows))]]
                vectors[rows] = self.network_.encode(filled).float().cpu().numpy()[: len(rows)]
        return vectors


def _by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Row numbers in groups of equal length, none larger than `_AT_ONCE`."""
    groups: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        groups.setdefault(length, []).append(row)
    return [rows[at : at + _AT_ONCE] for rows in groups.values() for at in range(0, len(rows), _AT_ONCE)]
