"""Dual encoders (Liu et al. 2016, section 3): over one pretrained encoder, and with two networks of their own."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rejoinder.arrays import Ints, Vectors
from rejoinder.data.negatives import Place, places_of
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import read_arrays, write_arrays
from rejoinder.folders.schema import CONFIG, check_range, checked_member
from rejoinder.folders.sources import require_extra
from rejoinder.learning.learned import DialogueData
from rejoinder.learning.schedules import Schedule
from rejoinder.models.language_model import RecurrentModel
from rejoinder.options import check_least, check_rates
from rejoinder.replies.base import Context
from rejoinder.replies.corpus import (
    EXACT_UP_TO,
    Corpus,
    ExactIndex,
    GraphIndex,
    Retrieval,
    RowIndex,
    index_of,
    places_to_learn,
)
from rejoinder.types import Scores

if TYPE_CHECKING:
    from torch import Tensor

    from rejoinder.models.text_encoder import TextEncoder
    from rejoinder.replies.dual_network import DualNetwork, TokenPlace, VectorPairs
    from rejoinder.text.vocabulary import Ids, Vocabulary

# The dual encoder of Liu et al. 2016 (section 3) over one pretrained encoder: p = sigmoid(c^T M r + b).
#
# The encoder reads contexts and replies, and its weights are not trained; M and b are learned from dialogues, true
# replies against random ones. Only encoding is slow, and each text is encoded once. The form of the paper, two
# recurrent networks that are trained as well, is `RecurrentDualEncoder`.


# Retrieval by p = sigmoid(c^T M r + b) with any encoder of contexts and replies: shared by both dual encoders.


BILINEAR = "bilinear.safetensors"
GRAPH = "graph.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class BilinearRetrieval(Retrieval):
    """Copies the reply r with the highest p = sigmoid(c^T M r + b)."""

    has_encoder: ClassVar[bool] = True
    extra: ClassVar[str] = "train"
    trains_in_steps: ClassVar[bool] = True

    matrix_: Vectors = dataclasses.field(init=False, repr=False, compare=False)
    """M. (width, width)"""
    bias_: float = dataclasses.field(init=False, repr=False, compare=False)
    vectors_: Vectors = dataclasses.field(init=False, repr=False, compare=False)
    """One per row of the corpus. (rows, width)"""
    index_: RowIndex = dataclasses.field(init=False, repr=False, compare=False)

    @abstractmethod
    def encode_replies(self, texts: Sequence[str]) -> Vectors:
        """One vector per reply. (texts, width)"""

    def best_rows(self, contexts: Sequence[Context], left_out: Ints, seeds: Sequence[int]) -> Ints:
        """The row with the highest p; every row has one, so that the seeds are not used."""
        del seeds
        queries = self.encode_contexts(tuple(contexts)) @ self.matrix_
        found = self.index_.search(queries, 2)  # (contexts, 2)
        taken = found[:, 0] == left_out
        best: Ints = np.where(taken, found[:, 1], found[:, 0])
        return best

    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """The probability p of each candidate."""
        flat = [text for texts in candidates for text in texts]
        sizes = [len(texts) for texts in candidates]
        queries = np.repeat(self.encode_contexts(tuple(contexts)) @ self.matrix_, sizes, axis=0)
        logits = np.einsum("rw,rw->r", queries, self.encode_replies(flat)).astype(np.float64) + self.bias_
        return np.split(1 / (1 + np.exp(-logits)), np.cumsum(sizes)[:-1])

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write corpus, vectors and M; b is returned for config.json."""
        self.corpus_.save(folder)
        write_arrays(folder / BILINEAR, {"matrix": self.matrix_, "vectors": self.vectors_})
        graph = self.index_.arrays()
        if graph:
            write_arrays(folder / GRAPH, graph)
        return {"bias_": self.bias_}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        corpus = Corpus.load(folder)
        expected = {"matrix": Array("f", ("width", "width")), "vectors": Array("f", ("rows", "width"))}
        arrays = read_arrays(folder / BILINEAR, expected, rows=len(corpus))
        vectors, path = arrays["vectors"], folder / GRAPH
        index: RowIndex = ExactIndex(vectors)
        if path.is_file():
            index = GraphIndex.from_arrays(read_arrays(path, {"graph": Array("u1", ("bytes",))}), vectors, path)
        return {
            "corpus_": corpus,
            "matrix_": arrays["matrix"],
            "bias_": checked_member(plain, "bias_", float, str(folder / CONFIG)),
            "vectors_": vectors,
            "index_": index,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class DualEncoder(BilinearRetrieval):
    """Copies the reply r with the highest p = sigmoid(c^T M r + b)."""

    name: ClassVar[str] = "dual-encoder"
    about: ClassVar[str] = "copies the reply whose vector fits that of the context best, by a learned matrix"
    citation: ClassVar[str] = "Lowe et al. 2015, The Ubuntu Dialogue Corpus; Liu et al. 2016, How NOT To Evaluate"

    encoder: str
    """Hugging Face name or folder of a pretrained encoder."""
    turns: int | None = 3
    """How many of a context's last turns are read; all if None."""
    max_length: int = 64
    """How many of a context's last tokens are read, and of a reply's."""
    negatives: int = 9
    """Random replies that each true one is contrasted with."""
    epochs: int = 20
    """Passes over the dialogues at most; training ends after three epochs without a better validation figure."""
    learning_rate: float = 1e-3
    """Learning rate of M and b."""
    exact_up_to: int = EXACT_UP_TO
    """Up to this many replies, all are compared; above it, the nearest are found with an HNSW graph."""

    encoder_: TextEncoder = dataclasses.field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_least(self, {"turns": 1, "max_length": 4, "negatives": 1, "epochs": 1, "exact_up_to": 1})
        check_rates(self, "learning_rate")

    @property
    def schedule(self) -> Schedule:
        """How M and b are trained."""
        return Schedule(
            learning_rate=self.learning_rate,
            batch=256,
            epochs=self.epochs,
            decay="constant",
            patience=3,
            clip=math.inf,
            weight_decay=0.0,
            fused=True,
        )

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The encoder."""
        return ((self.encoder, "encoder"),)

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """The vectors of all replies, M and b."""
        require_extra("train", "a dual encoder")
        from rejoinder.learning.loop import train_stage
        from rejoinder.models.text_encoder import TextEncoder
        from rejoinder.replies.dual_network import BilinearHead, PairStage

        places, held_out = places_to_learn(self.name, data.dialogues), places_of(data.valid)
        corpus = Corpus.of_replies(places)
        encoder = TextEncoder.start(self.encoder, self.max_length)
        pairs = self._pairs(encoder, places, corpus.replies, quiet=data.run.quiet)
        valid = self._pairs(encoder, held_out, _different_replies(held_out), quiet=data.run.quiet) if held_out else None
        head = BilinearHead(encoder.width)
        stage = PairStage(head, pairs, valid, data.seed, self.negatives)
        train_stage(stage, self.schedule, data.seed, data.run, self.training_key(data))
        return {
            "corpus_": corpus,
            "encoder_": encoder,
            "matrix_": head.matrix.detach().cpu().numpy().copy(),
            "bias_": float(head.bias.detach()),
            "vectors_": pairs.replies,
            "index_": index_of(pairs.replies, self.exact_up_to),
        }

    def encode_contexts(self, contexts: tuple[Context, ...]) -> Vectors:
        """One vector of length 1 per context. (contexts, width)"""
        return self.encoder_.encode([self._text(context) for context in contexts])

    def encode_replies(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 per reply. (texts, width)"""
        return self.encoder_.encode(texts)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the encoder with the rest."""
        self.encoder_.save(folder)
        return super().save_learned(folder)

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        require_extra("train", "a dual encoder")
        from rejoinder.models.text_encoder import TextEncoder

        learned, encoder = super().load_learned(folder, plain), TextEncoder.load(folder, self.max_length)
        width = learned["vectors_"].shape[1]
        check_range(encoder.width, width, width, str(folder), "width of the encoder")
        return {**learned, "encoder_": encoder}

    def _pairs(
        self, encoder: TextEncoder, places: Sequence[Place], replies: Sequence[str], *, quiet: bool
    ) -> VectorPairs:
        from rejoinder.replies.dual_network import VectorPairs

        number = {text: place for place, text in enumerate(replies)}
        answers = np.array([number[place.response] for place in places], np.int64)
        contexts = encoder.encode([self._text(place.context) for place in places], quiet=quiet)
        return VectorPairs(contexts, encoder.encode(replies, quiet=quiet), answers)

    def _text(self, context: Context) -> str:
        return " ".join(context if self.turns is None else context[-self.turns :])


def _different_replies(places: Sequence[Place]) -> list[str]:
    return list(dict.fromkeys(place.response for place in places))


# The dual encoder of Liu et al. 2016 (section 3) in the form of the paper: two GRUs, M and b, trained together.


_AT_ONCE = 256
"""Texts that are encoded at once."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentDualEncoder(RecurrentModel, BilinearRetrieval):
    """Copies the reply r with the highest p = sigmoid(c^T M r + b), where one GRU reads c and another r."""

    name: ClassVar[str] = "dual-encoder-rnn"
    about: ClassVar[str] = "copies the reply that fits best by two GRUs, one for contexts and one for replies"
    citation: ClassVar[str] = "Lowe et al. 2015, The Ubuntu Dialogue Corpus; Liu et al. 2016, How NOT To Evaluate"

    turns: int = 3
    batch: int = 64
    """Replies per batch; each is contrasted with the others."""
    context_tokens: int = 80
    """How many of a context's last tokens are read."""
    negatives: int = 9
    """Weight of all wrong replies of a context together; its true reply has weight 1."""
    exact_up_to: int = EXACT_UP_TO
    """Up to this many replies, all are compared; above it, the nearest are found with an HNSW graph."""

    vocabulary_: Vocabulary = dataclasses.field(init=False, repr=False, compare=False)
    network_: DualNetwork = dataclasses.field(init=False, repr=False, compare=False)

    def least(self) -> dict[str, float]:
        """Parameter -> its smallest allowed value."""
        own = {"turns": 1, "batch": 2, "context_tokens": 1, "negatives": 1, "exact_up_to": 1}
        return super().least() | own

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """The vocabulary, the network with the weights of the best recall, and the vectors of all replies."""
        require_extra("train", self.name)
        from rejoinder.learning.checkpoints import seeded
        from rejoinder.learning.loop import train_stage
        from rejoinder.replies.dual_network import PlaceStage

        places = places_to_learn(self.name, data.dialogues)
        vocabulary = self.learned_vocabulary(data.dialogues)
        network = seeded(data.seed, lambda: self.make_network(vocabulary))
        learned, held_out = (self._token_places(some, vocabulary) for some in (places, places_of(data.valid)))
        stage = PlaceStage(network, learned, held_out, data.seed, self.negatives)
        train_stage(stage, self.schedule, data.seed, data.run, self.training_key(data))
        corpus = Corpus.of_replies(places)
        vectors = _vectors(network.replies, vocabulary.encode(corpus.replies, self.longest))
        return {
            "corpus_": corpus,
            "vocabulary_": vocabulary,
            "network_": network,
            "matrix_": network.matrix.detach().cpu().numpy().copy(),
            "bias_": float(network.bias.detach()),
            "vectors_": vectors,
            "index_": index_of(vectors, self.exact_up_to),
        }

    def encode_contexts(self, contexts: tuple[Context, ...]) -> Vectors:
        """One vector per context: the last states of the GRU that reads contexts. (contexts, hidden)"""
        return _vectors(self.network_.contexts, self._context_rows(contexts, self.vocabulary_))

    def encode_replies(self, texts: Sequence[str]) -> Vectors:
        """One vector per reply: the last states of the GRU that reads replies. (texts, hidden)"""
        return _vectors(self.network_.replies, self.vocabulary_.encode(texts, self.longest))

    def make_network(self, vocabulary: Vocabulary) -> DualNetwork:
        """Two GRUs, M and b."""
        from rejoinder.replies.dual_network import DualNetwork

        return DualNetwork(self.sizes(vocabulary))

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write vocabulary and weights with the rest."""
        return RecurrentModel.save_learned(self, folder) | BilinearRetrieval.save_learned(self, folder)

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        learned = BilinearRetrieval.load_learned(self, folder, plain)
        check_range(learned["vectors_"].shape[1], self.hidden, self.hidden, str(folder), "width of the vectors")
        return {**RecurrentModel.load_learned(self, folder, plain), **learned}

    def _token_places(self, places: Sequence[Place], vocabulary: Vocabulary) -> list[TokenPlace]:
        from rejoinder.replies.dual_network import TokenPlace

        contexts = self._context_rows((place.context for place in places), vocabulary)
        replies = vocabulary.encode([place.response for place in places], self.longest)
        return [TokenPlace(*pair) for pair in zip(contexts, replies, strict=True)]

    def _context_rows(self, contexts: Iterable[Context], vocabulary: Vocabulary) -> list[Ids]:
        """The last turns of each context as one row of tokens."""
        from rejoinder.models.token_dialogues import context_of, token_contexts

        tokens = token_contexts(contexts, vocabulary, turns=self.turns, longest=self.longest)
        return [context_of(turns, self.context_tokens) for turns in tokens]


def _vectors(read: Callable[[Sequence[Ids]], Tensor], rows: Sequence[Ids]) -> Vectors:
    """The vector that a reader gives for each row; rows of similar length are read together. (rows, hidden)"""
    import torch

    order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    found: list[Vectors] = []
    with torch.inference_mode():
        for start in range(0, len(order), _AT_ONCE):
            chosen = [rows[row] for row in order[start : start + _AT_ONCE]]
            found.append(read(chosen).float().cpu().numpy())
    return np.concatenate(found)[np.argsort(order)]
