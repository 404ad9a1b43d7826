"""The network of s_U, its inputs, and the scorer that runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from rejoinder.arrays import Bools, Ints, Ragged, Vectors, offsets_of
from rejoinder.data.dialogues import ReplyInContext, by_replier
from rejoinder.errors import DataError
from rejoinder.evaluators.ruber.unref import RUBER_TOKENISERS, require_tokeniser, tokenised
from rejoinder.folders.saved import read_texts, write_texts
from rejoinder.folders.schema import CONFIG, check_range, checked_member, record
from rejoinder.learning.checkpoints import loaded_network, save_weights
from rejoinder.metrics.batch import TextOptions
from rejoinder.models.text_encoder import TextEncoder
from rejoinder.text.tokens import parse_strip
from rejoinder.text.vocabulary import Vocabulary
from rejoinder.types import Scores

# The network of s_U: a BiGRU over words, optionally another over turns, and a head (Tao et al. 2018, section 3.2).
#
# The flat form reads the query as one text. The hierarchical form (Zhao et al. 2020, appendix B) reads turn by turn:
# each turn's vector, concatenated with an embedding of whether the replier spoke it, goes through a second BiGRU.
# Without word embeddings of its own the network takes text vectors that another encoder made, and is little more than
# its head.


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


# What the network of s_U reads: texts as ids or vectors, and pairs of context and reply as row numbers of their
# texts.
#
# Each different text is read once, however many pairs it occurs in.


PAD, UNKNOWN = 0, 1
FIRST_WORD = 2
"""The row of a vocabulary's first word in the table of embeddings."""


@dataclass(frozen=True, eq=False)
class WordReader:
    """Texts to word ids, at least one per text; a text that is too long loses its beginning."""

    words: tuple[str, ...]
    text: TextOptions
    max_length: int

    def rows(self, texts: Sequence[str]) -> Ragged:
        """The word ids of each text: rows of the table of embeddings."""
        vocabulary, found = tokenised(texts, self.text)
        id_of = self._ids.get
        ids = np.fromiter((id_of(word, UNKNOWN) for word in vocabulary), np.int64, len(vocabulary))
        kept = np.minimum(found.lengths, self.max_length)
        lengths = np.maximum(kept, 1)
        offsets = offsets_of(lengths)
        source = np.repeat(found.offsets[1:] - kept - offsets[:-1], lengths) + np.arange(offsets[-1])
        values = np.full(len(source), UNKNOWN, np.int64)  # a text without words is one unknown word
        has = np.repeat(kept > 0, lengths)
        values[has] = ids[found.values[source[has]]]
        return Ragged(values, offsets)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=FIRST_WORD)}


@dataclass(frozen=True, eq=False)
class TokenReader:
    """Texts to token ids of a reply model, each with its end token, for a network that starts from that model."""

    vocabulary: Vocabulary
    max_length: int

    def rows(self, texts: Sequence[str]) -> Ragged:
        """The token ids of each text; a text that is too long loses its end, as in the reply model's training."""
        return Ragged.of(self.vocabulary.encode(texts, self.max_length))


