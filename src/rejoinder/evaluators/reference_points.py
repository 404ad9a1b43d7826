"""Reference points of an evaluator's scale: the mean scores of replies whose quality is known.

A mean of 3.1 says little by itself. Beside the means of people's replies, of random replies and of generic ones it says
where a system stands. An evaluator that comes with the package has these means in `reference_points.json`, together
with its signature: they hold for no other version.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from rejoinder.data.dialogues import read_text
from rejoinder.errors import DataError, UnknownNameError
from rejoinder.evaluators.base import Evaluator
from rejoinder.folders.schema import json_value
from rejoinder.metrics.base import ScoreWarning
from rejoinder.options import Option, text, verb
from rejoinder.registry import SHIPPED_FOLDERS, shipped_folder
from rejoinder.stats.resampling import mean_interval
from rejoinder.types import Example

POINTS = "reference_points.json"


@dataclass(frozen=True, slots=True)
class ReferencePoint:
    """The mean score of one kind of reply, with its 95 % interval."""

    name: str
    """human replies, random replies, generic replies, garbled replies"""
    mean: float
    low: float
    high: float
    replies: int

    def __str__(self) -> str:
        return f"{self.name}: {self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


@verb
def reference_points(
    evaluator: Annotated[str, Option("an evaluator that comes with the package", text)] = "default",
) -> tuple[ReferencePoint, ...]:
    """The reference points of an evaluator that comes with the package, the best kind of reply first; none if it has
    no such file."""
    if evaluator not in SHIPPED_FOLDERS:
        raise UnknownNameError("evaluator of the package", evaluator, SHIPPED_FOLDERS)
    return _saved(shipped_folder(evaluator) / POINTS)[1]


def points_of_signature(signature: str) -> tuple[ReferencePoint, ...]:
    """The reference points that hold for scores with this signature, from whatever version of the package; none if
    it is not that of an evaluator that has them."""
    wanted = signature.rpartition("|v:")[0]
    for folder in sorted({shipped_folder(name) for name in SHIPPED_FOLDERS}):
        known, points = _saved(folder / POINTS)
        if wanted and known.rpartition("|v:")[0] == wanted:
            return points
    return ()


@cache
def _saved(path: Path) -> tuple[str, tuple[ReferencePoint, ...]]:
    """The signature and the points of a file; none if there is no such file."""
    if not path.is_file():
        return "", ()
    try:
        plain = json_value(read_text(path))
        return str(plain["signature"]), tuple(ReferencePoint(**point) for point in plain["points"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"holds no reference points ({error})", file=str(path)) from error


def write_points(folder: Path, evaluator: Evaluator, kinds: Mapping[str, Sequence[Example]]) -> None:
    """Score the replies of each kind, and write their means into the evaluator's folder."""
    found = []
    for name, examples in kinds.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoreWarning)
            scores = evaluator.score(examples)
        interval = mean_interval(scores, ["\n".join(example.context) for example in examples])
        mean, low, high = (round(each, 3) for each in (interval.estimate, interval.low, interval.high))
        found.append(ReferencePoint(name, mean, low, high, len(scores)))
    found.sort(key=lambda point: -point.mean)
    plain = {"signature": evaluator.signature, "points": [asdict(point) for point in found]}
    (folder / POINTS).write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
