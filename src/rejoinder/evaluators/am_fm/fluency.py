"""The language models of FM: n-grams counted in dialogues or read from an ARPA file, or a pretrained causal model."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rejoinder.arrays import Floats, Ragged
from rejoinder.language_models.ngram import Counts, NgramModel, good_turing, kneser_ney, prune, read_arpa
from rejoinder.language_models.ngram.model import Level, checked_model
from rejoinder.learning.extras import require_extra
from rejoinder.learning.saving import PACKED, packed, unpacked, write_arrays
from rejoinder.loading.array_schema import Array, checked_arrays
from rejoinder.loading.foreign import saved_arrays
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
        """Copy the model, unless it is one of the hub."""
        self.model.save(folder)


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
    require_extra("train", "fluency by a causal language model")
    from rejoinder.language_models.causal import CausalModel

    return CausalFluency(CausalModel.load(lm))


def load_fluency(lm: str, folder: Path) -> Fluency:
    """The model that was saved in a folder, or that the folder's evaluator names."""
    if lm != NGRAM and not is_arpa(lm):
        require_extra("train", "fluency by a causal language model")
        from rejoinder.language_models.causal import CausalModel

        return CausalFluency(CausalModel.load_saved(folder, lm))
    return NgramFluency(_ngram_model(folder / ARRAYS))


def pretrained_name(lm: str) -> tuple[tuple[str, str], ...]:
    """The causal language model that `lm` names, if it names one, for `Learned.pretrained_names`."""
    return () if lm == NGRAM or is_arpa(lm) else ((lm, "language model"),)


def is_arpa(lm: str) -> bool:
    """Whether a name is that of an ARPA file."""
    return lm.endswith((".arpa", ".arpa.gz", ".lm", ".lm.gz"))


def _ngram_model(path: Path) -> NgramModel:
    arrays = saved_arrays(path)
    words = unpacked(checked_arrays(arrays, {"words": PACKED}, str(path))["words"], path)
    orders = range(1, max(2, sum(name.startswith("keys.") for name in arrays) + 1))
    expected: dict[str, Array] = {}
    for order in orders:
        length = "words" if order == 1 else f"any n-grams {order}"
        expected[f"keys.{order}"] = Array("i", (length,))
        expected[f"log_prob.{order}"] = Array("f", (length,), infinite=True)
        expected[f"back_off.{order}"] = Array("f", (length,), infinite=True)
    found = checked_arrays(arrays, expected, str(path), words=len(words))
    levels = [Level(*(found[f"{name}.{order}"] for name in ("keys", "log_prob", "back_off"))) for order in orders]
    return checked_model(words, tuple(levels), str(path))
