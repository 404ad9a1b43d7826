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
from rejoinder.errors import CallError, DataError
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

    @property
    def columns(self) -> tuple[str, ...]:
        """What `read` gives for each pair: the score first."""

    def score(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """One score per pair, from 1 to 5."""

    def read(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """The score of each pair and what else the network computes, from one pass. (pairs, columns)"""

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
    heads: tuple[str, ...] = ()
    """The names of the network's heads, in the order of its outputs."""
    head_data: tuple[str, ...] = ()
    """A hash of each file that the heads were learned from."""
    whole_replies: bool = False
    """Whether long replies are read in parts, without Markdown."""

    @classmethod
    def of(cls, plain: Mapping[str, Any], folder: Path) -> EncoderSettings:
        """From what config.json holds."""
        file = str(folder / CONFIG)
        made = record(cls, plain, file, "learned")
        if made.pooling not in POOLINGS:
            raise DataError(f"must be one of {', '.join(POOLINGS)}", file=file, field="learned.pooling")
        for name in ("max_length", "max_response", "pad"):
            check_range(getattr(made, name), 0 if name == "pad" else 1, 1 << 24, file, f"learned.{name}")
        if len(set(made.heads)) < len(made.heads) or (made.heads and not made.towers):
            raise DataError("must be different names, of a network with towers", file=file, field="learned.heads")
        return made

    @property
    def plain(self) -> dict[str, Any]:
        """For config.json."""
        return asdict(self)

    def tokeniser(self, definition: str) -> PairTokeniser:
        """The tokeniser with these limits."""
        own_types = self.pooling != "match"
        return PairTokeniser(
            definition,
            self.max_length,
            self.max_response,
            self.speaker_marks,
            own_types,
            self.towers,
            self.whole_replies,
        )


@dataclass(frozen=True, eq=False)
class OneHead:
    """A model whose score is one of its heads, from 0 to 1."""

    model: EncoderModel
    head: str

    @property
    def precision(self) -> str:
        """That of the model, and the head: both decide the score."""
        return f"{self.model.precision}|head:{self.head}"

    @property
    def settings(self) -> EncoderSettings:
        """Those of the model."""
        return self.model.settings

    @property
    def tokeniser(self) -> PairTokeniser:
        """That of the model."""
        return self.model.tokeniser

    @property
    def columns(self) -> tuple[str, ...]:
        """The score alone."""
        return ("score",)

    def score(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """What the head gives each pair."""
        return self.model.read(pairs)[:, self.model.columns.index(self.head)]

    def read(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """The same. (pairs, 1)"""
        return self.score(pairs)[:, None]

    def save(self, folder: Path) -> None:
        """CallError: a folder holds a network with all of its heads."""
        raise CallError(f"the head {self.head} cannot be saved in {folder}: expected the evaluator with all its heads")


# How long each stage of training runs, and at what learning rate.


@dataclass(frozen=True, kw_only=True)
class EncoderPreset:
    """The schedule of each stage, the pooling, and the negatives of ranking."""

    ranking: Schedule
    regression: Schedule
    in_batch: Schedule
    heads: Schedule
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


_HEADS = Schedule(learning_rate=5e-5, batch=16, epochs=3, validate_every=500, warm_up=0.05, patience=100, **_LIGHT)


DISTILLATION = Schedule(learning_rate=1e-4, batch=4, epochs=3, validate_every=250, **_LIGHT)
"""For the student of a distillation; a batch is four contexts, each with all its replies."""


PRESETS: Mapping[str, EncoderPreset] = MappingProxyType(
    {
        # For a small encoder on a few cores: a few hours at most.
        "cpu": EncoderPreset(
            ranking=Schedule(learning_rate=5e-5, batch=16, epochs=3, most_steps=4000, validate_every=250, **_LIGHT),
            regression=Schedule(learning_rate=3e-5, batch=16, epochs=10, **_LIGHT),
            in_batch=_IN_BATCH,
            heads=_HEADS,
            in_batch_steps=1000,
            pooling="match",
        ),
        # Zhao et al. 2020, Table 6 and appendix B; its negatives are random utterances (section 2). The paper gives
        # neither margin nor pooling, nor which weights are kept: these are ours. It has no in-batch ranking.
        "paper": EncoderPreset(
            ranking=Schedule(learning_rate=3e-6, batch=3, epochs=2, decay="plateau", fused=True),
            regression=Schedule(learning_rate=3e-6, batch=3, epochs=50, decay="plateau", fused=True),
            in_batch=_IN_BATCH,
            heads=_HEADS,
            mixture=NegativeMixture(random=1, same_dialogue=0, echo=0, generic=0, shuffled=0, truncated=0, neighbour=0),
        ),
    }
)
"""Name -> how the stages run."""
