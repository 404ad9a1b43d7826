"""Fluency: whether a reply is intact English, by a small convolutional network that comes with the package.

The network was trained to distinguish replies of people from the same replies with words shuffled, repeated, left out,
put in wrong forms, or cut off (recipes/fluency.py). A text is read in windows of WINDOW tokens; each token is a vector
of its word and one of its ending, both found by a hash, so that no vocabulary is needed:

    tokens  = [word vector ; ending vector]              (window, 48)
    hidden  = relu(conv(relu(conv(tokens))))             three tokens wide, twice
    logit   = weight . [mean over tokens ; maximum over tokens] + bias
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.folders.foreign import saved_arrays
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.types import Scores

FEWEST_WORDS = 4
"""Words that a text must have: of fewer, nothing can be said ("Me too." or "too me")."""
WINDOW = 24
"""Tokens that are read together."""
WORDS, ENDINGS = 16384, 2048
"""Hash buckets; 0 is padding, 1 the start and 2 the end of a text."""
WEIGHTS = Path(__file__).parent.parent / "resources" / "fluency.safetensors"

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s]")
_APOSTROPHE = re.compile(r"\s*['’`]\s*(?=(?:s|t|m|d|re|ve|ll)\b)")
_SPLIT_NOT = re.compile(r"\b(\w+) (n't)\b")
_MOST_TOKENS = 2048
_START, _END = 1, 2
_CHUNK = 512

WindowArrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Fluency(Metric):
    """The probability that a reply is intact, averaged over its windows."""

    name: ClassVar[str] = "fluency"
    measures: ClassVar[str] = "whether a reply is intact English: words in order, complete, in their right forms"
    citation: ClassVar[str] = "this package: recipes/fluency.py"
    cannot_score: ClassVar[str] = f"fewer than {FEWEST_WORDS} words"

    def score_batch(self, batch: Batch) -> Scores:
        """One probability per reply; 0 for an empty one, NaN for one of too few words."""
        scores = fluency([example.response for example in batch.examples], shipped_weights())
        scores[batch.blank] = 0.0
        return scores


@cache
def shipped_weights() -> WindowArrays:
    """The arrays of the network that comes with the package, at full precision."""
    return full_precision(saved_arrays(WEIGHTS))


def full_precision(arrays: WindowArrays) -> WindowArrays:
    """The arrays as float32; tables of vectors are stored as int8 with one scale per row."""
    tables = [name for name in arrays if f"{name}.scale" in arrays]
    full = {name: arrays[name].astype(np.float32) for name in arrays if not name.endswith(".scale")}
    for name in tables:
        full[name] *= arrays[f"{name}.scale"].astype(np.float32)[:, None]
    return full


def fluency(texts: Sequence[str], arrays: WindowArrays) -> Scores:
    """The mean over each text's windows of the probability that it is intact, weighted by their tokens. (texts,)

    NaN for a text of fewer than FEWEST_WORDS words.
    """
    tokens = [tokens_of(text) for text in texts]
    rows = [windows_of(each) for each in tokens]
    owner = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    flat = [window for each in rows for window in each]
    sizes = np.array([len(window) for window in flat], np.float64)
    found = np.empty(len(flat))
    order = np.argsort(sizes, kind="stable")
    for start in range(0, len(flat), _CHUNK):
        places = order[start : start + _CHUNK]
        found[places] = 1 / (1 + np.exp(-logits(*hashed([flat[place] for place in places]), arrays)))
    total = np.bincount(owner, weights=sizes, minlength=len(rows))
    scores: Scores = np.bincount(owner, weights=sizes * found, minlength=len(rows)) / np.maximum(total, 1)
    scores[[sum(map(_has_letter, each)) < FEWEST_WORDS for each in tokens]] = np.nan
    return scores


def tokens_of(text: str) -> list[str]:
    """Lower-case words and punctuation marks, however the text writes apostrophes."""
    plain = _SPLIT_NOT.sub(r"\1\2", _APOSTROPHE.sub("'", text.lower()))
    return _TOKEN.findall(plain)[:_MOST_TOKENS]


def _has_letter(token: str) -> bool:
    return token[0].isalnum()


def windows_of(tokens: list[str]) -> list[list[str]]:
    """The tokens in windows of nearly equal length; one empty window for a text without tokens."""
    count = max(1, -(-len(tokens) // WINDOW))
    bounds = [len(tokens) * number // count for number in range(count + 1)]
    return [tokens[start:end] for start, end in pairwise(bounds)]


def hashed(windows: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
    """Words and endings of windows as bucket numbers, padded to the longest. Each (windows, longest + 2)"""
    longest = max(map(len, windows)) + 2
    words, endings = (np.zeros((len(windows), longest), np.int64) for _ in range(2))
    for row, window in enumerate(windows):
        ids = [_buckets(token) for token in window]
        words[row, : len(ids) + 2] = [_START, *(word for word, _ in ids), _END]
        endings[row, : len(ids) + 2] = [_START, *(ending for _, ending in ids), _END]
    return words, endings


@lru_cache(maxsize=1 << 16)
def _buckets(token: str) -> tuple[int, int]:
    word, ending = token.encode("utf-8", "surrogatepass"), token[-3:].encode("utf-8", "surrogatepass")
    return 3 + crc32(word) % (WORDS - 3), 3 + crc32(ending) % (ENDINGS - 3)


def logits(words: Ints, endings: Ints, arrays: WindowArrays) -> NDArray[np.float32]:
    """One logit per window. Each (windows, tokens) -> (windows,)"""
    present = (words > 0)[:, :, None]
    hidden = np.concatenate([arrays["words"][words], arrays["endings"][endings]], axis=2) * present
    for layer in ("first", "second"):
        hidden = np.maximum(_convolved(hidden, arrays[f"{layer}.weight"]) + arrays[f"{layer}.bias"], 0) * present
    mean = hidden.sum(1) / present.sum(1)
    pooled = np.concatenate([mean, hidden.max(1)], axis=1)
    found: NDArray[np.float32] = pooled @ arrays["last.weight"] + arrays["last.bias"]
    return found


def _convolved(values: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Three neighbouring tokens at a time. (windows, tokens, width), (3 * width, out) -> (windows, tokens, out)"""
    padded = np.pad(values, ((0, 0), (1, 1), (0, 0)))
    sides = np.concatenate([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], axis=2)
    found: NDArray[np.float32] = sides @ weight
    return found
