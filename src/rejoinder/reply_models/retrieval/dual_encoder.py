"""The dual encoder of Liu et al. 2016 (section 3) over one pretrained encoder: p = sigmoid(c^T M r + b).

The encoder reads contexts and replies, and its weights are not trained; M and b are learned from dialogues, true
replies against random ones. Only encoding is slow, and each text is encoded once. The form of the paper, two recurrent
networks that are trained as well, is in `dual_encoder_rnn.py`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rejoinder.arrays import Vectors
from rejoinder.data.negatives import Place, places_of
from rejoinder.learning.extras import require_extra
from rejoinder.learning.fitted import DialogueData
from rejoinder.learning.parameters import check_least, check_rates
from rejoinder.learning.schedules import Schedule
from rejoinder.loading.schema import check_range
from rejoinder.reply_models.base import Context
from rejoinder.reply_models.retrieval.base import Corpus, places_to_learn
from rejoinder.reply_models.retrieval.bilinear import BilinearRetrieval
from rejoinder.reply_models.retrieval.nearest import EXACT_UP_TO, index_of

if TYPE_CHECKING:
    from rejoinder.encoders.text_encoder import TextEncoder
    from rejoinder.reply_models.retrieval.bilinear_training import VectorPairs


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
        from rejoinder.encoders.text_encoder import TextEncoder
        from rejoinder.learning.loop import train_stage
        from rejoinder.reply_models.retrieval.bilinear_training import BilinearHead, PairStage

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
        from rejoinder.encoders.text_encoder import TextEncoder

        learned, encoder = super().load_learned(folder, plain), TextEncoder.load(folder, self.max_length)
        width = learned["vectors_"].shape[1]
        check_range(encoder.width, width, width, str(folder), "width of the encoder")
        return {**learned, "encoder_": encoder}

    def _pairs(
        self, encoder: TextEncoder, places: Sequence[Place], replies: Sequence[str], *, quiet: bool
    ) -> VectorPairs:
        from rejoinder.reply_models.retrieval.bilinear_training import VectorPairs

        number = {text: place for place, text in enumerate(replies)}
        answers = np.array([number[place.response] for place in places], np.int64)
        contexts = encoder.encode([self._text(place.context) for place in places], quiet=quiet)
        return VectorPairs(contexts, encoder.encode(replies, quiet=quiet), answers)

    def _text(self, context: Context) -> str:
        return " ".join(context if self.turns is None else context[-self.turns :])


def _different_replies(places: Sequence[Place]) -> list[str]:
    return list(dict.fromkeys(place.response for place in places))
