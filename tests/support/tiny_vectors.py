"""Evaluators over a character encoder of a few hundred weights, which is trained once in a run of the tests."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import torch

from rejoinder.evaluators.adem.adem import Adem, ContextAdem, ReferenceAdem
from rejoinder.evaluators.adem.baselines import HumanLikeness
from rejoinder.models.tweet2vec import Tweet2Vec
from small_evaluators import dialogues

torch.set_num_threads(1)  # no matrix here is worth a second one

_HOME = tempfile.TemporaryDirectory(prefix="rejoinder-tiny-vectors-")
TINY = {"embedding": 4, "hidden": 4, "width": 8, "longest": 40, "steps": 2, "batch": 4}


@cache
def tiny_characters() -> str:
    """The folder of a tweet2vec that learned next to nothing."""
    folder = Path(_HOME.name, "characters")
    Tweet2Vec(**TINY).fit(dialogues()).save(folder)
    return str(folder)


def _adem(cls: type[Adem]) -> Adem:
    given = {"components": 3, "gamma": 0.02, "towards": "zero", "dimension": "overall", "scale": (0.0, 7.0)}
    return cls(encoder=tiny_characters(), **given)  # type: ignore[arg-type]


def small_adem() -> Adem:
    """ADEM."""
    return _adem(Adem)


def small_c_adem() -> Adem:
    """C-ADEM."""
    return _adem(ContextAdem)


def small_r_adem() -> Adem:
    """R-ADEM."""
    return _adem(ReferenceAdem)


def small_likeness() -> HumanLikeness:
    """One that takes the contract's first system for people."""
    return HumanLikeness(encoder=tiny_characters(), components=3, human=("s0",))
