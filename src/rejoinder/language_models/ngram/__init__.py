"""N-gram language models: counting, smoothing, pruning, ARPA files, and scoring of many sentences at once.

| module | content |
|---|---|
| `model` | `NgramModel`: the probability of every word of many sentences |
| `counts` | `Counts`: how often each n-gram occurs in a text |
| `good_turing` | a back-off model with Good-Turing discounts, SRILM's default |
| `kneser_ney` | an interpolated model with modified Kneser-Ney discounts |
| `back_off` | the weights of a back-off model, and its pruning by relative entropy |
| `arpa` | the file format that language-model tools share |
"""

from __future__ import annotations

from rejoinder.language_models.ngram.arpa import read_arpa, write_arpa
from rejoinder.language_models.ngram.back_off import prune
from rejoinder.language_models.ngram.counts import Counts
from rejoinder.language_models.ngram.good_turing import good_turing
from rejoinder.language_models.ngram.kneser_ney import kneser_ney
from rejoinder.language_models.ngram.model import NgramModel

__all__ = ["Counts", "NgramModel", "good_turing", "kneser_ney", "prune", "read_arpa", "write_arpa"]
