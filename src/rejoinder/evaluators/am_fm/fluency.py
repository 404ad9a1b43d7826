"""The language models of FM: n-grams counted in dialogues or read from an ARPA file, or a pretrained causal model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ragged
from rejoinder.errors import DataError
from rejoinder.language_models.ngram import Counts, NgramModel, good_turing, kneser_ney, prune, read_arpa
from rejoinder.language_models.ngram.model import Level
from rejoinder.learning.extras import require_extra
from rejoinder.learning.saving import packed, read_arrays, unpacked, write_arrays
from rejoinder.metrics.batch import Batch, TextOptions

ARRAYS = "fluency.safetensors"
NGRAM = "ngram"
"""Instead of a model's name: count n-grams in the dialogues."""
SMOOTHINGS = {"good-turing": good_turing, "kneser-ney": kneser_ney}


class Fluency(Protocol):
    """A language model with word-normalised probabilities."""

    @property
    def digest(self) -> str:
        """A hash of the model."""

    def mean_logs(self, batch: Batch, text: TextOptions) -> tuple[Floats, Floats]:
        """The mean ln p per word of each reply and of each reference; NaN if no word has a probability."""

    def save(self, folder: Path) -> None:
        """Write what `load_fluency` needs."""


@dataclass(frozen=True, eq=False)
class NgramFluency:
    """N-grams of words."""

    model: NgramModel

    @property
    def digest(self) -> str:
        """A hash of words and probabilities."""
        found = blake2b("\n".join(self.model.words).encode(), digest_size=6)
        for level in self.model.levels:
            for array in (level.keys, level.log_prob, level.back_off):
                found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    def mean_logs(self, batch: Batch, text: TextOptions) -> tuple[Floats, Floats]:
        """Over the words of the metric's tokeniser (D'Haro et al. 2019, equation 2)."""
        tokens = batch.tokens(text)
        number = self.model.numbers(tokens.vocabulary.to_list())
        own, theirs = (
            self.model.mean_log_probs(Ragged(number[rows.values], rows.offsets)) * np.log(10)
            for rows in (tokens.responses, tokens.references)
        )
        return own, theirs

    def save(self, folder: Path) -> None:
        """Write words as UTF-8 bytes, and three arrays per n-gram order."""
        arrays: dict[str, NDArray[Any]] = {"words": packed(self.model.words)}
        for order, level in enumerate(self.model.levels, start=1):
            arrays |= {f"keys.{order}": level.keys, f"log_prob.{order}": level.log_prob}
            arrays[f"back_off.{order}"] = level.back_off
        write_arrays(folder / ARRAYS, arrays)


@dataclass(frozen=True, eq=False)
class CausalFluency:
    """A pretrained causal language model; the log-probability of a text is divided by its number of words."""

    model: Any  # CausalModel, whose module needs torch

    @property
    def digest(self) -> str:
        """A hash of the model's architecture and word embeddings."""
        return str(self.model.digest)

    def mean_logs(self, batch: Batch, text: TextOptions) -> tuple[Floats, Floats]:
        """ln p of a text divided by its number of words; each different text is scored once."""
        tokens = batch.tokens(text)
        texts = pl.concat([batch.responses, batch.references])
        counts = np.concatenate([tokens.responses.lengths, tokens.references.lengths])
        distinct = texts.unique(maintain_order=True)
        logs = dict(zip(distinct, self.model.log_probs(distinct.to_list()).tolist(), strict=True))
        total = np.array([logs[each] for each in texts], np.float64)
        means: Floats = np.divide(total, counts, out=np.full(len(total), np.nan), where=counts > 0)
        return means[: len(batch)], means[len(batch) :]

    def save(self, folder: Path) -> None:
        """Write nothing: the model stays where it is."""


def learned_fluency(
    lm: str, vocabulary: list[str], sentences: Ragged, *, order: int, smoothing: str, pruning: float, unknown: str
) -> Fluency:
    """The model that FM's parameters name."""
    if lm == NGRAM:
        counts = Counts.of(vocabulary, sentences, order)
        model = SMOOTHINGS[smoothing](counts, open_vocabulary=unknown == "open")
        return NgramFluency(prune(model, pruning) if pruning > 0 else model)
    if is_arpa(lm):
        return NgramFluency(read_arpa(lm))
    return _causal(lm)


def load_fluency(lm: str, folder: Path) -> Fluency:
    """The model that was saved in a folder, or that the folder's evaluator names."""
    if lm != NGRAM and not is_arpa(lm):
        return _causal(lm)
    return NgramFluency(_ngram_model(read_arrays(folder / ARRAYS), folder))


def is_arpa(lm: str) -> bool:
    """Whether a name is that of an ARPA file."""
    return lm.endswith((".arpa", ".arpa.gz", ".lm", ".lm.gz"))


def _causal(lm: str) -> CausalFluency:
    require_extra("train", "fluency by a causal language model")
    from rejoinder.language_models.causal import CausalModel

    return CausalFluency(CausalModel.load(lm))


def _ngram_model(arrays: Mapping[str, NDArray[Any]], folder: Path) -> NgramModel:
    levels: list[Level] = []
    try:
        while f"keys.{len(levels) + 1}" in arrays:
            order = len(levels) + 1
            levels.append(Level(*(arrays[f"{name}.{order}"] for name in ("keys", "log_prob", "back_off"))))
        return NgramModel(unpacked(arrays["words"]), tuple(levels))
    except KeyError as error:
        raise DataError(f"lacks {error}", file=str(folder / ARRAYS)) from None
