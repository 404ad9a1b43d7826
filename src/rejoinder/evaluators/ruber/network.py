"""The networks behind RUBER's s_U: a BiGRU over words, if asked for another over turns, and a head over both.

The flat form (ruber, section 3.2) reads one text as the query. The hierarchical form (roberta-eval, appendix B) reads
turn after turn: each turn's vector, beside one that says whether the replier spoke it, goes through a second BiGRU.
Without word embeddings of its own a network takes vectors of texts that another encoder made, and is little more
than its head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from rejoinder.evaluators.ruber.head import QuadraticHead
from rejoinder.evaluators.ruber.words import PAD


@dataclass(frozen=True, kw_only=True)
class PairShape:
    """The sizes of a network."""

    words: int = 0
    """Rows of the table of word embeddings; 0: texts come as vectors."""
    dims: int = 50
    """Of word embeddings, or of the vectors that come."""
    hidden: int = 64
    """Units of the GRU over words in each direction."""
    layers: int = 1
    hierarchical: bool = False
    context_hidden: int = 64
    """Units of the GRU over turns in each direction, in the hierarchical form."""
    speaker: int = 30
    """Of the embedding that says who speaks, in the hierarchical form."""
    units: int = 64
    """Of the head's hidden layer."""
    dropout: float = 0.2

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> PairShape:
        """From what config.json holds."""
        return cls(**{field.name: plain[field.name] for field in fields(cls)})

    @property
    def plain(self) -> dict[str, Any]:
        """For config.json."""
        return asdict(self)

    @property
    def text_width(self) -> int:
        """Of a text's vector."""
        return 2 * self.hidden if self.words else self.dims

    @property
    def context_width(self) -> int:
        """Of a context's vector."""
        return 2 * self.context_hidden if self.hierarchical else self.text_width


class UtteranceGru(nn.Module):
    """Word numbers to one vector a text: the last states of a BiGRU over word embeddings."""

    def __init__(self, words: int, dims: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, dims, padding_idx=PAD)
        self.gru = nn.GRU(dims, hidden, layers, batch_first=True, bidirectional=True)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(texts, longest), (texts,) -> (texts, 2 * hidden)"""
        return _last_states(self.gru, self.embedding(words), lengths)


class DialogueGru(nn.Module):
    """Vectors of turns to one vector a context: the last states of a BiGRU over turns with their speakers."""

    def __init__(self, width: int, hidden: int, layers: int, speaker: int) -> None:
        super().__init__()
        self.speaker = nn.Embedding(2, speaker)
        self.gru = nn.GRU(width + speaker, hidden, layers, batch_first=True, bidirectional=True)

    def forward(self, turns: Tensor, own: Tensor, lengths: Tensor) -> Tensor:
        """(contexts, turns, width), (contexts, turns): 1 where the replier speaks -> (contexts, 2 * hidden)"""
        return _last_states(self.gru, torch.cat([turns, self.speaker(own)], dim=2), lengths)


class PairNetwork(nn.Module):
    """Texts to vectors, vectors of turns to contexts, contexts and replies to scores."""

    def __init__(self, shape: PairShape) -> None:
        super().__init__()
        self.shape = shape
        self.utterance, self.dialogue = None, None
        if shape.words:
            self.utterance = UtteranceGru(shape.words, shape.dims, shape.hidden, shape.layers)
        if shape.hierarchical:
            self.dialogue = DialogueGru(shape.text_width, shape.context_hidden, shape.layers, shape.speaker)
        # Vectors that come are of length 1, so that their product begins as a cosine; it has to weigh something.
        self.head = QuadraticHead(shape.context_width, shape.text_width, shape.units, 1.0 if shape.words else 5.0)
        self.dropout = nn.Dropout(shape.dropout)

    def texts(self, words: Tensor, lengths: Tensor) -> Tensor:
        """One vector a text. (texts, longest), (texts,) -> (texts, text width)"""
        if self.utterance is None:
            raise ValueError("this network has no word embeddings: its texts come as vectors")
        vectors: Tensor = self.utterance(words, lengths)
        return vectors

    def contexts(self, turns: Tensor, own: Tensor, lengths: Tensor) -> Tensor:
        """One vector a context: the last turn's own, or that of all. (contexts, turns, width) -> (contexts, width)"""
        if self.dialogue is None:
            return turns[torch.arange(len(turns)), lengths - 1]
        vectors: Tensor = self.dialogue(self.dropout(turns), own, lengths)
        return vectors

    def logits(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """How well replies fit, before the sigmoid. (rows, width), (rows, candidates, width) -> (rows, candidates)"""
        return self.head.logits(self.dropout(contexts), self.dropout(replies))

    def scores(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """The same from 0 to 1."""
        return torch.sigmoid(self.logits(contexts, replies))


def _last_states(gru: nn.GRU, rows: Tensor, lengths: Tensor) -> Tensor:
    """The last layer's last states of both directions, side by side. (rows, longest, width) -> (rows, 2 * hidden)"""
    packed = pack_padded_sequence(rows, lengths, batch_first=True, enforce_sorted=False)
    _, last = gru(packed)  # (2 * layers, rows, hidden)
    return torch.cat([last[-2], last[-1]], dim=1)
