"""The systems of a pool: trained reply models, each under a name and with its decoding."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import CallError
from rejoinder.registry import load_reply_model
from rejoinder.reply_models.base import ReplyModel
from rejoinder.reply_models.decoding import Decoding

TRUE, RANDOM = "true", "random"
"""Systems that are not models: the true reply, and the true reply of another context."""

_SEPARATOR = re.compile(r",(?![^()]*\))")  # a comma outside the parentheses of a decoding


@dataclass(frozen=True)
class System:
    """A reply model, and the name that is given to its replies."""

    name: str
    model: ReplyModel
    decoding: Decoding | None = None

    @property
    def signature(self) -> str:
        """Everything that determines its replies, in one line."""
        decoded = "" if self.decoding is None else f"|decoding:{self.decoding.signature}"
        return f"{self.model.signature}{decoded}"


def systems_of(specs: Iterable[str], decoding: Decoding | None = None) -> list[System]:
    """From 'NAME=FOLDER' or 'NAME=FOLDER@nucleus(p=0.9)', several of them separated by commas.

    NAME defaults to the model's own name. `decoding` is used for models that decode and are given none.
    """
    systems: dict[str, System] = {}
    for spec in (part.strip() for given in specs for part in _SEPARATOR.split(given)):
        system = _system(spec, decoding)
        if system.name in systems:
            raise CallError(f"two systems are named {system.name!r}: expected a different name for each, NAME=FOLDER")
        systems[system.name] = system
    check_names(systems)
    return list(systems.values())


def check_names(names: Collection[str]) -> None:
    """Raise a CallError where no system is named, or one as a system that is not a model."""
    if not names:
        raise CallError("no system is named: expected at least one reply model")
    for name in (TRUE, RANDOM):
        if name in names:
            raise CallError(f"a system is named {name!r}, as the {name} reply: expected another name, NAME=FOLDER")


def also_of(given: str) -> list[str]:
    """From 'true,random'."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in {TRUE, RANDOM} or names.count(name) > 1:
            raise CallError(f"also takes {TRUE} and {RANDOM}, each once, not {given!r}")
    return names


def check_decodes(model: ReplyModel, asked: str) -> None:
    """Raise a CallError if a model that copies replies is given a decoding; `asked` is what the user wrote."""
    if not model.decodes:
        raise CallError(f"{model.name} copies replies of its corpus: it takes no decoding, but {asked!r} gives one")


def _system(spec: str, decoding: Decoding | None) -> System:
    name, folder, how = "", spec, ""
    if not Path(folder).is_dir():
        name, equals, rest = spec.partition("=")
        name, folder = (name.strip(), rest.strip()) if equals and "@" not in name else ("", spec)
    if not Path(folder).is_dir():
        folder, _, how = folder.rpartition("@") if "@" in folder else (folder, "", "")
    if not folder:
        raise CallError(f"cannot read the system {spec!r}: expected NAME=FOLDER")
    model = load_reply_model(folder)
    chosen = Decoding.parse(how) if how else decoding if model.decodes else None
    if chosen is not None:
        check_decodes(model, spec)
    return System(name or model.name, model, chosen)
