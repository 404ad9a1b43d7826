"""Skip-thought (Kiros et al. 2015): an utterance is read into a vector from which both its neighbours are foretold.

One GRU reads, one decoder says the utterance after it, another the one before it. The decoders share the vectors of
words and the softmax, as in the paper; the reader is bidirectional (the paper's bi-skip).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from rejoinder.language_models.recurrent.networks import DecoderNetwork, Nats, Sizes
from rejoinder.language_models.recurrent.parts import Decoder, Reader, Writing
from rejoinder.language_models.recurrent.token_dialogues import TokenContext, TokenDialogue, context_of


class SkipThoughtNetwork(DecoderNetwork):
    """An utterance to a vector, the vector to the utterances next to it; what it says is the one after."""

    def __init__(self, sizes: Sizes, *, longest: int) -> None:
        """`longest`: tokens of a text that are read, from its end."""
        super().__init__()
        self.longest = longest
        self.reader = Reader(sizes.embedding, sizes.hidden, sizes.dropout)
        self.decoder, self.previous = (
            Decoder(sizes.tokens, sizes.embedding, sizes.hidden, sizes.hidden, dropout=sizes.dropout) for _ in range(2)
        )
        self.previous.words, self.previous.next_token = self.decoder.words, self.decoder.next_token

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """What the neighbours of all turns cost: of n turns n - 1 that come next and n - 1 that came before."""
        pairs = [pair for dialogue in dialogues for pair in pairwise(dialogue.turns)]
        vectors = self._read([turn for dialogue in dialogues for turn in dialogue.turns])
        ends = torch.tensor([len(dialogue.turns) for dialogue in dialogues], device=self.device).cumsum(0)
        has_next = torch.ones(len(vectors), dtype=torch.bool, device=self.device)
        has_next[ends - 1] = False
        after = self.decoder([turn for _, turn in pairs], vectors[has_next])
        before = self.previous([turn for turn, _ in pairs], vectors[has_next.roll(1)])
        nats = torch.cat([after, before])
        return Nats(nats.sum(), nats.new_zeros(()), len(nats), 2 * len(pairs))

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[Writing, Tensor]:  # noqa: ARG002
        """Before the first word of what comes after the last turn."""
        return self.decoder.start(self._read([turns[-1] for turns in contexts])), self.first(contexts)

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The last states of both directions; the turns of a context are read as one text."""
        return self._read([context_of(turns, self.longest) for turns in contexts])

    def _read(self, rows: Sequence[tuple[int, ...]]) -> Tensor:
        vectors: Tensor = self.reader(self.decoder.words.read(rows))[0]
        return vectors
