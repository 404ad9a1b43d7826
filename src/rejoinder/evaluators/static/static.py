"""A fast evaluator without a neural encoder: tens of thousands of replies per second (docs/reference/default-fast.md).

Training needs the extra `train`; scoring needs nothing but the core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.evaluators.scale import HIGHEST, LOWEST, OVERFLOW
from rejoinder.evaluators.static.network import SAVED, StaticNetwork
from rejoinder.evaluators.static.reading import COUNTS, Reading, counted
from rejoinder.language_models.ngram.model import Level, NgramModel, checked_model
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.learning.parameters import check_least, check_scale
from rejoinder.learning.saving import PACKED, packed, read_arrays, unpacked, write_arrays
from rejoinder.loading.array_schema import Array
from rejoinder.metrics.batch import Batch
from rejoinder.text.vectors import SHIPPED
from rejoinder.types import Scores

ARRAYS = "static.safetensors"
_LANGUAGE_MODEL = {
    "words": PACKED,
    "log_prob": Array("f", ("words",), infinite=True),
    "back_off": Array("f", ("words",), infinite=True),
    "pairs": Array("i", ("any pairs",), low=0, high=2**62),
    "pair_log_prob": Array("f", ("any pairs",), infinite=True),
}


@dataclass(frozen=True, kw_only=True)
class Static(Evaluator):
    """4 * sigmoid(MLP(static word vectors of context and reply, counts of words)) + 1, trained on scores.

    The scores are those of a larger evaluator, or human scores. Dialogues, if given, teach which words follow which,
    and which reply answers which turn.
    """

    name: ClassVar[str] = "static"
    measures: ClassVar[str] = "how well a reply fits its context, by word vectors and counts: very fast"
    citation: ClassVar[str] = "this package; word weights after Arora et al. 2017"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = f"no context, or {OVERFLOW}"
    raw_range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    is_slow: ClassVar[bool] = False
    labels: ClassVar[Use] = "needed"
    trains_in_steps: ClassVar[bool] = True

    vectors: str = SHIPPED
    """The word vectors to start from: the bundled ones, or a word2vec, GloVe or fastText file. Its words are the
    vocabulary."""
    hidden: int = 64
    """Hidden units of the MLP."""
    passes: int = 3
    """Epochs over the dialogues, in which word vectors learn which reply answers which turn."""
    epochs: int = 12
    """Epochs over the scored replies."""
    prune: float = 1e-6
    """Word pairs are dropped from the language model if that makes it worse by less than this share; 0: none."""
    dimension: str | None = None
    """The dimension of the scores to learn; may be omitted if there is only one, or one called overall."""
    scale: tuple[float, float] | None = None
    """The lowest and highest possible score; by default, the lowest and highest given."""

    known_: NgramModel = field(init=False, repr=False, compare=False)
    network_: StaticNetwork = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_least(self, {"hidden": 1, "passes": 0, "epochs": 1})
        if not 0 <= self.prune < 1:
            raise CallError(f"{self.name}: prune must be from 0 to below 1, not {self.prune}")
        check_scale(self, self.scale)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The language model and the network."""
        require_extra("train", "training a static evaluator")
        from rejoinder.evaluators.static.training import learned_static

        known, network = learned_static(self, data)
        return {"known_": known, "network_": network}

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 1 to 5."""
        rows = [row for row, example in enumerate(batch.examples) if not batch.blank[row] and example.context]
        scores = np.full(len(batch), LOWEST)
        if rows:
            reading = Reading.of([batch.examples[row] for row in rows], self.known_)
            scores[rows] = self.network_.score(reading, counted(reading, self.known_))
        return scores

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write words, network and language model into one file."""
        single, pairs = self.known_.levels
        arrays: dict[str, NDArray[Any]] = {"words": packed(self.known_.words), **self.network_.arrays}
        arrays |= {"log_prob": single.log_prob.astype(np.float16), "back_off": single.back_off.astype(np.float16)}
        # The square of a vocabulary of up to 65,535 words fits into four bytes.
        keys = pairs.keys.astype(np.uint32) if len(single) < 1 << 16 else pairs.keys
        arrays |= {"pairs": keys, "pair_log_prob": pairs.log_prob.astype(np.float16)}
        write_arrays(folder / ARRAYS, arrays)
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 - all are arrays
        """The content of the file."""
        path = folder / ARRAYS
        arrays = read_arrays(path, {**SAVED, **_LANGUAGE_MODEL}, counts=len(COUNTS))
        network = StaticNetwork(**{each.name: arrays[each.name] for each in fields(StaticNetwork)})
        network.check(str(path))
        single, back_off, pair = (arrays[name].astype(np.float64) for name in ("log_prob", "back_off", "pair_log_prob"))
        levels = (
            Level(np.arange(len(single)), single, back_off),
            Level(arrays["pairs"].astype(np.int64), pair, np.zeros(len(pair))),
        )
        words = unpacked(arrays["words"], path, len(single))
        return {"known_": checked_model(words, levels, str(path)), "network_": network}
