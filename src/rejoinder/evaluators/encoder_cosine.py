"""The cosine of a reply with its references, or with the last turn, by a pretrained sentence encoder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.files import changed_at
from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.evaluators.pretrained import Pretrained
from rejoinder.evaluators.scale import OVERFLOW
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.learning.parameters import check_least
from rejoinder.loading.schema import member
from rejoinder.metrics.base import best_reference, check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.model_folder import CONFIG
from rejoinder.types import Scores

if TYPE_CHECKING:
    from rejoinder.encoders.text_encoder import TextEncoder

NEEDS: Mapping[str, str] = MappingProxyType({"references": "references", "last-turn": "context"})
"""What a reply is compared with -> the field that an example must have."""


@dataclass(frozen=True, kw_only=True)
class SentenceCosine(Evaluator):
    """The cosine of two sentence vectors; a subclass says by which encoder."""

    raw_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    labels: ClassVar[Use] = "unused"

    @property
    def compared(self) -> tuple[str, str]:
        """What a reply is compared with, one of `NEEDS`, and how the scores of several references become one: `max` or
        `mean`."""
        return "references", "max"

    @property
    def last_turns(self) -> int:
        """How many of the context's last turns a reply is compared with."""
        return 1

    @abstractmethod
    def unit_vectors(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """One vector of length 1 per text. (texts, width)"""

    def predict(self, batch: Batch) -> Scores:
        """One cosine per example; those of empty replies are ignored."""
        against, refs = self.compared
        if against == "references":
            texts = [text for example in batch.examples for text in example.references]
            return best_reference(self._cosines(batch, texts, batch.owner.tolist()), batch, refs)
        rows = [row for row, example in enumerate(batch.examples) if example.context]
        scores = np.full(len(batch), np.nan)
        turns = [" ".join(batch.examples[row].context[-self.last_turns :]) for row in rows]
        scores[rows] = self._cosines(batch, turns, rows)
        return scores

    def _cosines(self, batch: Batch, others: list[str], owner: list[int]) -> Scores:
        """The cosine of each text with the reply that it belongs to; NaN for a blank text. (others,)"""
        places = [place for place, text in enumerate(others) if text.strip()]
        cosines = np.full(len(others), np.nan)
        if places:
            replies = self._vectors(batch, [batch.examples[owner[place]].response for place in places])
            vectors = self._vectors(batch, [others[place] for place in places])
            cosines[places] = np.clip((replies * vectors).sum(axis=1), -1.0, 1.0)
        return cosines

    def _vectors(self, batch: Batch, texts: list[str]) -> NDArray[np.float64]:
        """One vector per text; those of one batch are computed once for all metrics with the same encoder."""
        known: dict[str, NDArray[np.float64]] = batch.keep(("vectors", self.encoder_key), dict)
        new = list(dict.fromkeys(text for text in texts if text not in known))
        if new:
            known.update(zip(new, self.unit_vectors(new).astype(np.float64), strict=True))
        return np.stack([known[text] for text in texts])

    @property
    def encoder_key(self) -> Hashable:
        """What two metrics have in common whose vectors are the same."""
        return id(self)


@dataclass(frozen=True, kw_only=True)
class EncoderCosine(SentenceCosine, Pretrained):
    """The cosine of two sentence vectors, each the mean of its tokens' vectors.

    Against references it is embedding-average with contextual vectors. Against the last turn it needs no reference, and
    says whether a reply stays on topic. Nothing is learned: `fit()` loads the encoder.
    """

    name: ClassVar[str] = "encoder-cosine"
    measures: ClassVar[str] = "cosine of sentence vectors of the reply and of a reference or the last turn"
    citation: ClassVar[str] = "Reimers and Gurevych 2019, Sentence-BERT"

    encoder: str
    """A Hugging Face name, or the folder of a pretrained encoder."""
    against: str = "references"
    """What a reply is compared with: `references`, or `last-turn`, which needs no reference."""
    turns: int = 1
    """With `last-turn`, how many of the context's last turns are joined to one text."""
    refs: str = "max"
    """Of several references: the `max` or the `mean` of the cosines."""
    max_length: int = 128
    """Tokens that are read of a text, from its end."""

    encoder_: TextEncoder = field(init=False, repr=False, compare=False)
    digest_: str = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "against", list(NEEDS))
        check_choice(self, "refs", ("max", "mean"))
        check_least(self, {"turns": 1})
        if self.max_length < 4:
            raise CallError(f"{self.name}: max_length must be at least 4, not {self.max_length}")

    @property
    def needs(self) -> frozenset[str]:
        """References or a context."""
        return frozenset({NEEDS[self.against]})

    @property
    def cannot_score(self) -> str:
        """Why a reply has no score: as a rule, the text it is compared with is missing or blank."""
        return f"no {NEEDS[self.against]}, only blank ones, or {OVERFLOW}"

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The encoder."""
        return ((self.encoder, "encoder"),)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:  # noqa: ARG002 - there is nothing to learn
        """The encoder."""
        require_extra("train", "a sentence encoder")
        encoder, digest = _started(self.encoder, self.max_length, changed_at(self.encoder))
        return {"encoder_": encoder, "digest_": digest}

    @property
    def model_key(self) -> tuple[str, str]:
        """The encoder."""
        return self.encoder, self.digest_

    def learned_from(self, other: Self, folder: Path) -> Mapping[str, Any]:
        """The encoder of another, which reads as much of a text as this one's parameter says."""
        encoder = replace(other.encoder_, max_length=self.max_length)
        encoder.check(folder)
        return {"encoder_": encoder, "digest_": other.digest_}

    @property
    def encoder_key(self) -> Hashable:
        """The weights, and how much of a text is read."""
        return self.digest_, self.max_length

    @property
    def compared(self) -> tuple[str, str]:
        """The parameters `against` and `refs`."""
        return self.against, self.refs

    @property
    def last_turns(self) -> int:
        """The parameter `turns`."""
        return self.turns

    def unit_vectors(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """The encoder's vectors, which have length 1."""
        return self.encoder_.encode(texts)

    @property
    def signature(self) -> str:
        """Once fitted, with a hash of the encoder's weights, because a path says nothing about them."""
        if self.fit_ is None:
            return super().signature
        known = f"encoder:{Path(self.encoder).name}@{self.digest_}"
        return super().signature.replace(f"encoder:{self.encoder}", known, 1)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the encoder, so that the folder has everything that scoring needs."""
        self.encoder_.save(folder)
        return {"digest_": self.digest_}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        require_extra("train", "a sentence encoder")
        from rejoinder.encoders.text_encoder import TextEncoder

        digest = member(plain, "digest_", str, str(folder / CONFIG))
        return {"encoder_": TextEncoder.load(folder, self.max_length), "digest_": digest}


# Several metrics of a blend have the same encoder, and it may be large.
@lru_cache(maxsize=1)
def _started(name_or_folder: str, max_length: int, _changed: int) -> tuple[TextEncoder, str]:
    """A pretrained encoder, and a hash of it."""
    from rejoinder.encoders.text_encoder import TextEncoder

    encoder = TextEncoder.start(name_or_folder, max_length)
    return encoder, _digest(encoder)


def _digest(encoder: TextEncoder) -> str:
    """A short hash of tokeniser and weights."""
    found = blake2b(encoder.definition.encode(), digest_size=6)
    for name, weight in sorted(encoder.network.state_dict().items()):
        found.update(name.encode() + weight.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()
