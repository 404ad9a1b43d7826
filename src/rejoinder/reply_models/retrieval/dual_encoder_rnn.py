"""The dual encoder of Liu et al. 2016 (section 3) in the form of the paper: two GRUs, M and b, trained together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rejoinder.arrays import Vectors
from rejoinder.data.negatives import Place, places_of
from rejoinder.language_models.recurrent.model import RecurrentModel
from rejoinder.learning.extras import require_extra
from rejoinder.learning.fitted import DialogueData
from rejoinder.loading.schema import check_range
from rejoinder.reply_models.base import Context
from rejoinder.reply_models.retrieval.base import Corpus, places_to_learn
from rejoinder.reply_models.retrieval.bilinear import BilinearRetrieval
from rejoinder.reply_models.retrieval.nearest import EXACT_UP_TO, index_of

if TYPE_CHECKING:
    from torch import Tensor

    from rejoinder.reply_models.retrieval.dual_network import DualNetwork, TokenPlace
    from rejoinder.text.vocabulary import Ids, Vocabulary

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
        from rejoinder.learning.loop import train_stage
        from rejoinder.learning.weights import seeded
        from rejoinder.reply_models.retrieval.dual_network import PlaceStage

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
        from rejoinder.reply_models.retrieval.dual_network import DualNetwork

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
        from rejoinder.reply_models.retrieval.dual_network import TokenPlace

        contexts = self._context_rows((place.context for place in places), vocabulary)
        replies = vocabulary.encode([place.response for place in places], self.longest)
        return [TokenPlace(*pair) for pair in zip(contexts, replies, strict=True)]

    def _context_rows(self, contexts: Iterable[Context], vocabulary: Vocabulary) -> list[Ids]:
        """The last turns of each context as one row of tokens."""
        from rejoinder.language_models.recurrent.token_dialogues import context_of, token_contexts

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
