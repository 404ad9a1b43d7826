"""The evaluators ADEM, C-ADEM and R-ADEM (Lowe et al. 2017), with their control for length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.data.contexts import context_groups
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.adem.learning import (
    COMPONENTS,
    TOWARDS,
    AdemSetting,
    Bilinear,
    ComparedVectors,
    DescentSettings,
    PredictionScale,
    chosen,
    descended,
    early_stopping_rows,
    learned,
    settings_of,
)
from rejoinder.evaluators.adem.vectors import (
    PROJECTION,
    ExampleVectors,
    Projection,
    RatedVectors,
    VectorEvaluator,
    check_width,
    encoder_kind,
    encoding_shown,
    fits,
    row_products,
)
from rejoinder.evaluators.base import Use
from rejoinder.evaluators.calibration import HIGHEST, LOWEST, OVERFLOW, observed_scale, on_our_scale
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import read_arrays, write_arrays
from rejoinder.folders.schema import CONFIG, checked_member, record
from rejoinder.learning.data import TrainingData, labels
from rejoinder.metrics.base import check_choice
from rejoinder.metrics.batch import Batch, TextOptions, encodable
from rejoinder.options import check_least, check_rates, check_scale
from rejoinder.types import Example, Scores

# The evaluators ADEM, C-ADEM and R-ADEM (Lowe et al. 2017).
#
#     score = (c^T M r^ + r^T N r^ - alpha) / beta
#
# c, r and r^ are an encoder's vectors of context, reference and reply, reduced to a few principal components. The
# encoder is frozen; M and N are learned. C-ADEM has the first term only, R-ADEM the second.


ADEM_PAPER = "Lowe et al. 2017, Towards an automatic Turing test: Learning to evaluate dialogue responses"
MATRICES = "adem.safetensors"
PARTS = ("context", "reference")
OWN, PAPER_PRESET = "own", "paper"
EXACT, SGD = "exact", "sgd"
PAPER_SETTING = (7, 0.02, "zero")
"""Components, gamma and what the penalty draws to, in Lowe et al. 2017 (section 5.1, appendix D)."""
PAPER_SETTINGS = {"tweet2vec": (150, 0.01, "zero")}
"""The same for kinds of encoder for which the paper has other values (appendix D)."""
_ROUNDS = 5
"""The largest number of times that the best reference of each reply is chosen again."""


@dataclass(frozen=True, kw_only=True)
class Adem(VectorEvaluator):
    """A bilinear model of ratings over vectors of context, reference and reply."""

    name: ClassVar[str] = "adem"
    measures: ClassVar[str] = "the rating of a reply, predicted from its context and reference"
    citation: ClassVar[str] = ADEM_PAPER
    needs: ClassVar[frozenset[str]] = frozenset({"context", "references"})
    cannot_score: ClassVar[str] = f"no context, no references, or {OVERFLOW}"
    raw_range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    labels: ClassVar[Use] = "needed"
    dialogues: ClassVar[Use] = "unused"

    preset: str = OWN
    """`paper`: the settings of Lowe et al. 2017: sgd, a penalty towards zero, 7 components and gamma .02 (150 and .01
    if the encoder is a tweet2vec); components, gamma and towards can still be given. `own`: the settings below."""
    components: int | None = None
    """The number of principal components (7 in Lowe et al. 2017, 50 in Zhao et al. 2020); None: chosen by
    cross-validation."""
    gamma: float | None = None
    """Strength of the L1 penalty (.02 in Lowe et al. 2017); None: chosen by cross-validation."""
    towards: str | None = None
    """What the penalty draws M and N to: `zero`, as in the paper, or `identity`; None: chosen by cross-validation."""
    solver: str | None = None
    """`exact`: the least loss; `sgd`: gradient descent with early stopping, as in the paper, on the judged replies of
    the split `valid`, or on held-out contexts if there are none; by default the preset's, sgd for `paper`."""
    learning_rate: float = 0.01
    """Learning rate of sgd (.01 in Lowe et al. 2017, .001 in Zhao et al. 2020)."""
    batch: int = 16
    """Replies per step of sgd (16 in Lowe et al. 2017, 30 in Zhao et al. 2020)."""
    epochs: int = 200
    """The largest number of epochs of sgd."""
    refs: str = "max"
    """With several references: the score with the best of them (`max`), or with their mean vector (`mean`)."""
    debias: bool = False
    """Whether the trend of scores with reply length is removed."""
    dimension: str | None = None
    """The dimension of the ratings to learn; may be omitted if there is only one, or one called overall."""
    scale: tuple[float, float] | None = None
    """The lowest and highest possible rating; by default, the lowest and highest given."""

    projection_: Projection = field(init=False, repr=False, compare=False)
    bilinear_: Bilinear = field(init=False, repr=False, compare=False)
    length_: LengthTrend | None = field(init=False, repr=False, compare=False)
    setting_: AdemSetting = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.solver is None:  # set here, so that signature and folder name the solver that is used
            object.__setattr__(self, "solver", SGD if self.preset == PAPER_PRESET else EXACT)
        super().__post_init__()

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        check_choice(self, "preset", (OWN, PAPER_PRESET))
        check_choice(self, "towards", (*TOWARDS, None))
        check_choice(self, "solver", (EXACT, SGD))
        if self.preset == PAPER_PRESET and self.solver == EXACT:
            raise CallError(
                f"{self.name}: the preset {PAPER_PRESET} has the solver {SGD}: for {EXACT}, leave out the preset and "
                "give components, gamma and towards"
            )
        check_choice(self, "refs", ("max", "mean"))
        check_least(self, {"components": 1, "batch": 1, "epochs": 1})
        if self.gamma is not None and not 0 <= self.gamma < np.inf:
            raise CallError(f"{self.name}: gamma must be at least 0, not {self.gamma}")
        check_rates(self, "learning_rate")
        check_scale(self, self.scale)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The projection, the matrices and, with `debias`, the trend with length."""
        encoder = self.opened
        (examples, human), (others, their_human) = self._labelled(data)
        with encoding_shown([*examples, *others], data.run):
            train = RatedVectors(self._read(examples, encoder), human)
            valid = RatedVectors(self._read(others, encoder), their_human) if others else None
        components, gamma, towards = self._given(encoder_kind(encoder))
        projection = Projection.of(train.points.vectors, components or max(COMPONENTS))
        train, valid = train.projected(projection), valid and valid.projected(projection)
        groups = context_groups(examples)
        first = self._compared(train, None)
        wanted = settings_of(components, gamma, towards, first.replies.shape[1])
        setting = chosen(first, groups, wanted, data.seed)
        bilinear = self._fitted_matrices(train, valid, groups, setting, data.seed)
        compared = self._compared(train, bilinear).first(setting.components)
        bilinear = replace(bilinear, means=tuple(float(term.mean()) for term in compared.terms(bilinear.matrices)))
        trend = None
        if self.debias:
            trend = LengthTrend.of(
                Batch(examples), self._scores(train.points, bilinear), apart="references" in self.needs
            )
        return {
            "encoder_": encoder,
            "projection_": projection.first(setting.components),
            "bilinear_": bilinear,
            "length_": trend,
            "setting_": setting,
        }

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 1 to 5; NaN if there is nothing to compare with."""
        scores = np.full(len(batch), np.nan)
        rows = [row for row, example in enumerate(batch.examples) if fits(example, self.needs)]
        if not rows:
            return scores
        examples = [batch.examples[row] for row in rows]
        reading = self._read(examples, self.encoder_)
        found = self._scores(reading.with_vectors(self.projection_.points(reading.vectors)), self.bilinear_)
        if self.length_ is not None:
            found = found - self.length_.excess(Batch(examples))
        scores[rows] = np.clip(found, LOWEST, HIGHEST)
        return scores

    def _given(self, encoder: str) -> tuple[int | None, float | None, str | None]:
        """Components, gamma and towards: as given, or else by preset and kind of encoder; None: to be chosen."""
        if self.preset == OWN:
            return self.components, self.gamma, self.towards
        components, gamma, towards = PAPER_SETTINGS.get(encoder, PAPER_SETTING)
        return (
            components if self.components is None else self.components,
            gamma if self.gamma is None else self.gamma,
            self.towards or towards,
        )

    def _labelled(self, data: TrainingData) -> tuple[tuple[list[Example], Scores], tuple[list[Example], Scores]]:
        """The examples to learn from and those to stop by, each with their ratings from 1 to 5.

        They have everything that they are compared with. The exact solver never stops early: it has none to stop by.
        """
        valid = data.valid if self.solver == SGD else ()
        judged = (*data.judged, *valid)
        scale = self.scale or observed_scale(judged, self.dimension)
        examples, human = labels(judged, self.dimension)
        held_out = {id(item.example) for item in valid}
        usable = [place for place, example in enumerate(examples) if fits(example, self.needs)]
        learn = [place for place in usable if id(examples[place]) not in held_out]
        stop = [place for place in usable if id(examples[place]) in held_out]
        wanted = " and ".join(["a reply", *sorted(self.needs)])
        if len(learn) < 2:
            raise NeedsError(f"{self.name} learns from judged examples with {wanted}: expected at least two")
        if valid and not stop:
            raise NeedsError(f"{self.name} stops early by judged examples with {wanted}: the split valid has none")
        found = ([examples[place] for place in learn], on_our_scale(human[learn], scale))
        return found, ([examples[place] for place in stop], on_our_scale(human[stop], scale))

    def _read(self, examples: Sequence[Example], encoder: Any) -> ExampleVectors:
        return ExampleVectors.of(
            examples, encoder, context="context" in self.needs, references="references" in self.needs
        )

    def _fitted_matrices(
        self, train: RatedVectors, valid: RatedVectors | None, groups: Ints, setting: AdemSetting, seed: int
    ) -> Bilinear:
        """M and N; with several references, each reply's best one by the matrices of the round before."""

        def solved(before: Bilinear | None) -> Bilinear:
            held_out = None if valid is None else self._compared(valid, before)
            return self._solved(self._compared(train, before), held_out, groups, setting, seed)

        bilinear, best = solved(None), self._best_references(train.points, None)
        for _ in range(_ROUNDS - 1):
            before, best = best, self._best_references(train.points, bilinear)
            if np.array_equal(before, best):
                break
            bilinear = solved(bilinear)
        return bilinear

    def _solved(
        self, compared: ComparedVectors, valid: ComparedVectors | None, groups: Ints, setting: AdemSetting, seed: int
    ) -> Bilinear:
        """M and N by the solver; sgd without `valid` stops by some of the training contexts."""
        if self.solver == EXACT:
            return learned(compared, setting)
        if valid is None:
            train, held_out = early_stopping_rows(groups, seed)
            valid = compared.take(held_out) if len(held_out) else None
            compared = compared.take(train)
        how = DescentSettings(learning_rate=self.learning_rate, batch=self.batch, epochs=self.epochs)
        return descended(compared, valid, setting, how, seed)

    def _best_references(self, points: ExampleVectors, bilinear: Bilinear | None) -> Ints:
        """The reference that each reply scores best with; before the first round, by the dot product. (examples,)"""
        if "references" not in self.needs or self.refs == "mean":
            return np.empty(0, np.int64)
        size = points.vectors.shape[1] if bilinear is None else bilinear.matrices.shape[1]
        matrix = np.eye(size) if bilinear is None else bilinear.matrices[-1]
        products = self._with_references(points, matrix)
        order = np.lexsort((-products, points.owner))  # each reply's best reference first
        return order[points.starts]

    def _compared(self, rated: RatedVectors, bilinear: Bilinear | None) -> ComparedVectors:
        """Replies with their contexts and one reference each: the best by these matrices, or the mean of all."""
        points, best = rated.points, self._best_references(rated.points, bilinear)
        vectors = np.asarray(points.vectors, np.float64)
        sides = []
        if "context" in self.needs:
            sides.append(vectors[points.contexts])
        if "references" in self.needs:
            if self.refs == "mean":
                totals = np.add.reduceat(vectors[points.references], points.starts)
                sides.append(totals / np.bincount(points.owner)[:, None])
            else:
                sides.append(vectors[points.references[best]])
        return ComparedVectors(np.stack(sides), vectors[points.responses], rated.human)

    def _scores(self, points: ExampleVectors, bilinear: Bilinear) -> Scores:
        """The score of each reply, before the trend with length is removed."""
        size = bilinear.matrices.shape[1]
        vectors = np.asarray(points.vectors[:, :size], np.float64)
        products: Scores = np.zeros(len(points.responses))
        if "context" in self.needs:
            products += row_products(vectors[points.contexts], bilinear.matrices[0], vectors[points.responses])
        if "references" in self.needs:
            each = self._with_references(points, bilinear.matrices[-1])
            if self.refs == "mean":
                products += np.add.reduceat(each, points.starts) / np.bincount(points.owner)
            else:
                products += np.maximum.reduceat(each, points.starts)
        return bilinear.scale.scores(products)

    def _with_references(self, points: ExampleVectors, matrix: Floats) -> Scores:
        """r^T N r^ of each reference. (references,)"""
        vectors = np.asarray(points.vectors[:, : len(matrix)], np.float64)
        return row_products(vectors[points.references], matrix, vectors[points.responses[points.owner]])

    @classmethod
    def saved_parameters(cls, parameters: dict[str, Any], folder: Path) -> dict[str, Any]:  # noqa: ARG003 - for others
        """Earlier versions trained the preset `paper` with sgd and saved the solver as `exact`."""
        if parameters.get("preset") == PAPER_PRESET and parameters.get("solver") == EXACT:
            return parameters | {"solver": SGD}
        return parameters

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write encoder and matrices; return settings and constants."""
        super().save_learned(folder)
        arrays = {"mean": self.projection_.mean, "axes": self.projection_.axes, "matrices": self.bilinear_.matrices}
        write_arrays(folder / MATRICES, arrays)
        scale, setting = self.bilinear_.scale, self.setting_
        return {
            "alpha": scale.alpha,
            "beta": scale.beta,
            "means": list(self.bilinear_.means),
            "setting": [setting.components, setting.gamma, setting.towards],
            "length": None if self.length_ is None else self.length_.plain,
        }

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        path, file = folder / MATRICES, str(folder / CONFIG)
        matrices = Array("f", (len(self.needs), "components", "components"))
        arrays = read_arrays(path, {**PROJECTION, "matrices": matrices})
        encoder, projection = super().load_learned(folder, plain), Projection(arrays["mean"], arrays["axes"])
        check_width(encoder["encoder_"], projection, str(path))
        setting = dict(
            zip(
                ("components", "gamma", "towards"),
                checked_member(plain, "setting", tuple[Any, ...], file),
                strict=False,
            )
        )
        length, scale = plain.get("length"), record(PredictionScale, plain, file, "learned")
        if scale.beta == 0:
            raise DataError("must not be 0", file=file, field="learned.beta")
        means = checked_member(plain, "means", tuple[float, ...], file) if "means" in plain else ()
        return {
            **encoder,
            "projection_": projection,
            "bilinear_": Bilinear(arrays["matrices"], scale, means),
            "length_": None if length is None else LengthTrend.of_plain(length, file),
            "setting_": record(AdemSetting, setting, file, "learned.setting"),
        }

    @classmethod
    def load(cls, folder: str | Path, *, part: str | None = None) -> Any:
        """The evaluator of a folder, or one `part` of it, context or reference."""
        evaluator = super().load(folder)
        return evaluator if part is None else evaluator.part(part)

    def part(self, name: str) -> Adem:
        """One term of the fitted model, as a C-ADEM or R-ADEM, with the other at its mean over the training replies.

        Zhao et al. 2020 compare such parts of one model in their Table 1; a C-ADEM or R-ADEM that is trained as such
        learns other matrices.
        """
        if len(self.needs) < len(PARTS) or name not in PARTS:
            raise UnknownNameError(f"part of {self.name}:", name, PARTS if len(self.needs) == len(PARTS) else ())
        if len(self.bilinear_.means) != len(PARTS):
            raise CallError(f"{self.name} was saved by a version that did not keep what its parts need: train it again")
        place = PARTS.index(name)
        scale = replace(self.bilinear_.scale, alpha=self.bilinear_.scale.alpha - self.bilinear_.means[1 - place])
        made = (ContextAdem, ReferenceAdem)[place](**{**self.parameters, "debias": False})
        values = {
            "encoder_": self.encoder_,
            "projection_": self.projection_,
            "bilinear_": Bilinear(
                self.bilinear_.matrices[place : place + 1], scale, self.bilinear_.means[place : place + 1]
            ),
            "length_": None,
            "setting_": self.setting_,
        }
        made._remember(values, replace(self.fitted, calibration=None))
        return made


@dataclass(frozen=True, kw_only=True)
class ContextAdem(Adem):
    """ADEM that compares a reply with its context only, so that it needs no reference."""

    name: ClassVar[str] = "c-adem"
    measures: ClassVar[str] = "the rating of a reply, predicted from its context"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = f"no context, or {OVERFLOW}"


@dataclass(frozen=True, kw_only=True)
class ReferenceAdem(Adem):
    """ADEM that compares a reply with references only."""

    name: ClassVar[str] = "r-adem"
    measures: ClassVar[str] = "the rating of a reply, predicted from its reference"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = f"no references, or {OVERFLOW}"


# The trend of scores with reply length, which can be removed (Lowe et al. 2017, section 5: people's own bias).
#
# Ratings, and so scores learned from them, depend on length: short replies are often generic and then never wrong. The
# trend is a least-squares fit over log(1 + words) and its square and, with references, over the distance from the
# length of the nearest reference. It is fitted to the scores of the training replies; its deviation from their mean
# is subtracted. Replies that equal a reference are left out of the fit: they score high for that reason, and not
# because of their length.


@dataclass(frozen=True, slots=True)
class LengthTrend:
    """A least-squares fit of scores over lengths."""

    weights: tuple[float, ...]
    means: tuple[float, ...]
    """The mean of each column over the training replies."""
    apart: bool
    """Whether the distance from the nearest reference's length is one of the columns."""

    @classmethod
    def of(cls, batch: Batch, scores: Scores, *, apart: bool) -> LengthTrend:
        """Fitted to these replies' scores."""
        own = np.array([example.response in example.references for example in batch.examples])
        used = np.flatnonzero(~own) if apart and not own.all() else np.arange(len(batch))
        columns, scores = _columns(batch, apart=apart)[used], scores[used]
        means = columns.mean(axis=0)
        weights, *_ = np.linalg.lstsq(columns - means, scores - scores.mean(), rcond=None)
        return cls(tuple(weights.tolist()), tuple(means.tolist()), apart)

    def excess(self, batch: Batch) -> Scores:
        """How far each reply is above the mean score because of its length."""
        off = _columns(batch, apart=self.apart) - np.array(self.means)
        above: Scores = (off * np.array(self.weights)).sum(axis=1)
        return above

    @property
    def plain(self) -> dict[str, Any]:
        """For config.json."""
        return asdict(self)

    @classmethod
    def of_plain(cls, plain: object, file: str) -> LengthTrend:
        """From config.json."""
        made = record(cls, plain, file, "learned.length")
        if not len(made.weights) == len(made.means) == (3 if made.apart else 2):
            raise DataError("must have one weight and one mean per column", file=file, field="learned.length")
        return made


def _columns(batch: Batch, *, apart: bool) -> Floats:
    """Log length, its square and, if `apart`, the log distance from the nearest reference's. (replies, columns)"""
    batch = encodable(batch)
    tokens = batch.tokens(TextOptions())
    length = np.log1p(tokens.responses.lengths)
    columns = [length, length**2]
    if apart:
        off = np.abs(tokens.references.lengths - tokens.responses.lengths[batch.owner])
        starts = np.cumsum(batch.reference_counts) - batch.reference_counts
        columns.append(np.log1p(np.minimum.reduceat(off, starts)))
    return np.stack(columns, axis=1)
