"""RUBER: the blend of s_R (`pooling`) and s_U (`unref`), both scaled to 0..1 (Tao et al. 2018, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.evaluators.base import EvaluatorFit
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.evaluators.ruber.unref import (
    CorpusEvaluator,
    NetworkEvaluator,
    RuberRef,
    RuberUnref,
    load_scorer,
    referenced,
    unreferenced,
)
from rejoinder.folders.schema import CONFIG, checked_object, record
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import TrainingData
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import check_choice
from rejoinder.metrics.batch import BATCH, Batch
from rejoinder.text.vectors import WordVectors
from rejoinder.types import Example, JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.ruber.network import PairScorer

BLENDS = ("min", "max", "geometric", "arithmetic")
PARTS = ("ref", "unref")
_MEASURED = 2000
"""Turns of the dialogues whose true and random replies determine the range of both scores."""


@dataclass(frozen=True, slots=True)
class MinMaxRange:
    """The range of a score, for min-max normalisation."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Scores, trim: float = 0.0) -> MinMaxRange:
        """The range of observed values, without a share `trim` of them at either end; NaN is ignored."""
        low, high = np.nanquantile(values, [trim, 1 - trim])
        return cls(float(low), float(high))

    def normalised(self, values: Scores) -> Scores:
        """Values scaled to 0..1 and clipped (Tao et al. 2018, equation 4); 0.5 if the range is a single value."""
        if self.high <= self.low:
            return np.where(np.isnan(values), np.nan, 0.5)
        scaled: Scores = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        return scaled


def blended(referenced: Scores, unreferenced: Scores, blend: str) -> Scores:
    """One score of two, all from 0 to 1; NaN if one of the two is."""
    if blend == "min":
        return np.minimum(referenced, unreferenced)
    if blend == "max":
        return np.maximum(referenced, unreferenced)
    if blend == "geometric":
        return np.sqrt(referenced * unreferenced)
    return (referenced + unreferenced) / 2


