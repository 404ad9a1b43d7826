"""Parsing a judge's answer: a mean over the five digits, or the reason why it cannot be used.

With log-probabilities the score is the mean of 1 to 5, each weighted by the probability of its digit as the first
token, renormalised over the five (Liu et al. 2023, G-Eval). Servers differ in whether they report log-probabilities
before or after they mask tokens for sampling, so that only ratios between digits are used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import add
from typing import Any

from rejoinder.evaluators.judge.rubrics import DIGITS

LEAST_MASS = 0.2
"""The five digits must hold at least this share of the probability."""
_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}
_DIGIT = re.compile(r"(?<![\d.])[1-5](?![\d.]*\d)")
_WORD = re.compile(rf"\b({'|'.join(_WORDS)})\b", re.IGNORECASE)
_LETTER = r"""[\s"'(\[*]*([{}])(?:[\s]*$|[.,:;)\]"'*\n])"""
"""A letter that is an answer by itself: "A", "(B)", "C." but not "A reply" or "Both"."""
_LONGEST_REASON = 2000
_MOST_TOKENS = 10_000_000
"""Of one request or answer: the longest context of a model in 2025 (Llama 4 Scout)."""


@dataclass(frozen=True)
class Verdict:
    """One answer's judgement of one reply."""

    score: float
    """NaN where the answer cannot be used."""
    problem: str = ""
    """Why it cannot."""
    reason: str = ""
    """The judge's justification of the score, if it was asked for one."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written, how many of them are estimates, and in how many answers."""

    read: int = 0
    written: int = 0
    read_estimated: int = 0
    written_estimated: int = 0
    estimates: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


def text_of(response: Mapping[str, Any]) -> str:
    """The text of an answer; "" where it has none."""
    try:
        content = response["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return ""
    return content if isinstance(content, str) else ""


def usage_of(response: Mapping[str, Any], read: int, written: int) -> Usage:
    """Tokens read and written as the server counted them, or else the given estimates.

    Some servers report no counts, only one of them, or counts that cannot be right, such as 0 for an answer with text.
    """
    usage = response.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    found_read = _count(counts.get("prompt_tokens"), 1)
    found_written = _count(counts.get("completion_tokens"), 0 if _is_empty(response) else 1)
    return Usage(
        read if found_read is None else found_read,
        written if found_written is None else found_written,
        read if found_read is None else 0,
        written if found_written is None else 0,
        int(found_read is None or found_written is None),
    )


def _count(found: object, least: int) -> int | None:
    """A number of tokens; None where it is no number, or cannot be right."""
    return found if type(found) is int and least <= found <= _MOST_TOKENS else None


def _is_empty(response: Mapping[str, Any]) -> bool:
    """Whether the answer has neither text nor anything in its place, such as thoughts."""
    try:
        message = response["choices"][0]["message"]
    except (KeyError, IndexError, TypeError):
        return True
    return isinstance(message, dict) and not any(value for name, value in message.items() if name != "role")


def has_logprobs(response: Mapping[str, Any]) -> bool:
    """Whether the server gave log-probabilities of alternatives."""
    return any(entry.get("top_logprobs") for entry in _entries(response))


def verdict_of(response: Mapping[str, Any], *, reason: bool = False) -> Verdict:
    """The score by the answer's log-probabilities, or else the digit in its text."""
    text = text_of(response)
    said = _reason(text) if reason else ""
    for entry in _digit_entries(response, after_key=reason):
        masses = _masses(entry)
        total = sum(masses)
        if total >= LEAST_MASS:
            return Verdict(sum(int(digit) * mass for digit, mass in zip(DIGITS, masses, strict=True)) / total, "", said)
        if entry["token"].strip():
            return Verdict(math.nan, f"the digits hold less than {LEAST_MASS:.0%} of the probability", said)
    digit = digit_in(text)
    return Verdict(math.nan, "no digit from 1 to 5 in the answer", said) if digit is None else Verdict(digit, "", said)


def mean_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict from several samples: the mean of those that can be used."""
    scores = [verdict.score for verdict in verdicts if not math.isnan(verdict.score)]
    reason = next((verdict.reason for verdict in verdicts if verdict.reason), "")
    if not scores:
        return Verdict(math.nan, next((verdict.problem for verdict in verdicts), "no answer"), reason)
    return Verdict(math.fsum(scores) / len(scores), "", reason)


def digit_in(text: str) -> float | None:
    """The first standalone number from 1 to 5, as a digit or a word; None if there is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    score = found.get("score") if isinstance(found, dict) else None
    if isinstance(score, int | float) and not isinstance(score, bool) and 1 <= score <= 5:
        return float(score)
    if matched := _DIGIT.search(text):
        return float(matched[0])
    if matched := _WORD.search(text):
        return float(_WORDS[matched[0].lower()])
    return None


def letter_masses(response: Mapping[str, Any], letters: str) -> list[float] | None:
    """The share of the probability of each letter as the first token; 0 or 1 if there are no log-probabilities.

    None where the letters hold too little of the probability, or the answer is none of them.
    """
    for entry in _entries(response):
        if not entry.get("top_logprobs") or not entry["token"].strip():
            continue
        masses = [_mass(entry, letter) for letter in letters]
        # The sampled text is no way out: it would count the rare samples that happen to begin with a letter.
        return [mass / sum(masses) for mass in masses] if sum(masses) >= LEAST_MASS else None
    said = re.match(_LETTER.format(letters), text_of(response))
    return [float(letter == said[1]) for letter in letters] if said else None


def _digit_entries(response: Mapping[str, Any], *, after_key: bool) -> list[dict[str, Any]]:
    """The tokens that may hold the score: all, or in a JSON object those after `"score":`."""
    entries = [entry for entry in _entries(response) if entry.get("top_logprobs")]
    if not after_key:
        return entries
    written = ""
    for place, entry in enumerate(entries):
        if re.search(r'"score"\s*:\s*$', written) and entry["token"].strip():
            return entries[place:]
        written += entry["token"]
    return []


def _entries(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tokens of the answer that have the documented structure."""
    try:
        content = response["choices"][0]["logprobs"]["content"]
    except (KeyError, IndexError, TypeError):
        return []
    if not isinstance(content, list):
        return []
    return [entry for entry in content if isinstance(entry, dict) and isinstance(entry.get("token"), str)]


def _masses(entry: Mapping[str, Any]) -> list[float]:
    return [_mass(entry, digit) for digit in DIGITS]


def _mass(entry: Mapping[str, Any], wanted: str) -> float:
    """The probability of a character, with or without white space around it."""
    total = 0.0
    alternatives = entry.get("top_logprobs")
    for other in alternatives if isinstance(alternatives, list) else []:
        token, logprob = (other.get("token"), other.get("logprob")) if isinstance(other, dict) else (None, None)
        if not isinstance(logprob, int | float) or isinstance(logprob, bool) or logprob != logprob:  # NaN
            continue
        if isinstance(token, str) and token.strip() == wanted:
            total += math.exp(max(-1000.0, min(0.0, logprob)))  # integers of any size fit
    return total


def _reason(text: str) -> str:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    reason = found.get("reason") if isinstance(found, dict) else None
    return reason[:_LONGEST_REASON] if isinstance(reason, str) else ""
