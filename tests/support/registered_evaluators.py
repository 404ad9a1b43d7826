"""A small, quickly fitted evaluator for every name in the registry, and some with other parameters."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from rejoinder.evaluators.base import Evaluator
from rejoinder.registry import trainable_class
from rejoinder.replies.recurrent import HredModel
from small_dialogues import tiny_encoder
from small_evaluators import Familiar, Lengthy, dialogues
from tiny_causal import tiny_causal
from tiny_vectors import small_adem, small_c_adem, small_likeness, small_r_adem, tiny_characters

_HOME = tempfile.TemporaryDirectory(prefix="rejoinder-registered-")
LABELS: dict[str, Any] = {"dimension": "overall", "scale": (0.0, 7.0)}
STEPS: dict[str, Any] = {"in_batch_steps": 1, "steps": 1, "label_steps": 1}
NETWORK: dict[str, Any] = {"hidden": 8, "units": 8, "epochs": 2, "label_epochs": 2, "scale": (0.0, 7.0)}


@cache
def tiny_hred() -> str:
    """The folder of a hred that was hardly trained."""
    folder = Path(_HOME.name, "hred")
    HredModel(vocabulary=300, embedding=8, hidden=8, epochs=1).fit(dialogues()).save(folder)
    return str(folder)


def _made(name: str, **parameters: Any) -> Evaluator:
    made: Evaluator = trainable_class(name)(**parameters)
    return made


REGISTERED: dict[str, Callable[[], Evaluator]] = {
    "encoder": lambda: _made("encoder", encoder=tiny_encoder(), max_length=32, max_response=16, **STEPS, **LABELS),
    "ensemble": lambda: _made("ensemble", members=("length", "chrf")),
    "blend": lambda: _made("blend", members=("length", "chrf"), models=("ridge",)),
    "encoder-cosine": lambda: _made("encoder-cosine", encoder=tiny_encoder(), max_length=32),
    "skip-thought": lambda: _made("skip-thought", vocabulary=300, embedding=8, hidden=12, epochs=1),
    "likelihood": lambda: _made("likelihood", model=tiny_causal(), max_context=24, max_response=12),
    "static": lambda: _made("static", epochs=2, **LABELS),
    "am-fm": lambda: _made("am-fm"),
    "am": lambda: _made("am"),
    "fm": lambda: _made("fm"),
    "ruber": lambda: _made("ruber", **NETWORK),
    "ruber-ref": lambda: _made("ruber-ref"),
    "ruber-unref": lambda: _made("ruber-unref", **NETWORK),
    "adem": small_adem,
    "c-adem": small_c_adem,
    "r-adem": small_r_adem,
    "encoder-dot": lambda: _made("encoder-dot", encoder=tiny_characters()),
    "vhred-dot": lambda: _made("vhred-dot", encoder=tiny_hred()),
    "t2v-dot": lambda: _made("t2v-dot", encoder=tiny_characters()),
    "human-likeness": small_likeness,
}

SMALL: dict[str, Callable[[], Evaluator]] = {
    **REGISTERED,
    "lengthy": Lengthy,
    "familiar": Familiar,
    "ruber-unref, hierarchical": lambda: _made("ruber-unref", encoder="hierarchical", **NETWORK),
    "encoder-cosine, last turn": lambda: _made(
        "encoder-cosine", encoder=tiny_encoder(), max_length=32, against="last-turn"
    ),
}
