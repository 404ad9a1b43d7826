"""One saved folder of every kind that the registry knows: evaluators, reply models, sentence encoders, bundled ones."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from registered_evaluators import NETWORK, REGISTERED
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.calibration import Calibration
from rejoinder.models.sentence_encoders import PretrainedEncoder, StoredVectors
from rejoinder.registry import (
    EVALUATORS,
    REPLY_MODELS,
    SHIPPED_EVALUATORS,
    build_reply_model,
    load_folder,
    shipped_folder,
    trainable_class,
)
from rejoinder.replies.base import ReplyModel
from rejoinder.types import Example
from small_dialogues import DIALOGUES, small_parameters, tiny_encoder
from small_evaluators import dialogues, judged
from tiny_causal import tiny_causal
from tiny_vectors import tiny_characters

_HOME = tempfile.TemporaryDirectory(prefix="rejoinder-saved-")
EXAMPLE = Example("1", ("how are you", "fine and you"), "very well", ("fine and you", "very well thanks"))


def _evaluator(name: str) -> Callable[[Path], None]:
    return lambda folder: REGISTERED[name]().fit(dialogues(), judged()).save(folder)


def _reply_model(name: str) -> Callable[[Path], None]:
    return lambda folder: build_reply_model(name, small_parameters(name)).fit(DIALOGUES).save(folder)


def _fitted(name: str, parameters: Callable[[], dict[str, Any]]) -> Callable[[Path], None]:
    return lambda folder: trainable_class(name)(**parameters()).fit(dialogues(), judged()).save(folder)


def _calibrated(folder: Path) -> None:
    rng = np.random.default_rng(0)
    raw = rng.uniform(0, 1, 80)
    fitted = REGISTERED["am"]().fit(dialogues())
    fitted.with_calibration(Calibration.fit(raw, np.clip(1 + 4 * raw + rng.normal(0, 0.3, 80), 1, 5))).save(folder)


def _exported(folder: Path) -> None:
    from tiny_onnx import write_tiny_network  # not everyone who wants a folder has the package `onnx`

    write_tiny_network(folder)


def _stored(folder: Path) -> None:
    texts = ("a", "b", EXAMPLE.response, *EXAMPLE.references, EXAMPLE.context)
    StoredVectors.of({text: np.arange(4.0) + len(text) for text in texts}, "made|1").save(folder)


def _nested_ensemble(folder: Path) -> None:
    member = folder.with_name("member of " + folder.name)
    _calibrated(member)
    made: Evaluator = trainable_class("ensemble")(members=(str(member), "chrf"))
    made.fit(DIALOGUES).save(folder)


def pretrained_members() -> tuple[str, ...]:
    """Names of a blend's members: two with one encoder, and two with one language model."""
    cosine = f"encoder-cosine(encoder='{tiny_encoder()}', against=last-turn"
    likelihood = f"likelihood(model='{tiny_causal()}', max_context=24, max_response=12"
    return (
        "length",
        f"{cosine}, max_length=32)",
        f"{cosine}, max_length=16, turns=2)",
        f"{likelihood}, form=conditional)",
        f"{likelihood}, form=pmi)",
    )


def _copy_of(folder_of: Callable[[], str | Path]) -> Callable[[Path], None]:
    def copy(folder: Path) -> None:
        shutil.copytree(folder_of(), folder)

    return copy


KINDS: dict[str, Callable[[Path], None]] = {
    **{name: _evaluator(name) for name in EVALUATORS},
    **{name: _reply_model(name) for name in REPLY_MODELS},
    "tweet2vec": _copy_of(tiny_characters),
    "stored-vectors": _stored,
    "pretrained": lambda folder: PretrainedEncoder.start(tiny_encoder(), 32).save(folder),
    "ruber, pretrained encoder": _fitted("ruber", lambda: {"encoder": tiny_encoder(), "max_length": 32, **NETWORK}),
    "encoder-dot, pretrained encoder": _fitted("encoder-dot", lambda: {"encoder": tiny_encoder(), "max_length": 32}),
    "fm, causal language model": _fitted("fm", lambda: {"lm": tiny_causal()}),
    "encoder, exported": _exported,
    "am, calibrated": _calibrated,
    "ensemble of a folder": _nested_ensemble,
    "blend of pretrained models": _fitted("blend", lambda: {"members": pretrained_members(), "models": ("ridge",)}),
    **{name: _copy_of(partial(shipped_folder, name)) for name in SHIPPED_EVALUATORS},
}
"""Name of a kind of folder -> what writes one. Encoders that are evaluators as well are listed once."""

WITH_TRANSFORMERS = (
    "encoder",
    "encoder-cosine",
    "likelihood",
    "ruber, pretrained encoder",
    "encoder-dot, pretrained encoder",
    "fm, causal language model",
    "dual-encoder",
    "causal-lm",
    "pretrained",
    "blend of pretrained models",
    "default@1",
)
"""Kinds of folders that contain a model of transformers."""


@cache
def saved_folder(kind: str) -> Path:
    """A folder of this kind, written once; it must not be changed."""
    folder = Path(_HOME.name, kind)
    KINDS[kind](folder)
    return folder


def copied_folder(kind: str, target: Path) -> Path:
    """A copy of such a folder. Its files are hard links: they may be replaced, but not written to."""
    shutil.copytree(saved_folder(kind), target, copy_function=os.link)
    return target


def use(folder: Path) -> None:
    """Load what a folder holds, and score one example, reply to it or encode it; its results are of the right kind."""
    model = load_folder(folder, {})
    if isinstance(model, Evaluator):
        scores = model.score([EXAMPLE])
        assert scores.shape == (1,)
        assert not np.isinf(scores).any()
        assert isinstance(model.signature, str)
    elif isinstance(model, ReplyModel):
        [reply] = model.reply([EXAMPLE.context])
        assert isinstance(reply, str)
    else:
        [vector] = model.encode([EXAMPLE.response])
        assert np.isfinite(vector).all()
