"""With which probability each reply is chosen to be labelled, given the scores of all replies.

`rejoinder sample` draws once with these probabilities; the queue of `rejoinder annotate serve` draws in waves, and
learns from the labels of earlier waves. The draw itself is in `stats.labelling.design`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.errors import CallError, UnknownNameError, listed
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.labelling.design import (
    active_probabilities,
    equal_probabilities,
    score_strata,
    stratified_probabilities,
)
from rejoinder.types import Example, Scores

DESIGNS = ("random", "stratified", "active")

N_STRATA = 5
"""Strata per system: the finest of which most have some labels of a pilot."""

FEWEST_TO_LEARN = 10
"""Labels per system from which a wave learns where the scores predict badly."""


@dataclass(frozen=True)
class LabelFrame:
    """Scores of replies and their uncertainty, in the order of the replies."""

    scores: Scores
    uncertainty: Scores

    def take(self, rows: Ints) -> LabelFrame:
        """Some of the replies."""
        return LabelFrame(self.scores[rows], self.uncertainty[rows])


def chosen_predictor(table: ScoreTable | None, wanted: str | None) -> str:
    """The metric whose scores are used: that which was asked for, or the first."""
    if table is None:
        if wanted is not None:
            raise CallError("a predictor needs scores: expected a score file that `rejoinder score -o` wrote")
        return ""
    if wanted is not None and wanted not in table.scores:
        raise UnknownNameError("predictor", wanted, table.scores)
    return wanted or table.metrics[0]


def chosen_design(wanted: str | None, table: ScoreTable | None, label: str, *, has_pilot: bool = False) -> str:
    """The design that was asked for, or the best one that the data are sufficient for."""
    if wanted is None:
        wanted = "random" if table is None else "active" if label in table.intervals and not has_pilot else "stratified"
    if wanted != "random" and table is None:
        raise CallError(f"the design {wanted} needs scores: expected a score file that `rejoinder score -o` wrote")
    if wanted == "active" and table is not None and label not in table.intervals:
        raise CallError(
            f"the design active needs intervals of {label}: expected scores of a calibrated evaluator, written by "
            "`rejoinder score --intervals`"
        )
    return wanted


def label_frame(examples: Sequence[Example], name: str, table: ScoreTable | None, label: str) -> LabelFrame:
    """The scores joined to the replies by id and system; a missing score is NaN, a missing row an error."""
    keys = [(example.id, example.system) for example in examples]
    if not keys:
        raise CallError(f"{name} has no replies: expected at least one")
    if len(set(keys)) < len(keys):
        twice = Counter(keys).most_common(1)[0][0]
        raise CallError(f"{name}: the id {twice[0]!r} occurs twice: expected a different id for each reply of a system")
    if table is None:
        return LabelFrame(np.zeros(len(keys)), np.ones(len(keys)))
    ids = table.ids or []
    place_of = {
        (identifier, table.system_names[code]): place
        for place, (identifier, code) in enumerate(zip(ids, table.system_of.tolist(), strict=True))
    }
    missing = [key[0] for key in keys if key not in place_of]
    if missing:
        raise CallError(
            f"{name}: {len(missing)} of {len(keys)} replies have no row in the scores ({listed(missing[:3])}): "
            "expected the scores of these replies"
        )
    rows = np.array([place_of[key] for key in keys])
    bounds = table.intervals.get(label)
    uncertainty = np.ones(len(keys)) if bounds is None else (bounds[1] - bounds[0])[rows]
    return LabelFrame(table[label][rows], uncertainty)


def rows_by_system(examples: Sequence[Example]) -> dict[str, Ints]:
    """System -> the rows of its replies."""
    rows: dict[str, list[int]] = {}
    for row, example in enumerate(examples):
        rows.setdefault(example.system, []).append(row)
    return {system: np.array(of, np.int64) for system, of in rows.items()}


def divided(labels: int, replies: Mapping[str, int]) -> dict[str, int]:
    """The labels of each system: equally many, unless one has too few replies."""
    if not len(replies) <= labels <= sum(replies.values()):
        raise CallError(f"labels must be from {len(replies)} to {sum(replies.values())}, not {labels}")
    given = dict.fromkeys(replies, 0)
    for _ in range(labels):
        open_systems = [system for system in replies if given[system] < replies[system]]
        given[min(open_systems, key=given.__getitem__)] += 1
    return given


def label_probabilities(
    design: str, frame: LabelFrame, n_labels: int, deviations: Floats | None = None
) -> tuple[Floats, Ints]:
    """The probability of each reply of one system, and its stratum."""
    n = len(frame.scores)
    if design == "random":
        return equal_probabilities(n, n_labels), np.zeros(n, np.int64)
    known = ~np.isnan(frame.scores)
    if design == "active":
        # A reply that the evaluator cannot score is as uncertain as any.
        widest = float(frame.uncertainty[known].max()) if known.any() else 1.0
        return active_probabilities(np.where(known, frame.uncertainty, widest), n_labels), np.zeros(n, np.int64)
    strata = label_strata(frame.scores)
    return stratified_probabilities(strata, n_labels, deviations), strata


def wave_probabilities(
    design: str, frame: LabelFrame, rows: Ints, n_labels: int, labels: Scores
) -> tuple[Floats, Ints]:
    """Probability and stratum of the replies of one system in `rows`, given the labels of other replies of it.

    `frame` and `labels` have all replies of the system; labels are NaN where there are none yet. With the design
    `stratified`, strata whose labels the scores predict badly get more.
    """
    if design != "stratified":
        return label_probabilities(design, frame.take(rows), n_labels)
    strata = label_strata(frame.scores)
    enough = int((~np.isnan(labels) & ~np.isnan(frame.scores)).sum()) >= FEWEST_TO_LEARN
    deviations = stratum_deviations(frame.scores, strata, labels) if enough else None
    present, within = np.unique(strata[rows], return_inverse=True)
    found = stratified_probabilities(within, n_labels, None if deviations is None else deviations[present])
    if (found == 0).any():  # too few labels for so many strata: what cannot be chosen cannot be estimated
        return equal_probabilities(len(rows), n_labels), np.zeros(len(rows), np.int64)
    return found, within


def label_strata(scores: Scores) -> Ints:
    """The stratum of each reply of one system; replies without a score are a stratum of their own."""
    known = ~np.isnan(scores)
    strata = np.zeros(len(scores), np.int64)
    if known.any():
        strata[known] = score_strata(scores[known], N_STRATA)
        strata[~known] = strata[known].max() + 1
    return strata


def stratum_deviations(scores: Scores, strata: Ints, labels: Scores) -> Floats:
    """How far labels are from the line through scores and labels, in each stratum (root mean square).

    Each stratum counts as if it had two more labels with the deviation of all: few labels say little.
    """
    labelled = ~np.isnan(labels) & ~np.isnan(scores)
    x, y = scores[labelled] - scores[labelled].mean(), labels[labelled] - labels[labelled].mean()
    squares = (y - x * (float(x @ y) / float(x @ x) if float(x @ x) > 0 else 0.0)) ** 2
    n_strata = int(strata.max()) + 1
    sums = np.bincount(strata[labelled], squares, n_strata) + 2 * float(squares.mean())
    found: Floats = np.sqrt(sums / (np.bincount(strata[labelled], minlength=n_strata) + 2))
    return found
