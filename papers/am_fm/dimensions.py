"""AM with an increasing number of dimensions of one semantic space (D'Haro et al. 2019, Figure 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from papers.am_fm.columns import TOKENISED
from papers.am_fm.folds import Dstc6
from papers.cache import Arrays, Cache
from papers.published.am_fm import SVD_SENTENCES
from rejoinder.arrays import Ragged
from rejoinder.evaluators.am_fm_parts import SemanticSpace, sentences_of
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.types import Example, Scores

DIMENSIONS = (10, 25, 50, 100, 250, 500, 1000, 2500)
HALVES = 2
_PAIRS = 20_000
"""Pairs of reply and reference that are multiplied at a time."""


def by_dimension(data: Dstc6, cache: Cache) -> dict[int, Scores]:
    """Number of dimensions -> AM of each reply; each half of the items is scored by a space of the other half."""
    found = cache.arrays("am-fm-dimensions", [DIMENSIONS, SVD_SENTENCES, data.key], lambda: _columns(data))
    return {dimensions: found[str(dimensions)] for dimensions in DIMENSIONS}


def _columns(data: Dstc6) -> Arrays:
    columns = {str(dimensions): np.full(len(data.examples), np.nan) for dimensions in DIMENSIONS}
    for text, rows in data.parts(HALVES):
        known = sentences_of(TrainingData(tuple(text[:SVD_SENTENCES])), TextOptions(TOKENISED))
        space = SemanticSpace.of(*known, max(DIMENSIONS), data.seed)
        for dimensions, scores in _growing(space, data.rows(rows)):
            columns[str(dimensions)][rows] = scores
    return columns


def _growing(space: SemanticSpace, examples: Sequence[Example]) -> Iterator[tuple[int, Scores]]:
    """AM with an increasing number of dimensions: running sums are reused, and each text is projected once."""
    texts = pl.Series([text for example in examples for text in (example.response, *example.references)])
    distinct = texts.unique(maintain_order=True)
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    vocabulary, rows = encode(distinct, TextOptions(TOKENISED))
    points = space.points(Ragged(space.numbers(vocabulary.to_list())[rows.values], rows.offsets))
    own = np.repeat([place[example.response] for example in examples], [len(e.references) for e in examples])
    theirs = np.array([place[text] for example in examples for text in example.references])
    starts = np.cumsum([0, *(len(example.references) for example in examples)])[:-1]
    dot, left, right = (np.zeros(len(own)) for _ in range(3))
    before = 0
    for dimensions in DIMENSIONS:
        part = points[:, before:dimensions]
        lengths = (part.astype(np.float64) ** 2).sum(axis=1)
        left, right = left + lengths[own], right + lengths[theirs]
        for start in range(0, len(own), _PAIRS):
            pairs = slice(start, start + _PAIRS)
            dot[pairs] += np.einsum("ij,ij->i", part[own[pairs]], part[theirs[pairs]])
        norm = np.sqrt(left * right)
        cosines = np.divide(dot, norm, out=np.zeros(len(dot)), where=norm > 0)
        yield dimensions, np.maximum.reduceat(np.clip(cosines, 0, 1), starts)
        before = dimensions