@dataclass(frozen=True, kw_only=True)
class Ruber(NetworkEvaluator):
    """The minimum, maximum or mean of s_R and s_U, each normalised to 0..1 by a range that was learned."""

    name: ClassVar[str] = "ruber"
    measures: ClassVar[str] = "how close a reply is to a reference and how well it fits its context, in one score"
    needs: ClassVar[frozenset[str]] = frozenset({"context", "references"})
    cannot_score: ClassVar[str] = f"no context, no references with a known word, or {OVERFLOW}"

    blend: str = "arithmetic"
    """How both scores become one: min, max, geometric or arithmetic."""
    trim: float = 0.0
    """Share of observed values outside the range at either end; 0: the range is from the lowest to the highest."""

    vectors_: WordVectors = field(init=False, repr=False, compare=False)
    scorer_: PairScorer = field(init=False, repr=False, compare=False)
    ranges_: tuple[MinMaxRange, MinMaxRange] = field(init=False, repr=False, compare=False)
    """The ranges of s_R and of s_U."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        check_choice(self, "blend", BLENDS)
        if not 0 <= self.trim < 0.5:
            raise CallError(f"{self.name}: trim must be at least 0 and below 0.5, not {self.trim}")

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """Word vectors, network, and the ranges of both scores."""
        require_extra("train", "training RUBER")
        from rejoinder.evaluators.ruber.training import learned_scorer

        vectors = self.corpus_vectors(data)
        scorer = learned_scorer(self, data, vectors if self.reads_words else None)
        examples = [item.example for item in data.judged] or _measured(data)
        return {"vectors_": vectors, "scorer_": scorer, "ranges_": self._ranges(examples, vectors, scorer)}

    def tuned(self, judged: Iterable[JudgedExample], *, seed: int = 0, run: TrainingRun | None = None) -> Self:
        """A copy whose s_U is also trained on ratings; this one does not change."""
        from rejoinder.evaluators.ruber.training import tuned_scorer

        data = TrainingData.of((), judged, seed=seed, run=run)
        fit, other = self.fit_with(data), self.clone()
        scorer = tuned_scorer(self, self.scorer_, data)
        ranges = self._ranges([item.example for item in data.judged], self.vectors_, scorer)
        other._remember({"vectors_": self.vectors_, "scorer_": scorer, "ranges_": ranges}, fit)
        return other

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 0 to 1."""
        return blended(*self.normalised_parts(batch), self.blend)

    def normalised_parts(self, batch: Batch) -> tuple[Scores, Scores]:
        """s_R and s_U of each example, each normalised to 0..1."""
        of_ref, of_unref = self.ranges_
        ref, unref = self._parts(batch, self.vectors_, self.scorer_)
        return of_ref.normalised(ref), of_unref.normalised(unref)

    def _parts(self, batch: Batch, vectors: WordVectors, scorer: PairScorer) -> tuple[Scores, Scores]:
        return referenced(batch, vectors, self.text), unreferenced(batch, scorer)

    def _ranges(
        self, examples: Sequence[Example], vectors: WordVectors, scorer: PairScorer
    ) -> tuple[MinMaxRange, MinMaxRange]:
        """The ranges of s_R and s_U over these examples."""
        usable = [example for example in examples if example.context and example.response.strip()]
        parts = [self._parts(Batch(usable[at : at + BATCH]), vectors, scorer) for at in range(0, len(usable), BATCH)]
        ref, unref = (np.concatenate(column) for column in zip(*parts, strict=True))
        if np.isnan(ref).all():  # judged replies without references
            ref = np.array([0.0, 1.0])
        return MinMaxRange.of(ref, self.trim), MinMaxRange.of(unref, self.trim)

    @property
    def ref(self) -> RuberRef:
        """s_R alone, with what this evaluator has learned."""
        part = RuberRef(**self._shared(RuberRef))
        part._remember({"vectors_": self.vectors_}, self._own_fit)
        return part

    @property
    def unref(self) -> RuberUnref:
        """s_U alone, with what this evaluator has learned."""
        part = RuberUnref(**self._shared(RuberUnref))
        part._remember({"scorer_": self.scorer_}, self._own_fit)
        return part

    @property
    def _own_fit(self) -> EvaluatorFit:
        """What it was fitted on, without its calibration, which holds for its own blend only."""
        return replace(self.fitted, calibration=None)

    def _shared(self, part: type[CorpusEvaluator]) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(part) if each.init}

    @property
    def signature(self) -> str:
        """The parameters and the fit, with the content hash of given vectors."""
        return self.signature_with(super().signature, None if self.fit_ is None else self.vectors_)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write word vectors and network."""
        self.write_vectors(self.vectors_, folder)
        return {"scorer": self.scorer_.save(folder), "ends": [asdict(each) for each in self.ranges_]}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The word vectors, network and ranges of the folder."""
        file = str(folder / CONFIG)
        ends = plain.get("ends")
        if not isinstance(ends, list) or len(ends) != 2:
            raise DataError("must be the ranges of both scores", file=file, field="learned.ends")
        ranges = tuple(record(MinMaxRange, each, file, "learned.ends") for each in ends)
        scorer = load_scorer(folder, checked_object(plain.get("scorer"), file, "learned.scorer"))
        return {"vectors_": self.read_vectors(folder), "scorer_": scorer, "ranges_": ranges}

    @classmethod
    def load(cls, folder: str | Path, *, part: str | None = None, blend: str | None = None) -> Any:
        """The evaluator of a folder, with another blend if one is given; or one `part`, ref or unref."""
        evaluator = super().load(folder)
        if part is not None:
            if part not in PARTS:
                raise UnknownNameError(f"part of {folder}:", part, PARTS)
            return evaluator.ref if part == "ref" else evaluator.unref
        return evaluator if blend is None else evaluator.with_blend(blend)

    def with_blend(self, blend: str) -> Self:
        """A copy with another blend."""
        other = replace(self, blend=blend)
        values = {"vectors_": self.vectors_, "scorer_": self.scorer_, "ranges_": self.ranges_}
        other._remember(values, self._own_fit)
        return other


def _measured(data: TrainingData) -> list[Example]:
    """Turns of the dialogues as examples: each with its true reply, which is the reference, and with a random one."""
    places = places_of(data.dialogues)
    rng = np.random.default_rng([data.seed, 31])
    chosen = rng.permutation(len(places))[:_MEASURED]
    others = rng.integers(len(places), size=len(chosen))
    return [
        Example(str(here), places[here].context, response, (places[here].response,), speakers=places[here].speakers)
        for here, there in zip(chosen.tolist(), others.tolist(), strict=True)
        for response in (places[here].response, places[there].response)
    ]
