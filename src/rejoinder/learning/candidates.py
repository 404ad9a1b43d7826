"""Candidate replies for a teacher to score, made from dialogues: the true reply to a context, and others that fit less.

What kinds there are, and how each is made, is in `data/negatives.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rejoinder.data.negatives import NegativeMixture, Negatives, Place, near_neighbours, places_of
from rejoinder.errors import CallError
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.text.vectors import load_vectors
from rejoinder.types import Dialogue, Example

TRUE = "true"
KINDS = ("random", "same_dialogue", "neighbour", "echo", "generic", "shuffled", "truncated", "repeated")
"""Kinds of replies other than the true one."""
WORSE = ("random", "same_dialogue", "echo", "shuffled", "repeated", "garbled")
"""Kinds that are certainly worse than the true reply; the others may fit as well."""
SOUND = ("random", "same_dialogue", "neighbour")
"""Kinds whose language is as good as that of the true reply."""
_SEARCHED = 5000
"""Replies among which neighbours are looked for."""


def candidates_of(
    dialogues: Sequence[Dialogue], contexts: int, seed: int = 0, kinds: Sequence[str] = KINDS
) -> list[Example]:
    """The true reply to each of at most `contexts` random contexts, and one reply of each kind that can be made.

    An id is the number of the context, a hyphen, and the kind.
    """
    places = places_of(dialogues)
    if len(places) < 2:
        raise CallError("candidates are made from dialogues: expected at least two replies in them")
    neighbours = reply_neighbours(places, seed) if "neighbour" in kinds else None
    source = Negatives(places, neighbours=neighbours)
    rng, found = np.random.default_rng([seed, 9]), []
    for number in np.sort(rng.permutation(len(places))[:contexts]).tolist():
        place = places[number]
        made = [(TRUE, place.response), *((kind, source.of_kind(kind, number, rng)) for kind in kinds)]
        texts = {text: kind for kind, text in reversed(made) if text is not None}
        found += [
            Example(f"{number}-{kind}", place.context, text, speakers=place.speakers, context_id=str(number))
            for text, kind in texts.items()
        ]
    return found


def kind_of(candidate: Example) -> str:
    """The kind of a reply that `candidates_of` made."""
    return candidate.id.partition("-")[2]


def source_of_negatives(places: Sequence[Place], mixture: NegativeMixture, seed: int) -> Negatives:
    """The source of replies that do not fit; neighbours are looked for where the mixture has any."""
    neighbours = reply_neighbours(places, seed) if mixture.neighbour and len(places) > 1 else None
    return Negatives(places, mixture, neighbours)


def reply_neighbours(places: Sequence[Place], seed: int) -> NDArray[np.int64]:
    """For each place the numbers of places whose replies are near its own by their mean word vectors."""
    return near_neighbours(reply_vectors(places), seed=seed, most=_SEARCHED)


def reply_vectors(places: Sequence[Place]) -> NDArray[np.float32]:
    """The sum of the word vectors of each place's reply; zeros where no word is known. (places, dims)"""
    import polars as pl

    vectors = load_vectors(quiet=True)
    vocabulary, rows = encode(pl.Series([place.response for place in places], dtype=pl.String), TextOptions())
    known = vectors.lookup(vocabulary.to_list())
    table = np.where((known >= 0)[:, None], vectors.matrix[np.maximum(known, 0)], 0).astype(np.float32)
    counts = csr_matrix((np.ones(len(rows.values), np.float32), rows.values, rows.offsets), (len(rows), len(table)))
    totals: NDArray[np.float32] = counts @ table  # a sum has the direction of a mean, and cosines are all that is used
    return totals
