"""RUBER: how close a reply is to a reference, and how well it fits its context (docs/reference/ruber.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError, DataError, UnknownNameError
from rejoinder.evaluators.base import Fit
from rejoinder.evaluators.ruber.blend import BLENDS, Ends, blended
from rejoinder.evaluators.ruber.pooling import CorpusEvaluator, RuberRef, referenced
from rejoinder.evaluators.ruber.unref import NetworkEvaluator, RuberUnref, load_scorer, unreferenced
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.metrics.base import check_choice
from rejoinder.metrics.batch import BATCH, Batch
from rejoinder.text.vectors import WordVectors
from rejoinder.types import Example, JudgedExample, Scores

if TYPE_CHECKING:
    from rejoinder.evaluators.ruber.scorer import PairScorer

PARTS = ("ref", "unref")
_MEASURED = 2000
"""Places of dialogues whose true and random replies say how high and low the parts go."""


@dataclass(frozen=True, kw_only=True)
class Ruber(NetworkEvaluator):
    """The minimum, maximum or mean of s_R and s_U, each from 0 to 1 between ends that were learned."""

    name: ClassVar[str] = "ruber"
    measures: ClassVar[str] = "how near a reply is to a reference and how well it fits its context, in one score"
    needs: ClassVar[frozenset[str]] = frozenset({"context", "references"})
    cannot_score: ClassVar[str] = "no context, or no references with a word that it knows"

    blend: str = "arithmetic"
    trim: float = 0.0
    """Share of values that the ends pass over on either side; 0: the lowest and the highest that were seen."""

    vectors_: WordVectors = field(init=False, repr=False, compare=False)
    scorer_: PairScorer = field(init=False, repr=False, compare=False)
    ends_: tuple[Ends, Ends] = field(init=False, repr=False, compare=False)
    """Of s_R and of s_U."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        check_choice(self, "blend", BLENDS)
        if not 0 <= self.trim < 0.5:
            raise CallError(f"{self.name}: trim must be at least 0 and below 0.5, not {self.trim}")

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """Word vectors, network, and the ends of both scores."""
        require_extra("train", "training RUBER")
        from rejoinder.evaluators.ruber.training import learned_scorer

        vectors = self.corpus_vectors(data)
        scorer = learned_scorer(self, data, vectors if self.reads_words else None)
        examples = [item.example for item in data.judged] or _measured(data)
        return {"vectors_": vectors, "scorer_": scorer, "ends_": self._ends(examples, vectors, scorer)}

    def tuned(self, judged: Iterable[JudgedExample], *, seed: int = 0) -> Self:
        """A copy whose s_U was trained on human scores as well; it stays as it is."""
        from rejoinder.evaluators.ruber.training import tuned_scorer

        data = TrainingData.of((), judged, seed=seed)
        fit, other = self.fit_with(data), self.clone()
        scorer = tuned_scorer(self, self.scorer_, data)
        ends = self._ends([item.example for item in data.judged], self.vectors_, scorer)
        other._remember({"vectors_": self.vectors_, "scorer_": scorer, "ends_": ends}, fit)
        return other

    def predict(self, batch: Batch) -> Scores:
        """One score an example, from 0 to 1."""
        near, fitting = self.shares(batch)
        return blended(near, fitting, self.blend)

    def shares(self, batch: Batch) -> tuple[Scores, Scores]:
        """s_R and s_U of each example, each from 0 to 1 between its ends."""
        of_ref, of_unref = self.ends_
        near, fitting = self._parts(batch, self.vectors_, self.scorer_)
        return of_ref.share(near), of_unref.share(fitting)

    def _parts(self, batch: Batch, vectors: WordVectors, scorer: PairScorer) -> tuple[Scores, Scores]:
        return referenced(batch, vectors, self.text), unreferenced(batch, scorer)

    def _ends(self, examples: Sequence[Example], vectors: WordVectors, scorer: PairScorer) -> tuple[Ends, Ends]:
        """Of replies to given contexts."""
        usable = [example for example in examples if example.context and example.response.strip()]
        parts = [self._parts(Batch(usable[at : at + BATCH]), vectors, scorer) for at in range(0, len(usable), BATCH)]
        near, fitting = (np.concatenate(column) for column in zip(*parts, strict=True))
        if np.isnan(near).all():  # judged replies without references
            near = np.array([0.0, 1.0])
        return Ends.of(near, self.trim), Ends.of(fitting, self.trim)

    @property
    def ref(self) -> RuberRef:
        """s_R alone, fitted as this is."""
        part = RuberRef(**self._shared(RuberRef))
        part._remember({"vectors_": self.vectors_}, self._own_fit)
        return part

    @property
    def unref(self) -> RuberUnref:
        """s_U alone, fitted as this is."""
        part = RuberUnref(**self._shared(RuberUnref))
        part._remember({"scorer_": self.scorer_}, self._own_fit)
        return part

    @property
    def _own_fit(self) -> Fit:
        """What it was fitted on; its calibration is of its own blend and of no other."""
        return replace(self.fitted, calibration=None)

    def _shared(self, part: type[CorpusEvaluator]) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(part) if each.init}

    @property
    def signature(self) -> str:
        """The parameters and the fit; beside vectors that were given, their content hash."""
        return self.signature_with(super().signature, None if self.fit_ is None else self.vectors_)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write vectors and network."""
        self.save_vectors(self.vectors_, folder)
        return {"scorer": self.scorer_.save(folder), "ends": [asdict(ends) for ends in self.ends_]}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Vectors, network and ends of the folder."""
        try:
            of_ref, of_unref = (Ends(**ends) for ends in plain["ends"])
            scorer = load_scorer(folder, plain["scorer"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"holds no ends of both scores ({error})", file=str(folder / "config.json")) from None
        return {"vectors_": self.load_vectors(folder), "scorer_": scorer, "ends_": (of_ref, of_unref)}

    @classmethod
    def load(cls, folder: str | Path, *, part: str | None = None, blend: str | None = None) -> Any:
        """The evaluator of a folder, with another blend where one is given; or one `part`, ref or unref."""
        evaluator = super().load(folder)
        if part is not None:
            if part not in PARTS:
                raise UnknownNameError(f"part of {folder}:", part, PARTS)
            return evaluator.ref if part == "ref" else evaluator.unref
        return evaluator if blend is None else evaluator.with_blend(blend)

    def with_blend(self, blend: str) -> Self:
        """One that learned the same and blends otherwise."""
        other = replace(self, blend=blend)
        values = {"vectors_": self.vectors_, "scorer_": self.scorer_, "ends_": self.ends_}
        other._remember(values, self._own_fit)
        return other


def _measured(data: TrainingData) -> list[Example]:
    """Places of the dialogues, each with its true reply and with a random one; the true one is the reference."""
    places = places_of(data.dialogues)
    rng = np.random.default_rng([data.seed, 31])
    chosen = rng.permutation(len(places))[:_MEASURED]
    others = rng.integers(len(places), size=len(chosen))
    return [
        Example(str(here), places[here].context, response, (places[here].response,), speakers=places[here].speakers)
        for here, there in zip(chosen.tolist(), others.tolist(), strict=True)
        for response in (places[here].response, places[there].response)
    ]
