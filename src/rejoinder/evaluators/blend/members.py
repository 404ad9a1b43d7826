"""The members of a blend: by name, from a folder, or as objects; and how a saved blend finds them again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError, DataError, shortened
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.pretrained import Pretrained
from rejoinder.evaluators.saved_members import FIELD, saved_member, saved_place
from rejoinder.loading import schema
from rejoinder.loading.inside import plain_name
from rejoinder.metrics.base import Metric
from rejoinder.metrics.pragmatic import brief
from rejoinder.model_folder import CONFIG
from rejoinder.registry import SHIPPED_FOLDERS, load, load_evaluator, shipped_folder
from rejoinder.specs import parse_spec


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


def places_of(given: Sequence[str | Metric], members: Sequence[Metric], folder: Path) -> list[dict[str, Any]]:
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


def members_at(places: Sequence[object], home: Path) -> tuple[Metric, ...]:
    """The members at places that `places_of` gave; a pretrained model that several have is loaded once."""
    opened: dict[str, Metric] = {}
    return tuple(_uncalibrated(_at_place(place, home, opened)) for place in places)


def _at_place(place: object, home: Path, opened: dict[str, Metric]) -> Metric:
    file = str(home / CONFIG)
    given = schema.checked_object(place, file, FIELD)
    if "shipped" in given:
        return _shipped_member(given, home)
    if "folder" not in given:
        return saved_member(given, home)
    name = plain_name(given["folder"], file, FIELD)
    if name not in opened:
        opened[name] = saved_member({"folder": name}, home)
    found = opened[name]
    if "parameters" not in given:
        return found
    if not isinstance(found, Pretrained):
        raise DataError(f"gives parameters for {name}, which has its own: expected none", file=file, field=FIELD)
    parameters = schema.checked_object(given["parameters"], file, FIELD)
    try:
        return found.with_parameters(parameters, home / name)
    except CallError as error:
        raise DataError(str(error), file=file, field=FIELD) from error


def _shipped(given: str | Metric) -> tuple[str, dict[str, Any]] | None:
    """Name and parameters of an evaluator that comes with the package; None for any other member."""
    try:
        name, parameters = parse_spec(given) if isinstance(given, str) else ("", {})
    except CallError:  # a folder's name may be anything
        return None
    return (name, parameters) if name in SHIPPED_FOLDERS else None


def _shipped_member(place: Mapping[str, Any], home: Path) -> Metric:
    file = str(home / CONFIG)
    given = schema.member(place, "shipped", str, file, FIELD)
    named = _shipped(given)
    if named is None:
        wanted = "expected an evaluator that comes with the package"
        raise DataError(f"names {shortened(given)}: {wanted}", file=file, field=FIELD)
    found: Metric = load_evaluator(shipped_folder(named[0]), named[1])
    if unversioned(_uncalibrated(found)) != schema.member(place, "signature", str, file, FIELD):
        raise CallError(
            f"{home} was fitted with another version of {given}, which gave other scores: "
            "expected the one that it was fitted with, or a new fit"
        )
    return found
