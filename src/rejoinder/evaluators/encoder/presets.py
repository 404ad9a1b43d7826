"""How long each stage of training runs, and at what learning rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from rejoinder.data.negatives import NegativeMixture
from rejoinder.learning.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Preset:
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


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        # For a small encoder on a few cores: a few hours at most.
        "cpu": Preset(
            ranking=Schedule(learning_rate=5e-5, batch=16, epochs=3, most_steps=4000, validate_every=250, **_LIGHT),
            regression=Schedule(learning_rate=3e-5, batch=16, epochs=10, **_LIGHT),
            in_batch=_IN_BATCH,
            in_batch_steps=1000,
            pooling="match",
        ),
        # Zhao et al. 2020, Table 6 and appendix B; its negatives are random utterances (section 2). The paper gives
        # neither margin nor pooling, nor which weights are kept: these are ours. It has no in-batch ranking.
        "paper": Preset(
            ranking=Schedule(learning_rate=3e-6, batch=3, epochs=2, decay="plateau", fused=True),
            regression=Schedule(learning_rate=3e-6, batch=3, epochs=50, decay="plateau", fused=True),
            in_batch=_IN_BATCH,
            mixture=NegativeMixture(random=1, same_dialogue=0, echo=0, generic=0, shuffled=0, truncated=0, neighbour=0),
        ),
    }
)
"""Name -> how the stages run."""
