"""The dual encoder of how-not (section 3): one encoder reads contexts, one replies, p = sigmoid(c^T M r + b).

The encoders are one pretrained encoder whose weights stay as they are; M and b are learned from dialogues, true
replies against random ones. Encoding is then the only slow part, and is done once a text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rejoinder.data.negatives import Place, places_of
from rejoinder.errors import CallError, MissingExtraError
from rejoinder.generators.base import Context, ReplyData, Vectors
from rejoinder.generators.nearest import EXACT_UP_TO, ExactIndex, GraphIndex, Index, index_of
from rejoinder.generators.retrieval import Corpus, Retrieval, places_to_learn
from rejoinder.models.saving import read_arrays, write_arrays
from rejoinder.text.ragged import Ints
from rejoinder.types import Scores

if TYPE_CHECKING:
    from rejoinder.models.bilinear import VectorPairs
    from rejoinder.models.text_encoder import TextEncoder

BILINEAR = "bilinear.safetensors"
GRAPH = "graph.safetensors"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DualEncoder(Retrieval):
    """The reply r of the highest p = sigmoid(c^T M r + b)."""

    name: ClassVar[str] = "dual-encoder"
    about: ClassVar[str] = "copies the reply whose vector fits that of the context best, by a learned matrix"
    citation: ClassVar[str] = "Lowe et al. 2015, The Ubuntu Dialogue Corpus; Liu et al. 2016, How NOT To Evaluate"
    has_encoder: ClassVar[bool] = True
    extra: ClassVar[str] = "train"

    encoder: str
    """A Hugging Face name, or the folder of a pretrained encoder."""
    turns: int | None = 3
    """How many of a context's last turns are read; None: all."""
    max_length: int = 64
    """Tokens that are read of a context, from its end, and of a reply."""
    negatives: int = 9
    """Random replies that each true one is learned against."""
    epochs: int = 20
    """At most; with validation dialogues it ends sooner."""
    learning_rate: float = 1e-3
    exact_up_to: int = EXACT_UP_TO
    """Above so many replies the nearest are found by a graph, not by comparing all."""

    encoder_: TextEncoder = dataclasses.field(init=False, repr=False, compare=False)
    matrix_: Vectors = dataclasses.field(init=False, repr=False, compare=False)
    """M. (width, width)"""
    bias_: float = dataclasses.field(init=False, repr=False, compare=False)
    vectors_: Vectors = dataclasses.field(init=False, repr=False, compare=False)
    """Those of the corpus's replies. (rows, width)"""
    index_: Index = dataclasses.field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        for name, least in {"turns": 1, "max_length": 4, "negatives": 1, "epochs": 1, "exact_up_to": 1}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise CallError(f"{self.name}: {name} must be at least {least}, not {value}")
        if not 0 < self.learning_rate <= 1:
            raise CallError(f"{self.name}: learning_rate must be above 0 and at most 1, not {self.learning_rate}")

    def learn(self, data: ReplyData) -> Mapping[str, Any]:
        """The vectors of all replies, M and b."""
        _require_torch()
        from rejoinder.models.bilinear import BilinearTraining, learn_bilinear
        from rejoinder.models.text_encoder import TextEncoder

        places = places_to_learn(self.name, data.dialogues)
        corpus = Corpus.of_replies(places)
        encoder = TextEncoder.start(self.encoder, self.max_length)
        quiet = data.run is None or data.run.quiet
        pairs = self._pairs(encoder, places, corpus.replies, quiet=quiet)
        apart = places_of(data.valid)
        valid = self._pairs(encoder, apart, _different_replies(apart), quiet=quiet) if apart else None
        how = BilinearTraining(negatives=self.negatives, epochs=self.epochs, learning_rate=self.learning_rate)
        matrix, bias = learn_bilinear(pairs, valid, how, data.seed)
        return {
            "corpus_": corpus,
            "encoder_": encoder,
            "matrix_": matrix,
            "bias_": bias,
            "vectors_": pairs.replies,
            "index_": index_of(pairs.replies, self.exact_up_to),
        }

    def best_rows(self, contexts: Sequence[Context], left_out: Ints, seeds: Sequence[int]) -> Ints:
        """The row of the highest p; every row has one, so that the seeds are not used."""
        del seeds
        queries = self.encode_contexts(tuple(contexts)) @ self.matrix_
        found = self.index_.search(queries, 2)  # (contexts, 2)
        taken = found[:, 0] == left_out
        best: Ints = np.where(taken, found[:, 1], found[:, 0])
        return best

    def candidate_scores(self, contexts: Sequence[Context], candidates: Sequence[Sequence[str]]) -> list[Scores]:
        """p of each candidate."""
        flat = [text for texts in candidates for text in texts]
        sizes = [len(texts) for texts in candidates]
        queries = np.repeat(self.encode_contexts(tuple(contexts)) @ self.matrix_, sizes, axis=0)
        logits = np.einsum("rw,rw->r", queries, self.encoder_.encode(flat)).astype(np.float64) + self.bias_
        return np.split(1 / (1 + np.exp(-logits)), np.cumsum(sizes)[:-1])

    def encode_contexts(self, contexts: tuple[Context, ...]) -> Vectors:
        """One vector a context, of length 1. (contexts, width)"""
        return self.encoder_.encode([self._text(context) for context in contexts])

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write corpus, encoder, vectors and M; b is given back."""
        self.corpus_.save(folder)
        self.encoder_.save(folder)
        write_arrays(folder / BILINEAR, {"matrix": self.matrix_, "vectors": self.vectors_})
        graph = self.index_.arrays()
        if graph:
            write_arrays(folder / GRAPH, graph)
        return {"bias_": self.bias_}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        _require_torch()
        from rejoinder.models.text_encoder import TextEncoder

        arrays = read_arrays(folder / BILINEAR)
        graph = read_arrays(folder / GRAPH) if (folder / GRAPH).is_file() else None
        return {
            "corpus_": Corpus.load(folder),
            "encoder_": TextEncoder.load(folder, self.max_length),
            "matrix_": arrays["matrix"],
            "bias_": plain["bias_"],
            "vectors_": arrays["vectors"],
            "index_": GraphIndex.from_arrays(graph) if graph else ExactIndex(arrays["vectors"]),
        }

    def _pairs(
        self, encoder: TextEncoder, places: Sequence[Place], replies: Sequence[str], *, quiet: bool
    ) -> VectorPairs:
        from rejoinder.models.bilinear import VectorPairs

        number = {text: place for place, text in enumerate(replies)}
        answers = np.array([number[place.response] for place in places], np.int64)
        contexts = encoder.encode([self._text(place.context) for place in places], quiet=quiet)
        return VectorPairs(contexts, encoder.encode(replies, quiet=quiet), answers)

    def _text(self, context: Context) -> str:
        return " ".join(context if self.turns is None else context[-self.turns :])


def _different_replies(places: Sequence[Place]) -> list[str]:
    return list(dict.fromkeys(place.response for place in places))


def _require_torch() -> None:
    """Raise a MissingExtraError where what an encoder runs on is not installed."""
    if any(find_spec(module) is None for module in ("torch", "transformers", "tokenizers")):
        raise MissingExtraError("a dual encoder", "train")
