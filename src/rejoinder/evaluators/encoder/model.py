"""The interface of a trained model, in PyTorch or ONNX, and the presets of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.data.negatives import NegativeMixture
from rejoinder.errors import DataError
from rejoinder.evaluators.encoder.reading import PairTokeniser
from rejoinder.folders.schema import CONFIG, check_range, record
from rejoinder.learning.schedules import Schedule

# The interface of a trained model, in PyTorch or ONNX: it scores pairs, and is saved in a folder.
#
# tokenizer.json     the tokeniser
# encoder.json       the shape of the pretrained encoder         } to continue training:
# model.safetensors  the weights                                 } needs torch and transformers
# model.onnx         the model for ONNX Runtime
# model.int8.onnx    the same with int8 weights


POOLINGS = ("match", "mean", "cls")


class EncoderModel(Protocol):
    """Something that scores pairs and can be saved."""

    @property
    def precision(self) -> str:
        """Which weights it has: torch, fp32 or int8."""

    @property
    def settings(self) -> EncoderSettings:
        """How its input is made."""

    @property
    def tokeniser(self) -> PairTokeniser:
        """What makes its input."""

    def score(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """One score per pair, from 1 to 5."""

    def save(self, folder: Path) -> None:
        """Write the model's files into a folder."""


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """How pairs become the model's input."""

    max_length: int
    max_response: int
    speaker_marks: bool
    pad: int
    """The id of the padding token."""
    token_types: bool
    """Whether the network receives which tokens are context and which are reply."""
    pooling: str
    """How the vectors of tokens are pooled: their mean, the first (cls), or context against reply (match)."""
    towers: bool
    """Whether context and reply are also read apart."""

    @classmethod
    def of(cls, plain: Mapping[str, Any], folder: Path) -> EncoderSettings:
        """From what config.json holds."""
        file = str(folder / CONFIG)
        made = record(cls, plain, file, "learned")
        if made.pooling not in POOLINGS:
            raise DataError(f"must be one of {', '.join(POOLINGS)}", file=file, field="learned.pooling")
        for name in ("max_length", "max_response", "pad"):
            check_range(getattr(made, name), 0 if name == "pad" else 1, 1 << 24, file, f"learned.{name}")
        return made

    @property
    def plain(self) -> dict[str, Any]:
        """For config.json."""
        return asdict(self)

    def tokeniser(self, definition: str) -> PairTokeniser:
        """The tokeniser with these limits."""
        own_types = self.pooling != "match"
        return PairTokeniser(definition, self.max_length, self.max_response, self.speaker_marks, own_types, self.towers)


# How long each stage of training runs, and at what learning rate.


@dataclass(frozen=True, kw_only=True)
class EncoderPreset:
    """The schedule of each stage, the pooling, and the negatives of ranking."""

    ranking: Schedule
    regression: Schedule
    in_batch: Schedule
    in_batch_steps: int = 0
    """Steps of in-batch ranking at most; 0 leaves it out."""
    pooling: str = "mean"
    negatives: int = 1
    """Replies that do not fit, for each true one."""
    margin: float = 1.0
    """By how many points the true reply should score above one that does not fit."""
    mixture: NegativeMixture = field(default_factory=NegativeMixture)


_LIGHT: dict[str, Any] = {"dropout": False, "frozen_embeddings": True}


_IN_BATCH = Schedule(learning_rate=5e-5, batch=32, epochs=3, validate_every=250, **_LIGHT)


DISTILLATION = Schedule(learning_rate=1e-4, batch=4, epochs=3, validate_every=250, **_LIGHT)
"""For the student of a distillation; a batch is four contexts, each with all its replies."""


PRESETS: Mapping[str, EncoderPreset] = MappingProxyType(
    {
        # For a small encoder on a few cores: a few hours at most.
        "cpu": EncoderPreset(
            ranking=Schedule(learning_rate=5e-5, batch=16, epochs=3, most_steps=4000, validate_every=250, **_LIGHT),
            regression=Schedule(learning_rate=3e-5, batch=16, epochs=10, **_LIGHT),
            in_batch=_IN_BATCH,
            in_batch_steps=1000,
            pooling="match",
        ),
        # Zhao et al. 2020, Table 6 and appendix B; its negatives are random utterances (section 2). The paper gives
        # neither margin nor pooling, nor which weights are kept: these are ours. It has no in-batch ranking.
        "paper": EncoderPreset(
            ranking=Schedule(learning_rate=3e-6, batch=3, epochs=2, decay="plateau", fused=True),
            regression=Schedule(learning_rate=3e-6, batch=3, epochs=50, decay="plateau", fused=True),
            in_batch=_IN_BATCH,
            mixture=NegativeMixture(random=1, same_dialogue=0, echo=0, generic=0, shuffled=0, truncated=0, neighbour=0),
        ),
    }
)
"""Name -> how the stages run."""
