"""The network of s_U: a BiGRU over words, optionally another over turns, and a head (Tao et al. 2018, section 3.2).

The flat form reads the query as one text. The hierarchical form (Zhao et al. 2020, appendix B) reads turn by turn: each
turn's vector, concatenated with an embedding of whether the replier spoke it, goes through a second BiGRU. Without word
embeddings of its own the network takes text vectors that another encoder made, and is little more than its head.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from rejoinder.evaluators.ruber.inputs import PAD


@dataclass(frozen=True, kw_only=True)
class PairShape:
    """The sizes of a network."""

    words: int = 0
    """Rows of the word embedding table; 0: texts come as vectors."""
    dims: int = 50
    """Size of a word embedding, or of the text vectors that are given."""
    hidden: int
    """Units of the GRU over words in each direction."""
    layers: int = 1
    hierarchical: bool = False
    context_hidden: int
    """Units of the GRU over turns in each direction, in the hierarchical form."""
    speaker: int
    """Size of the speaker embedding, in the hierarchical form."""
    units: int
    """Units of the head's hidden layer."""
    dropout: float

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> PairShape:
        """From the values in config.json."""
        return cls(**{field.name: plain[field.name] for field in fields(cls)})

    @property
    def plain(self) -> dict[str, Any]:
        """The values for config.json."""
        return asdict(self)

    @property
    def text_width(self) -> int:
        """Size of a text vector."""
        return 2 * self.hidden if self.words else self.dims

    @property
    def context_width(self) -> int:
        """Size of a context vector."""
        return 2 * self.context_hidden if self.hierarchical else self.text_width


class UtteranceGru(nn.Module):
    """Word ids to one vector per text: the last states of a BiGRU over word embeddings."""

    def __init__(self, words: int, dims: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, dims, padding_idx=PAD)
        self.gru = nn.GRU(dims, hidden, layers, batch_first=True, bidirectional=True)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(texts, longest), (texts,) -> (texts, 2 * hidden)"""
        return _last_states(self.gru, self.embedding(words), lengths)


class DialogueGru(nn.Module):
    """Turn vectors to one vector per context: the last states of a BiGRU over turns with their speakers."""

    def __init__(self, width: int, hidden: int, layers: int, speaker: int) -> None:
        super().__init__()
        self.speaker = nn.Embedding(2, speaker)
        self.gru = nn.GRU(width + speaker, hidden, layers, batch_first=True, bidirectional=True)

    def forward(self, turns: Tensor, own: Tensor, lengths: Tensor) -> Tensor:
        """(contexts, turns, width), (contexts, turns): 1 where the replier speaks -> (contexts, 2 * hidden)"""
        return _last_states(self.gru, torch.cat([turns, self.speaker(own)], dim=2), lengths)


class QuadraticHead(nn.Module):
    """MLP([c; r; c^T M r]) with one hidden layer of tanh units.

    The hidden layer is computed as the sum of three layers, over c, over r and over the product: the same function, but
    many replies to one context share the part that depends on c.
    """

    def __init__(self, context_width: int, reply_width: int, units: int, start: float = 1.0) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(context_width, reply_width) * start)
        self.of_context = nn.Linear(context_width, units)
        self.of_reply = nn.Linear(reply_width, units, bias=False)
        self.of_product = nn.Linear(1, units, bias=False)
        self.out = nn.Linear(units, 1)
        for layer in (self.of_context, self.of_reply, self.of_product):
            # Initialised as one layer over the concatenated input would be.
            nn.init.uniform_(layer.weight, -(bound := 1 / math.sqrt(context_width + reply_width + 1)), bound)

    def forward(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """Logits. (rows, context width), (rows, candidates, reply width) -> (rows, candidates)"""
        products = (replies * (contexts @ self.matrix)[:, None]).sum(dim=2)  # (rows, candidates)
        hidden = self.of_context(contexts)[:, None] + self.of_reply(replies) + self.of_product(products[..., None])
        logits: Tensor = self.out(torch.tanh(hidden))[..., 0]
        return logits


class PairNetwork(nn.Module):
    """Texts to vectors, turn vectors to context vectors, context and reply vectors to scores."""

    def __init__(self, shape: PairShape) -> None:
        super().__init__()
        self.shape = shape
        self.utterance, self.dialogue = None, None
        if shape.words:
            self.utterance = UtteranceGru(shape.words, shape.dims, shape.hidden, shape.layers)
        if shape.hierarchical:
            self.dialogue = DialogueGru(shape.text_width, shape.context_hidden, shape.layers, shape.speaker)
        # Given vectors have length 1, so that c^T M r starts as a cosine: it needs a larger weight to matter.
        self.head = QuadraticHead(shape.context_width, shape.text_width, shape.units, 1.0 if shape.words else 5.0)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(
        self,
        texts: Tensor,
        turns: Tensor,
        own: Tensor,
        turn_counts: Tensor,
        candidates: Tensor,
        text_lengths: Tensor | None = None,
    ) -> Tensor:
        """Scores of candidate replies, as `PairInput.tensors` gives them. -> (rows, candidates)

        `texts` holds every different text once, as word ids (with `text_lengths`) or as a vector; `turns` (rows, turns)
        and `candidates` (rows, candidates) are row numbers of `texts`.
        """
        vectors = texts if text_lengths is None else self.texts(texts, text_lengths)
        return self.scores(self.contexts(vectors[turns], own, turn_counts), vectors[candidates])

    def texts(self, words: Tensor, lengths: Tensor) -> Tensor:
        """One vector per text. (texts, longest), (texts,) -> (texts, text width)"""
        if self.utterance is None:
            raise ValueError("this network has no word embeddings: its texts come as vectors")
        vectors: Tensor = self.utterance(words, lengths)
        return vectors

    def contexts(self, turns: Tensor, own: Tensor, turn_counts: Tensor) -> Tensor:
        """One vector per context: its last turn's, or the second GRU's. (rows, turns, width) -> (rows, width)"""
        if self.dialogue is None:
            return turns[torch.arange(len(turns)), turn_counts - 1]
        vectors: Tensor = self.dialogue(self.dropout(turns), own, turn_counts)
        return vectors

    def scores(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """s_U. (rows, width), (rows, candidates, width) -> (rows, candidates)"""
        return torch.sigmoid(self.head(self.dropout(contexts), self.dropout(replies)))


def _last_states(gru: nn.GRU, rows: Tensor, lengths: Tensor) -> Tensor:
    """The last layer's last states of both directions, concatenated. (rows, longest, width) -> (rows, 2 * hidden)"""
    packed = pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)
    _, last = gru(packed)  # (2 * layers, rows, hidden)
    return torch.cat([last[-2], last[-1]], dim=1)
