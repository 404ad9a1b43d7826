"""Filters that leave replies out of a pool: offensive words, or a metric above or below a threshold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.contexts import digest_of
from rejoinder.errors import CallError
from rejoinder.metrics.base import Metric
from rejoinder.registry import load
from rejoinder.types import Example

_LOOKALIKES = str.maketrans("@$013457", "asoieast")
"""Characters that replace a letter in disguised words."""
_STRETCHED = re.compile(r"(.)\1{2,}")
_STARS = re.compile(r"[*#]+")
_STARRED = re.compile(r"(?<!\w)[a-z]+[*#]+[a-z]+(?!\w)")
_THRESHOLD = re.compile(r"(?P<metric>.+?)\s*(?P<side>[<>])\s*(?P<value>-?\d+(?:\.\d+)?)\s*", re.DOTALL)


class ReplyFilter(Protocol):
    """Decides which replies are left out."""

    @property
    def signature(self) -> str:
        """Everything that determines the decision, in one line."""

    def refuses(self, examples: Sequence[Example]) -> NDArray[np.bool_]:
        """Which replies are left out. (examples,)"""


@dataclass(frozen=True)
class WordFilter:
    """Refuses replies that contain a word of the list `resources/offensive_words.txt`."""

    @property
    def signature(self) -> str:
        """Changes when the list does."""
        return f"offensive-words:{digest_of(offensive_words())[:8]}"

    def refuses(self, examples: Sequence[Example]) -> NDArray[np.bool_]:
        """Which replies contain such a word. (examples,)"""
        return np.array([is_offensive(example.response) for example in examples], np.bool_)


@dataclass(frozen=True)
class MetricFilter:
    """Refuses replies that a metric, such as a toxicity classifier, scores above or below a threshold."""

    metric: Metric
    threshold: float
    above: bool = True

    @classmethod
    def parse(cls, spec: str) -> MetricFilter:
        """From 'NAME>0.5' or 'NAME<0.5', the form of the command line; NAME is anything that `load` accepts."""
        matched = _THRESHOLD.fullmatch(spec.strip())
        if not matched:
            raise CallError(f"cannot read {spec!r}: expected a metric and a threshold, such as 'NAME>0.5'")
        return cls(load(matched["metric"].strip()), float(matched["value"]), matched["side"] == ">")

    @property
    def signature(self) -> str:
        """The metric's signature and the threshold."""
        return f"{self.metric.signature}{'>' if self.above else '<'}{self.threshold}"

    def refuses(self, examples: Sequence[Example]) -> NDArray[np.bool_]:
        """Which replies score beyond the threshold; those that cannot be scored are kept. (examples,)"""
        if not examples:
            return np.zeros(0, np.bool_)
        scores = self.metric.score(examples)
        beyond: NDArray[np.bool_] = scores > self.threshold if self.above else scores < self.threshold
        return beyond


def is_offensive(text: str) -> bool:
    """Whether a text contains a word of the list, even with letters repeated, replaced by symbols, or starred out."""
    readings = _readings(text)
    return any(_pattern().search(reading) for reading in readings) or any(
        _is_starred(word) for reading in readings for word in _STARRED.findall(reading)
    )


@cache
def offensive_words() -> tuple[str, ...]:
    """The words of the list; one that ends in * matches every word with that prefix."""
    text = files("rejoinder").joinpath("resources/offensive_words.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def _readings(text: str) -> set[str]:
    """The text in lower case without accents: unchanged, and with disguised letters replaced."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    plain = plain.casefold()
    return {plain, _STRETCHED.sub(r"\1", plain.translate(_LOOKALIKES))}


def _is_starred(word: str) -> bool:
    """Whether a word with asterisks, such as f**k, matches a word of the list."""
    form = re.compile(_STARS.sub(lambda stars: rf"\w{{{len(stars[0])}}}", word))
    return any(form.fullmatch(listed.removesuffix("*")) for listed in offensive_words())


@cache
def _pattern() -> re.Pattern[str]:
    forms = [re.escape(word.removesuffix("*")) + (r"\w*" if word.endswith("*") else "") for word in offensive_words()]
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)")
