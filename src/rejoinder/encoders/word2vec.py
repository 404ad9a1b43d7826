"""Word vectors learned from the training corpus, with gensim's word2vec (Mikolov et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Ragged
from rejoinder.learning.extras import require_extra
from rejoinder.text.vectors import WordVectors

CORPUS = "corpus"
"""The name of these word vectors in the options."""


@dataclass(frozen=True, kw_only=True)
class Word2VecTraining:
    """How word vectors are learned; everything else is gensim's default."""

    dims: int = 50
    """As in Tao et al. 2018 [RUBER], section 4.1."""
    window: int = 5
    epochs: int = 5
    negatives: int = 5


def learned_vectors(words: Sequence[str], texts: Ragged, how: Word2VecTraining, seed: int) -> WordVectors:
    """One skip-gram vector per word of a vocabulary; the same for the same texts and seed.

    `texts` are codes into `words`; negative codes are ignored.
    """
    require_extra("train", "learning word vectors")
    from gensim.models import Word2Vec

    sentences = [[str(code) for code in text.tolist() if code >= 0] for text in texts]
    model = Word2Vec(
        sentences,
        vector_size=how.dims,
        window=how.window,
        negative=how.negatives,
        epochs=how.epochs,
        sg=1,
        min_count=1,
        seed=seed % 2**32,  # gensim accepts no larger one
        workers=1,  # with several threads the result would depend on their timing
    )
    matrix = np.zeros((len(words), how.dims), np.float32)
    for code in range(len(words)):
        place = model.wv.key_to_index.get(str(code))
        if place is not None:
            matrix[code] = model.wv.vectors[place]
    return WordVectors.of(list(words), matrix, name=CORPUS)
