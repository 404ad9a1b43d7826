"""Examples that are scored together. What several metrics need, above all the tokens, is computed once per batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged, offsets_of
from rejoinder.text.tokens import (
    AUTO,
    dropped_words,
    parse_strip,
    strip_speakers,
    token_codes,
    token_codes_by_language,
    tokenisers_of,
    writable,
)
from rejoinder.threads import check_polars_threads
from rejoinder.types import Example

T = TypeVar("T")

BATCH = 8192
"""Examples per batch: enough for vectorised code, few enough for the processor's cache and a laptop's memory."""
_references, _response = attrgetter("references"), attrgetter("response")


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How text becomes tokens."""

    tokenise: str = "words"
    lowercase: bool = True
    strip: str = "none"


@dataclass(frozen=True)
class BatchTokens:
    """The tokens of a batch as codes into one vocabulary."""

    vocabulary: pl.Series
    responses: Ragged  # one row per example
    references: Ragged  # one row per reference, example after example

    @cached_property
    def word_hashes(self) -> NDArray[np.uint64]:
        """One 64-bit hash per word, the same in every batch of a run. (vocabulary,)"""
        return self.vocabulary.hash().to_numpy()


class Batch:
    """A sequence of examples with cached results of computations on them.

    A blank reference would score 0 with every reply, or 1 with an empty one. So the examples of a batch have blank
    references removed.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        check_polars_threads()
        self.examples = examples
        if not all(map(str.strip, chain.from_iterable(map(_references, examples)))):
            self.examples = [replace(one, references=tuple(filter(str.strip, one.references))) for one in examples]
        self._kept: dict[Hashable, object] = {}

    def __len__(self) -> int:
        return len(self.examples)

    def keep(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value cached under `key`, computed at the first call."""
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]  # type: ignore[return-value]

    @cached_property
    def owner(self) -> Ints:
        """The example that each reference belongs to. (references,)"""
        return np.repeat(np.arange(len(self)), self.reference_counts)

    @cached_property
    def reference_counts(self) -> Ints:
        """How many references each example has, blank ones not counted. (examples,)"""
        return np.fromiter(map(len, map(_references, self.examples)), np.int64, len(self))

    @cached_property
    def responses(self) -> pl.Series:
        """The replies as text. (examples,)"""
        return pl.Series(list(map(_response, self.examples)), dtype=pl.String)

    @cached_property
    def references(self) -> pl.Series:
        """All references as text, example after example. (references,)"""
        return pl.Series(list(chain.from_iterable(map(_references, self.examples))), dtype=pl.String)

    @cached_property
    def blank(self) -> NDArray[np.bool_]:
        """Which replies are empty or white space only. (examples,)"""
        return np.fromiter((not example.response.strip() for example in self.examples), np.bool_, len(self))

    def tokens(self, options: TextOptions) -> BatchTokens:
        """Replies and references as token codes."""
        return self.keep(options, partial(self._tokens, options))

    def _tokens(self, options: TextOptions) -> BatchTokens:
        owners = np.concatenate([np.arange(len(self)), self.owner]) if options.tokenise == AUTO else None
        vocabulary, rows = encode(pl.concat([self.responses, self.references]), options, owners)
        cut = rows.offsets[len(self)]
        return BatchTokens(
            vocabulary,
            Ragged(rows.values[:cut], rows.offsets[: len(self) + 1]),
            Ragged(rows.values[cut:], rows.offsets[len(self) :] - cut),
        )


def even_batches(examples: Sequence[Example]) -> list[Batch]:
    """The examples in batches of equal size, at least one: a small last batch would cost more per example."""
    size = max(1, math.ceil(len(examples) / max(1, round(len(examples) / BATCH))))
    return [Batch(examples[start : start + size]) for start in range(0, max(1, len(examples)), size)]


def encode(texts: pl.Series, options: TextOptions, owners: Ints | None = None) -> tuple[pl.Series, Ragged]:
    """A vocabulary, and the texts as codes into it; texts of one owner have one language."""
    parts = parse_strip(options.strip)
    if "speakers" in parts:
        texts = strip_speakers(texts)
    if options.tokenise == AUTO:
        tokenisers = tokenisers_of(texts if owners is None else _joined(texts, owners))
        vocabulary, rows = token_codes_by_language(texts, tokenisers, lowercase=options.lowercase)
    else:
        vocabulary, rows = token_codes(texts, options.tokenise, lowercase=options.lowercase)
    if parts - {"speakers"}:
        rows = kept_tokens(rows, ~dropped_words(vocabulary, parts).to_numpy())
    return vocabulary, rows


def _joined(texts: pl.Series, owners: Ints) -> pl.Series:
    """For each text, all texts of its owner."""
    frame = pl.DataFrame({"text": texts, "owner": owners})
    return frame.select(pl.col("text").str.join(" ").over("owner"))["text"]


def kept_tokens(rows: Ragged, kept: NDArray[np.bool_]) -> Ragged:
    """The rows without the tokens that are not kept. `kept` has one entry per token of the vocabulary."""
    kept = kept[rows.values]
    lengths = np.bincount(rows.row_of_value[kept], minlength=len(rows))
    return Ragged(rows.values[kept], offsets_of(lengths))


def identical_rows(left: Ragged, right: Ragged) -> NDArray[np.bool_]:
    """Which rows have the same tokens in the same order on both sides. (rows,)"""
    identical: NDArray[np.bool_] = left.lengths == right.lengths
    left, right = left.take(np.flatnonzero(identical)), right.take(np.flatnonzero(identical))
    different = np.bincount(left.row_of_value[left.values != right.values], minlength=len(left))
    identical[identical] = different == 0
    return identical


def encodable(batch: Batch) -> Batch:
    """The same batch, or one without lone surrogates, which cannot be encoded as UTF-8."""
    try:
        _ = batch.responses, batch.references
    except UnicodeEncodeError:
        return Batch(
            [
                replace(
                    example, response=writable(example.response), references=tuple(map(writable, example.references))
                )
                for example in batch.examples
            ]
        )
    return batch
