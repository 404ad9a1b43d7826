"""The evaluator `blend`: metrics, evaluators and surface features, weighed by what people said."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError, DataError, shortened
from rejoinder.evaluators.base import Evaluator, Pretrained, Use
from rejoinder.evaluators.blend.columns import (
    BY_LENGTH,
    FORM,
    LENGTH,
    SCORE,
    SPECIFICITY,
    SURFACE,
    LabelledRows,
    MemberScores,
    RatedSet,
    form_columns,
    labelled_rows,
    member_columns,
    rated_sets,
    specificity_columns,
    surface_columns,
)
from rejoinder.evaluators.blend.fitting import (
    HOLD_OUT,
    MODEL_KINDS,
    BlendFigures,
    BlendModels,
    Ridge,
    Trees,
    choose_models,
    report_on,
)
from rejoinder.evaluators.blend.notes import BlendWatcher
from rejoinder.evaluators.blend.pairs import PreferenceSet
from rejoinder.evaluators.calibration import HIGHEST, LOWEST, Calibration
from rejoinder.evaluators.ensemble import FIELD, saved_member, saved_place
from rejoinder.evaluators.familiarity import Familiarity
from rejoinder.folders.array_schema import Array, checked_arrays
from rejoinder.folders.foreign import saved_arrays
from rejoinder.folders.saved import write_arrays
from rejoinder.folders.schema import CONFIG, checked_member, checked_object, plain_name
from rejoinder.learning.data import TrainingData
from rejoinder.learning.learned import ARRAYS
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import Metric, Watcher, check_choice
from rejoinder.metrics.batch import Batch, encodable
from rejoinder.metrics.pragmatic import brief
from rejoinder.registry import SHIPPED_FOLDERS, load, load_evaluator, shipped_folder
from rejoinder.specs import parse_spec
from rejoinder.types import Example, Scores

_LOGISTIC = 1.702
"""The logistic function of this times x is the normal distribution function, to within .01."""


@dataclass(frozen=True, kw_only=True)
class Blend(Evaluator):
    """Ratings predicted from the scores of several members, by ridge regression, boosted trees or both."""

    name: ClassVar[str] = "blend"
    measures: ClassVar[str] = "the rating of a reply, predicted from several evaluators and metrics"
    citation: ClassVar[str] = "Wolpert 1992, Stacked Generalization"
    cannot_score: ClassVar[str] = "no member could score it"
    raw_range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)
    labels: ClassVar[Use] = "needed"
    dialogues: ClassVar[Use] = "unused"

    members: tuple[str | Metric, ...]
    """A metric's name, which may have parameters, the name or folder of a trained evaluator, or a metric object."""
    surface: bool = True
    """Whether lengths, overlaps, punctuation, the rarity of words and the form of the reply are counted as well."""
    models: tuple[str, ...] = MODEL_KINDS
    """What may be fitted, `ridge` or `trees`; of several, cross-validation chooses one of them or their mean."""
    join: str = "ranks"
    """How ratings of several files become comparable: by `ranks` within a file, or as `z-scores`."""
    hold_out: str = "contexts"
    """What cross-validation holds out: `contexts`, or whole `sets`, for data unlike those that were rated."""
    dimension: tuple[str, ...] = ()
    """Which ratings to learn; of several names the first that a file has."""
    preferences: tuple[str, ...] = ()
    """Files of preferences with replies (`response_a`, `response_b`), fitted together with the ratings."""
    title: str | None = None
    """A name and version of its own, for the signature."""

    members_: tuple[Metric, ...] = field(init=False, repr=False, compare=False)
    columns_: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The names of the columns that the models read."""
    models_: BlendModels = field(init=False, repr=False, compare=False)
    calibration_: Calibration | None = field(init=False, repr=False, compare=False)
    """From out-of-fold scores; None with too few contexts."""
    report_: BlendFigures = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        members: object = self.members  # types do not prevent one name in place of a tuple of names
        if isinstance(members, str) or not self.members:
            raise CallError(f"{self.name}: members must be a list of at least one, not {self.members!r}")
        names = list(map(member_name, self.members))
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise CallError(f"{self.name}: {repeated[0]} is given twice: expected each member once")
        if not self.models or not set(self.models) <= set(MODEL_KINDS):
            given = ", ".join(self.models) or "none"
            raise CallError(f"{self.name}: models must be of {', '.join(MODEL_KINDS)}, not {given}")
        check_choice(self, "join", ("ranks", "z-scores"))
        check_choice(self, "hold_out", HOLD_OUT)

    @property
    def needs(self) -> frozenset[str]:
        """What all members need that need anything."""
        if self.fit_ is None:
            return frozenset()
        needed = [member.needs for member in self.members_ if member.needs]
        return frozenset.intersection(*needed) if needed else frozenset()

    @property
    def parameters(self) -> dict[str, Any]:
        """With the names of members that were given as objects; preferences only where there are any."""
        found = {**super().parameters, "members": tuple(map(member_name, self.members))}
        if not self.preferences:
            del found["preferences"]
        return found

    def clone(self) -> Self:
        """One with the same members that is not fitted."""
        return type(self)(**{**self.parameters, "members": self.members})

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """Members, models, calibration and report."""
        sets = rated_sets(data.judged, self.dimension)
        preferences = self._preference_sets
        rows = self._labelled(sets, data.run, preferences)
        choice = choose_models(rows, self.models, self.hold_out, data.seed)
        models = BlendModels.fit(rows, choice.kinds, self.hold_out, data.seed)
        names = list(map(member_name, self.members))
        shown = [Path(each.name).name or "judged" for each in sets]
        return {
            "members_": self._loaded,
            "columns_": rows.names,
            "models_": models,
            "calibration_": _calibration(rows, choice.held_out, data.seed),
            "report_": replace(
                report_on(
                    rows,
                    choice,
                    models,
                    names,
                    shown,
                    [each.name for each in preferences],
                    hold_out=self.hold_out,
                    seed=data.seed,
                ),
                leaks=tuple(self._leaks(sets)),
            ),
        }

    def _leaks(self, sets: Sequence[RatedSet]) -> Iterator[str]:
        examples = [example for each in sets for example in each.examples]
        for given, member in zip(self.members, self._loaded, strict=True):
            held = int(member.trained_contexts.holds(examples).sum()) if isinstance(member, Evaluator) else 0
            if held:
                yield (
                    f"{member_name(given)} was trained on the contexts of {held} of the {len(examples)} judged "
                    "replies: its agreement with people there, and that of the blend, is too high"
                )

    def learned_calibration(self, values: Mapping[str, Any]) -> Calibration | None:
        """That of the out-of-fold scores, so that scores are on the scale of people's mean ratings."""
        found: Calibration | None = values["calibration_"]
        return found

    def predict(self, batch: Batch) -> Scores:
        """One score per example, from 1 to 5; NaN if no member can score it."""
        batch = encodable(batch)
        found = {
            _title(member_name(given), name): column
            for given, member in zip(self.members, self.members_, strict=True)
            for name, column in member_columns(member, batch).items()
        }
        found |= _counted(batch.examples, form=not set(self.columns_).isdisjoint(FORM))
        found |= _by_length(found, list(map(member_name, self.members)))
        for name in self.columns_:
            if name not in found:
                raise CallError(f"{self.name}: no member gives the column {shortened(name)}: expected another folder")
        scores = standard_on_scale(self.models_.predict(np.stack([found[name] for name in self.columns_], axis=1)))
        selective = [place for place, member in enumerate(self.members_) if member.needs] or range(len(self.members_))
        own = [found[member_name(self.members[place])] for place in selective]
        scores[np.isnan(own).all(axis=0)] = np.nan
        return scores

    def _labelled(
        self, sets: Sequence[RatedSet], run: TrainingRun, preferences: Sequence[PreferenceSet] = ()
    ) -> LabelledRows:
        examples = [example for each in sets for example in each.examples]
        examples += [example for each in preferences for half in (each.first, each.second) for example in half]
        scores = MemberScores(examples, run.member_scores, quiet=run.quiet)
        columns: dict[str, Floats] = {}
        owner: list[int] = []
        for number, (given, member) in enumerate(zip(self.members, self._loaded, strict=True)):
            found = scores.columns(member)
            if np.isnan(found[SCORE]).all():
                raise CallError(f"{self.name}: {member_name(given)} can score none of the judged replies")
            columns |= {_title(member_name(given), name): column for name, column in found.items()}
            owner += [number] * len(found)
        if self.surface:
            counted = _counted(examples)
            columns |= counted
            owner += [-1] * len(counted)
            columns |= _by_length(columns, list(map(member_name, self.members)))
            owner += range(len(self.members))
        return labelled_rows(sets, columns, owner, self.join, preferences)

    @cached_property
    def _loaded(self) -> tuple[Metric, ...]:
        """The members from where their parameter says they are."""
        return tuple(map(load_member, self.members))

    @property
    def _preference_sets(self) -> list[PreferenceSet]:
        return list(map(PreferenceSet.read, self.preferences))

    def inherited_contexts(self) -> TrainedContexts:
        """The contexts of the preferences."""
        found = TrainedContexts()
        for each in self._preference_sets:
            found |= TrainedContexts.of(each.first)
        return found

    @property
    def trained_contexts(self) -> TrainedContexts:
        """The contexts of the labels, and those that any member was trained on."""
        found = self.fitted.contexts
        for member in self.members_:
            if isinstance(member, Evaluator):
                found |= member.trained_contexts
        return found

    def familiarity_of(self, data: TrainingData) -> Familiarity | None:
        """That of the first member that has one: labels are too few to say what is unusual."""
        found = (member.fitted.familiarity for member in self._loaded if isinstance(member, Evaluator))
        return next((each for each in found if each is not None), super().familiarity_of(data))

    def watcher(self) -> Watcher | None:
        """A counter of replies that are unlike the members' training text or not read whole, and of stock replies."""
        evaluators = [member for member in self.members_ if isinstance(member, Evaluator)]
        return BlendWatcher(self.out_of_domain_counter(), evaluators)

    @property
    def signature(self) -> str:
        """The parameters, the fit, and a hash of the models, which also depend on what the members were."""
        if self.fit_ is None:
            return super().signature
        rest, _, version = super().signature.rpartition("|")
        return f"{rest}|weights:{self._digest}|{version}"

    @cached_property
    def _digest(self) -> str:
        digest = blake2b(digest_size=6)
        for member in self.members_:
            digest.update(unversioned(member).encode())
        for name, array in sorted(self._arrays().items()):
            digest.update(name.encode() + array.tobytes())
        return digest.hexdigest()

    def _arrays(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind in MODEL_KINDS:
            model: Ridge | Trees | None = getattr(self.models_, kind)
            if model is not None:
                found |= {f"{kind}.{name}": array for name, array in model.arrays.items()}
        return found

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the models as arrays, and members that have to be into folders of their own."""
        write_arrays(folder / ARRAYS, self._arrays())
        return {
            "members": member_places(self.members, self.members_, folder),
            "columns": list(self.columns_),
            "report": self.report_.to_dict(),
        }

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        config = str(folder / CONFIG)
        columns: tuple[str, ...] = checked_member(plain, "columns", tuple[str, ...], config)
        places = plain.get("members")
        if not isinstance(places, list) or len(places) != len(self.members):
            raise DataError("must be a list with one entry per member", file=config, field=FIELD)
        return {
            "members_": members_at(places, folder),
            "columns_": columns,
            "models_": _saved_models(folder / ARRAYS, len(columns)),
            "calibration_": None,  # config.json has it with the fit
            "report_": BlendFigures.from_dict(checked_member(plain, "report", dict, config)),
        }


def _saved_models(path: Path, columns: int) -> BlendModels:
    """The models that `save_learned` wrote."""
    arrays = saved_arrays(path)

    def part(kind: str, saved: Mapping[str, Array], **sizes: int) -> dict[str, Any]:
        """The arrays of a model, without the kind of model before their names."""
        expected = {f"{kind}.{name}": array for name, array in saved.items()}
        found = checked_arrays(arrays, expected, str(path), **sizes)
        return {name.removeprefix(f"{kind}."): array for name, array in found.items()}

    ridge = trees = None
    if any(name.startswith("ridge.") for name in arrays):
        ridge = Ridge.of(part("ridge", Ridge.saved(), columns=columns))
    if any(name.startswith("trees.") for name in arrays):
        left = arrays.get("trees.left", np.empty((0, 0)))
        trees = Trees.of(part("trees", Trees.saved(columns, left.shape[-1] if left.ndim else 0)))
    if ridge is None and trees is None:
        raise DataError("holds no model: expected a ridge regression or trees", file=str(path))
    return BlendModels(ridge, trees)


def _counted(examples: Sequence[Example], *, form: bool = True) -> dict[str, Floats]:
    """What is counted in replies and contexts: name -> one number per example."""
    found = dict(zip(SURFACE, surface_columns(examples).T, strict=True))
    found |= dict(zip(SPECIFICITY, specificity_columns(examples).T, strict=True))
    return found | (dict(zip(FORM, form_columns(examples).T, strict=True)) if form else {})


def _by_length(columns: Mapping[str, Floats], members: Sequence[str]) -> dict[str, Floats]:
    """The product of each member's score and the length."""
    return {BY_LENGTH.format(name): columns[name] * columns[LENGTH] for name in members}


def _title(member: str, column: str) -> str:
    return member if column == SCORE else f"{member}: {column}"


def standard_on_scale(predicted: Floats) -> Scores:
    """Standard scores mapped to 1..5, in the same order."""
    scores: Scores = LOWEST + (HIGHEST - LOWEST) / (1 + np.exp(-np.clip(_LOGISTIC * predicted, -30, 30)))
    return scores


def _calibration(rows: LabelledRows, held_out: Floats, seed: int) -> Calibration | None:
    """The map from out-of-fold scores to mean ratings on 1..5; None if it cannot be made."""
    try:
        return Calibration.fit(standard_on_scale(held_out), rows.human, rows.groups, seed=seed)
    except CallError:  # too few contexts, or one score for all
        return None


# The members of a blend: by name, from a folder, or as objects; and how a saved blend finds them again.


def load_member(member: str | Metric) -> Metric:
    """The member, ready to score; CallError if it cannot be a member."""
    found = load(member) if isinstance(member, str) else member
    if not isinstance(found, Metric):
        raise CallError(f"blend: {member} does not score replies: expected a metric or an evaluator")
    if not found.is_fitted:
        raise CallError(f"blend: {member} is not trained: expected the folder of a trained one")
    if found.observer() is not None:
        raise CallError(
            f"blend: {member_name(member)} has to see all replies before it scores one, so that it cannot be a member"
        )
    return _uncalibrated(found)


def _uncalibrated(member: Metric) -> Metric:
    """An evaluator with its own scores: the blend has a calibration of its own."""
    return member.with_calibration(None) if isinstance(member, Evaluator) else member


def member_name(member: str | Metric) -> str:
    """What `load` takes; for a trained evaluator given as an object, its kind and a hash."""
    if isinstance(member, str):
        return member
    return brief(member) if isinstance(member, Evaluator) else member.spec


def unversioned(member: Metric) -> str:
    """A member's signature without the version of the package, which changes more often than scores do."""
    return member.signature.rpartition("|v:")[0]


def member_places(given: Sequence[str | Metric], members: Sequence[Metric], folder: Path) -> list[dict[str, Any]]:
    """Where a saved blend finds its members: in the package, in a folder within its own, or by a metric's name.

    Members that have a pretrained model in common are written once, with the parameters of the others.
    """
    places: list[dict[str, Any]] = []
    written: dict[Hashable, str] = {}
    for number, (name, member) in enumerate(zip(given, members, strict=True)):
        if _shipped(name) is not None:
            places.append({"shipped": name, "signature": unversioned(member)})
            continue
        key = (member.name, *member.model_key) if isinstance(member, Pretrained) else None
        if key in written:
            places.append({"folder": written[key], "parameters": member.parameters})
            continue
        places.append(saved_place(member, folder, number))
        if key is not None:
            written[key] = places[-1]["folder"]
    return places


def members_at(places: Sequence[object], folder: Path) -> tuple[Metric, ...]:
    """The members at places that `member_places` gave; a pretrained model that several have is loaded once."""
    opened: dict[str, Metric] = {}
    return tuple(_uncalibrated(_at_place(place, folder, opened)) for place in places)


def _at_place(place: object, folder: Path, opened: dict[str, Metric]) -> Metric:
    file = str(folder / CONFIG)
    given = checked_object(place, file, FIELD)
    if "shipped" in given:
        return _shipped_member(given, folder)
    if "folder" not in given:
        return saved_member(given, folder)
    name = plain_name(given["folder"], file, FIELD)
    if name not in opened:
        opened[name] = saved_member({"folder": name}, folder)
    found = opened[name]
    if "parameters" not in given:
        return found
    if not isinstance(found, Pretrained):
        raise DataError(f"gives parameters for {name}, which has its own: expected none", file=file, field=FIELD)
    parameters = checked_object(given["parameters"], file, FIELD)
    try:
        return found.with_parameters(parameters, folder / name)
    except CallError as error:
        raise DataError(str(error), file=file, field=FIELD) from error


def _shipped(given: str | Metric) -> tuple[str, dict[str, Any]] | None:
    """Name and parameters of an evaluator that comes with the package; None for any other member."""
    try:
        name, parameters = parse_spec(given) if isinstance(given, str) else ("", {})
    except CallError:  # a folder's name may be anything
        return None
    return (name, parameters) if name in SHIPPED_FOLDERS else None


def _shipped_member(place: Mapping[str, Any], folder: Path) -> Metric:
    file = str(folder / CONFIG)
    given = checked_member(place, "shipped", str, file, FIELD)
    named = _shipped(given)
    if named is None:
        wanted = "expected an evaluator that comes with the package"
        raise DataError(f"names {shortened(given)}: {wanted}", file=file, field=FIELD)
    found: Metric = load_evaluator(shipped_folder(named[0]), named[1])
    if unversioned(_uncalibrated(found)) != checked_member(place, "signature", str, file, FIELD):
        raise CallError(
            f"{folder} was fitted with another version of {given}, which gave other scores: "
            "expected the one that it was fitted with, or a new fit"
        )
    return found
