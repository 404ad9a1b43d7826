"""One number a candidate reply, for the student to learn.

.5 z(share) + z(cond) + 2 z(cosine) + .8 z(true); z takes off the mean and divides by the
standard deviation. *share*: how much of what the reply says the context tells, (log p(r|c) - log p(r)) / -log p(r).
*cond*: log p(r|c) a token. *cosine*: of the towers, with the last turn. *true*: whether it is the reply that was really
given. A language model and towers both like an echo best of all, so that a rule sends echoes and repetitions to the
bottom.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.data.pairs import Pair

WEIGHTS: Mapping[str, float] = MappingProxyType({"share": 0.5, "cond": 1, "cosine": 2, "true": 0.8})
BOTTOM = 0.08
"""The quantile that what goes to the bottom is at most, less a little."""
BELOW_BOTTOM = 0.3
SHUFFLED = -0.6
"""What shuffled words get at most."""
REPEATING = frozenset({"echo", "own", "repeated"})


class Taught(NamedTuple):
    """A candidate reply with what the language model says of it."""

    context: tuple[str, ...]
    kind: str
    reply: str
    after: float | None
    """log p(reply | context); None where no teacher said."""
    alone: float | None
    """log p(reply)"""
    tokens: int | None

    @property
    def pair(self) -> Pair:
        """As the student reads it."""
        return Pair(self.context, (), self.reply)

    @property
    def repeats(self) -> bool:
        """Whether it says again what was said before."""
        if self.kind in REPEATING:
            return True
        return self.kind != "true" and _bare(self.reply) in {_bare(turn) for turn in self.context}


def read_taught(files: Sequence[Path], most: int | None = None) -> list[Taught]:
    """The candidates of the teacher's files; of each file's first `most` contexts where that is given."""
    found = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines()[:most]:
            row = json.loads(line)
            found += [Taught(tuple(row["context"]), *candidate) for candidate in row["cands"]]
    return found


def targets(rows: Sequence[Taught], cosines: Floats) -> Floats:
    """What the student shall learn of each candidate; mean about 0, standard deviation about 1; NaN where no teacher
    said."""
    named = parts(rows, cosines)
    wanted = standardised(np.sum([weight * named[name] for name, weight in WEIGHTS.items()], axis=0))
    lowest = float(np.nanquantile(wanted, BOTTOM))
    for number, row in enumerate(rows):
        if row.after is None:
            continue
        if row.repeats:
            wanted[number] = min(wanted[number], lowest) - BELOW_BOTTOM
        elif row.kind == "shuffled":
            wanted[number] = min(wanted[number], SHUFFLED)
    return wanted


def parts(rows: Sequence[Taught], cosines: Floats) -> dict[str, Floats]:
    """What the target is made of, each standardised, outliers cut off."""
    after = np.array([row.after for row in rows], float)  # None becomes NaN
    alone = np.array([row.alone for row in rows], float)
    tokens = np.array([row.tokens for row in rows], float)
    found = {
        "share": np.clip((after - alone) / -alone, -0.5, 1),
        "cond": np.clip(after / tokens, -9, 0),
        "cosine": cosines,
        "true": np.array([float(row.kind == "true") for row in rows]),
    }
    return {name: standardised(values) for name, values in found.items()}


def standardised(values: Floats) -> Floats:
    """Less the mean, over the standard deviation."""
    found: Floats = (values - np.nanmean(values)) / np.nanstd(values)
    return found


def print_kinds(rows: Sequence[Taught], wanted: Floats) -> None:
    """How many candidates of each kind there are, and their mean target."""
    kinds = np.array([row.kind for row in rows])
    for kind in sorted(set(kinds.tolist())):
        print(f"{kind:10s} {(kinds == kind).sum():6d} candidates, mean target {np.nanmean(wanted[kinds == kind]):6.2f}")


def _bare(text: str) -> str:
    return text.strip().lower()
