"""Whether a judge and the systems that it judges seem to be of one model family, by their names.

Language models score their own texts higher than people do (Panickssery et al. 2024, "LLM evaluators recognize and
favor their own generations").
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile("[a-z]{3,}")
_COMMON = frozenset("model chat bot base large small medium mini instruct api new old the system baseline test".split())
"""Words that name no family."""


def family_of(model: str) -> str:
    """The first word of a model's name, without its owner: llama of meta-llama/Llama-3.1-8B; "" if there is none."""
    return next((word for word in _words(model.rpartition("/")[2]) if word not in _COMMON), "")


def family_notes(model: str, systems: Iterable[str]) -> list[str]:
    """A warning for the systems whose name contains the family of the judge's model."""
    family = family_of(model)
    alike = sorted({system for system in systems if family and family in _words(system)})
    if not alike:
        return []
    return [
        f"{model} and the judged {', '.join(alike)} seem to be of one family, {family}: models tend to favour replies "
        "of their own family; add a judge of another one"
    ]


def _words(name: str) -> list[str]:
    """Runs of at least three letters."""
    return _WORD.findall(name.lower())
