"""The members of a blend: by name, from a folder, or as objects; and how a saved blend finds them again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator
from rejoinder.metrics.base import Metric
from rejoinder.metrics.pragmatic import brief
from rejoinder.registry import SHIPPED_FOLDERS, build, load, load_evaluator
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


def place_of(given: str | Metric, member: Metric, folder: Path, number: int) -> dict[str, Any]:
    """Where a saved blend finds a member: the package, a folder within its own, or a metric's parameters.

    A pretrained model that is used as it is may be large, and stays where it is.
    """
    if isinstance(given, str) and parse_spec(given)[0] in SHIPPED_FOLDERS:
        return {"shipped": given, "signature": unversioned(member)}
    if isinstance(given, str) and isinstance(member, Evaluator) and member.labels == member.dialogues == "unused":
        return {"pretrained": given, "signature": unversioned(member)}
    if isinstance(member, Evaluator):
        member.save(folder / f"member-{number}")
        return {"folder": f"member-{number}"}
    return {"metric": member.name, "parameters": member.parameters}


def at_place(place: Mapping[str, Any], folder: Path) -> Metric:
    """The member at a place that `place_of` gave."""
    found: Metric
    name = place.get("shipped") or place.get("pretrained")
    if name is not None:
        found = _uncalibrated(load(name))
        if unversioned(found) != place["signature"]:
            raise CallError(
                f"{folder} was fitted with another version of {name}, which gave other scores: "
                "expected the one that it was fitted with, or a new fit"
            )
        return found
    if "folder" in place:
        return _uncalibrated(load_evaluator(folder / place["folder"], {}))
    found = build(place["metric"], place["parameters"])
    return found