@dataclass(frozen=True, eq=False)
class PairTable:
    """The texts that each pair consists of."""

    texts: tuple[str, ...]
    """Each different text once."""
    turns: Ragged
    """One row per pair: the texts of its context, oldest first."""
    own: Ints  # as `turns.values`: 1 where the replier spoke the turn
    replies: Ints  # (pairs,)

    @classmethod
    def of(cls, pairs: Sequence[ReplyInContext], turns: int, *, hierarchical: bool) -> PairTable:
        """The last turns of each context: one by one in the hierarchical form, else joined into one text."""
        numbers: dict[str, int] = {}
        rows, own = [], []
        for pair in pairs:
            last = pair.context[-turns:]
            texts = last if hierarchical else (" ".join(last),)
            rows.append([numbers.setdefault(text, len(numbers)) for text in texts])
            mine = by_replier(len(pair.context), pair.speakers)
            if len(mine) != len(pair.context):
                raise ValueError(f"{len(mine)} speakers for {len(pair.context)} turns: expected one per turn")
            own += mine[-turns:] if hierarchical else [False]
        replies = np.array([numbers.setdefault(pair.response, len(numbers)) for pair in pairs], np.int64)
        return cls(tuple(numbers), Ragged.of(rows), np.array(own, np.int64), replies)

    def __len__(self) -> int:
        return len(self.replies)

    def padded(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """The texts of the rows' turns and who spoke them, padded with 0, and the number of turns of each row."""
        lengths = self.turns.lengths[rows]
        places, has = _places(self.turns.offsets[rows], lengths)
        return np.where(has, self.turns.values[places], 0), np.where(has, self.own[places], 0), lengths


class TextInput(Protocol):
    """All texts in the form that the network reads."""

    def tensors(self, numbers: Ints) -> dict[str, Tensor]:
        """The arguments `texts` and `text_lengths` of `PairNetwork.forward`, for texts by number."""


@dataclass(frozen=True, eq=False)
class IdInput:
    """Texts as word or token ids, which the network's own GRU reads."""

    rows: Ragged

    def tensors(self, numbers: Ints) -> dict[str, Tensor]:
        """Padded ids, and their number. (texts, longest), (texts,)"""
        lengths = self.rows.lengths[numbers]
        places, has = _places(self.rows.offsets[numbers], lengths)
        ids = np.where(has, self.rows.values[places], PAD)
        return {"texts": torch.from_numpy(ids), "text_lengths": torch.from_numpy(lengths)}


@dataclass(frozen=True, eq=False)
class VectorInput:
    """Texts as vectors that an encoder computed once."""

    matrix: Vectors

    def tensors(self, numbers: Ints) -> dict[str, Tensor]:
        """The vectors of these texts. (texts, width)"""
        return {"texts": torch.from_numpy(self.matrix[numbers])}


@dataclass(frozen=True, eq=False)
class PairInput:
    """A table of pairs with its texts in the form that the network reads."""

    table: PairTable
    texts: TextInput

    def tensors(self, rows: Ints, candidates: Ints) -> dict[str, Tensor]:
        """The arguments of `PairNetwork.forward`: the contexts of some pairs, each with candidate replies.

        `candidates` are text numbers. (rows,), (rows, candidates)
        """
        turns, own, turn_counts = self.table.padded(rows)
        needed, place = np.unique(np.concatenate([turns.ravel(), candidates.ravel()]), return_inverse=True)
        arrays = {
            "turns": place[: turns.size].reshape(turns.shape),
            "own": own,
            "turn_counts": turn_counts,
            "candidates": place[turns.size :].reshape(candidates.shape),
        }
        return {**self.texts.tensors(needed), **{name: torch.from_numpy(array) for name, array in arrays.items()}}


def _places(starts: Ints, lengths: Ints) -> tuple[Ints, Bools]:
    """The position of each row's values in a flat array, and which positions are not padding. Both (rows, longest)"""
    position = np.arange(int(lengths.max()))
    return starts[:, None] + np.minimum(position, lengths[:, None] - 1), position < lengths[:, None]


# A trained network of s_U with the reader of its texts: scores pairs, and is saved in a folder.
#
# A score does not depend on which other pairs are scored with it: texts of one length are read together, always the
# same number of rows at a time, because libraries sum in another order for another shape.


NETWORK, WORDS = "network.safetensors", "words.safetensors"
_ROWS = 64
_MOST_LAYERS = 64

TextReader = WordReader | TokenReader | TextEncoder


@dataclass(frozen=True, eq=False)
class PairScorer:
    """s_U of pairs."""

    network: PairNetwork
    reader: TextReader
    turns: int
    """The number of a context's last turns that are read."""

    def input(self, pairs: Sequence[ReplyInContext], *, quiet: bool) -> PairInput:
        """The pairs in the form that the network is trained on: as ids, or as vectors of an encoder that is frozen."""
        table = self._table(pairs)
        if isinstance(self.reader, TextEncoder):
            return PairInput(table, VectorInput(self.reader.encode(table.texts, quiet=quiet)))
        return PairInput(table, IdInput(self.reader.rows(table.texts)))

    def score(self, pairs: Sequence[ReplyInContext]) -> Scores:
        """One score per pair, from 0 to 1."""
        if not pairs:
            return np.empty(0)
        table = self._table(pairs)
        with torch.inference_mode():
            texts = self._vectors(table.texts)
            contexts = self._contexts(table, texts)
            return _in_parts(
                lambda left, right: self.network.scores(left, right[:, None])[:, 0], contexts, texts[table.replies]
            ).astype(np.float64)

    def _table(self, pairs: Sequence[ReplyInContext]) -> PairTable:
        return PairTable.of(pairs, self.turns, hierarchical=self.network.shape.hierarchical)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        """One vector per text. (texts, width)"""
        if isinstance(self.reader, TextEncoder):
            return self.reader.encode(texts)
        rows = self.reader.rows(texts)
        vectors = np.empty((len(rows), self.network.shape.text_width), np.float32)
        for chosen, words in _by_length(rows):
            vectors[chosen] = _in_parts(
                lambda part: self.network.texts(part, torch.full((len(part),), part.shape[1])), words
            )
        return vectors

    def _contexts(self, table: PairTable, texts: Vectors) -> Vectors:
        """One vector per context. (pairs, width)"""
        vectors = np.empty((len(table), self.network.shape.context_width), np.float32)
        for chosen, turns in _by_length(table.turns):
            _, own, _ = table.padded(chosen)
            vectors[chosen] = _in_parts(
                lambda part, speakers: self.network.contexts(part, speakers, torch.full((len(part),), part.shape[1])),
                texts[turns],
                own,
            )
        return vectors

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the weights, and the words, tokens or encoder; return the other values that `load` needs."""
        save_weights(self.network, folder / NETWORK)
        plain: dict[str, Any] = {"shape": self.network.shape.plain, "turns": self.turns}
        plain |= {"reads": _KINDS[type(self.reader)], "max_length": self.reader.max_length}
        if isinstance(self.reader, WordReader):
            write_texts(folder / WORDS, self.reader.words)
            plain["text"] = asdict(self.reader.text)
        elif isinstance(self.reader, TokenReader):
            self.reader.vocabulary.save(folder)
        else:
            self.reader.save(folder)
        return plain

    @classmethod
    def load(cls, folder: Path, plain: Mapping[str, Any]) -> PairScorer:
        """What `save` wrote and returned."""
        file = str(folder / CONFIG)
        shape = record(PairShape, plain.get("shape"), file, "learned.shape")
        check_range(shape.layers, 1, _MOST_LAYERS, file, "learned.shape.layers")
        turns = checked_member(plain, "turns", int, file)
        check_range(turns, 1, math.inf, file, "learned.turns")
        network = loaded_network(lambda: PairNetwork(shape), folder / NETWORK)
        reader = _reader(folder, plain, file)
        if _width(reader) != (shape.words or shape.dims):
            raise DataError("does not fit the words or the encoder of the folder", file=file, field="learned.shape")
        return cls(network, reader, turns)


_KINDS = {WordReader: "words", TokenReader: "pieces", TextEncoder: "vectors"}
"""The kind of reader, in config.json."""


def _reader(folder: Path, plain: Mapping[str, Any], file: str) -> TextReader:
    reads, max_length = checked_member(plain, "reads", str, file), checked_member(plain, "max_length", int, file)
    check_range(max_length, 1, math.inf, file, "learned.max_length")
    if reads not in _KINDS.values():
        raise DataError(f"must be one of {', '.join(_KINDS.values())}", file=file, field="learned.reads")
    if reads == "words":
        text = record(TextOptions, plain.get("text"), file, "learned.text")
        if text.tokenise not in RUBER_TOKENISERS:
            raise DataError(f"must be one of {', '.join(RUBER_TOKENISERS)}", file=file, field="learned.text.tokenise")
        require_tokeniser(text.tokenise)
        parse_strip(text.strip)
        return WordReader(read_texts(folder / WORDS), text, max_length)
    if reads == "pieces":
        return TokenReader(Vocabulary.load(folder), max_length)
    return TextEncoder.load(folder, max_length)


def _width(reader: TextReader) -> int:
    """Rows of the table of embeddings that a reader's ids need, or the size of its vectors."""
    if isinstance(reader, TextEncoder):
        return reader.width
    return len(reader.words) + FIRST_WORD if isinstance(reader, WordReader) else len(reader.vocabulary)


def _by_length(rows: Ragged) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each length the rows of that length, and their values. (rows,), (rows, length)"""
    found = []
    for length in np.unique(rows.lengths).tolist():
        chosen = np.flatnonzero(rows.lengths == length)
        found.append((chosen, rows.values[rows.offsets[chosen][:, None] + np.arange(length)]))
    return found


def _in_parts(compute: Callable[..., Tensor], *arrays: NDArray[Any]) -> NDArray[np.float32]:
    """The result of `compute`, `_ROWS` rows at a time; the last part is padded with zeros."""
    count = len(arrays[0])
    filled = []
    for array in arrays:
        whole = np.zeros((-(-count // _ROWS) * _ROWS, *array.shape[1:]), array.dtype)
        whole[:count] = array
        filled.append(torch.from_numpy(whole))
    parts = [compute(*part) for part in zip(*(torch.split(rows, _ROWS) for rows in filled), strict=True)]
    return torch.cat(parts).numpy()[:count]
