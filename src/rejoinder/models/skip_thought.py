"""Skip-thought (Kiros et al. 2015): an utterance becomes a vector from which its two neighbours are predicted.

A GRU reads the utterance, one decoder predicts the next utterance, and another the previous one. The decoders share
token vectors and softmax, as in the paper; the reader is bidirectional (the paper's bi-skip).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from rejoinder.models.recurrent import Decoder, DecoderNetwork, DecoderState, Nats, NetworkSizes, TokenReaderGru
from rejoinder.models.token_dialogues import TokenContext, TokenDialogue, context_of


class SkipThoughtNetwork(DecoderNetwork):
    """An utterance to a vector, the vector to the two neighbouring utterances; as a reply it writes the next one."""

    def __init__(self, sizes: NetworkSizes, *, longest: int) -> None:
        """`longest`: how many of a text's last tokens are read."""
        super().__init__()
        self.longest = longest
        self.reader = TokenReaderGru(sizes.embedding, sizes.hidden, sizes.dropout)
        self.decoder, self.previous = (
            Decoder(sizes.tokens, sizes.embedding, sizes.hidden, sizes.hidden, dropout=sizes.dropout) for _ in range(2)
        )
        self.previous.words, self.previous.next_token = self.decoder.words, self.decoder.next_token

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """The negative log-likelihood of all neighbours: n turns have n - 1 next and n - 1 previous turns."""
        pairs = [pair for dialogue in dialogues for pair in pairwise(dialogue.turns)]
        vectors = self._read([turn for dialogue in dialogues for turn in dialogue.turns])
        ends = torch.tensor([len(dialogue.turns) for dialogue in dialogues], device=self.device).cumsum(0)
        has_next = torch.ones(len(vectors), dtype=torch.bool, device=self.device)
        has_next[ends - 1] = False
        after = self.decoder([turn for _, turn in pairs], vectors[has_next])
        before = self.previous([turn for turn, _ in pairs], vectors[has_next.roll(1)])
        nats = torch.cat([after, before])
        return Nats(nats.sum(), nats.new_zeros(()), len(nats), 2 * len(pairs))

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[DecoderState, Tensor]:  # noqa: ARG002
        """The state before the first token of the utterance after the last turn."""
        return self.decoder.start(self._read([turns[-1] for turns in contexts])), self.first(contexts)

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The last states of both directions; the turns of a context are read as one text."""
        return self._read([context_of(turns, self.longest) for turns in contexts])

    def _read(self, rows: Sequence[tuple[int, ...]]) -> Tensor:
        vectors: Tensor = self.reader(self.decoder.words.read(rows))[0]
        return vectors
