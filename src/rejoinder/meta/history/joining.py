"""Two releases as one table, and their comparison: only scores with equal signatures are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rejoinder.errors import UnknownNameError
from rejoinder.meta.comparing.compare import compare_table
from rejoinder.meta.comparing.comparison import Comparison
from rejoinder.meta.comparing.score_tables import check_equal_signatures
from rejoinder.meta.history.release import Release
from rejoinder.scoring.grouping import GroupFinder, Grouping
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example, Scores

_NOISE = 1e-5
"""The share of the range of scores below which a difference is one of rounding."""


def compare_releases(
    old: Release,
    new: Release,
    metrics: Sequence[str],
    *,
    primary: str | None = None,
    margin: float | None = None,
    named: Sequence[str] = (),
) -> Comparison:
    """The comparison of two releases by these metrics; a CallError where their signatures differ."""
    check_comparable(old, new.name, {label: new.table.signatures[label] for label in metrics})
    table = joined(old, new, metrics)
    return compare_table(table, primary=primary, margin=margin, named=named, skipped=new.skipped)


def check_comparable(old: Release, name: str, signatures: Mapping[str, str]) -> None:
    """Raise a CallError where a release lacks a metric, or was scored with other settings or another version of it."""
    for label, signature in signatures.items():
        if label not in old.table.metrics:
            raise UnknownNameError(f"metric of {old.name}:", label, old.table.metrics)
        check_equal_signatures(label, {old.name: old.table.signatures[label], name: signature})


def joined(old: Release, new: Release, metrics: Sequence[str]) -> ScoreTable:
    """The scores of both, with replies to equal contexts paired."""
    tables = (old.table, new.table)
    corpus: dict[str, Mapping[str, float]] = {}
    for label in metrics:
        found = {name: value for table in tables for name, value in table.corpus.get(label, {}).items()}
        if found:
            corpus[label] = found
    return ScoreTable(
        scores={label: np.concatenate([old.table[label], _without_noise(old, new, label)]) for label in metrics},
        signatures={label: new.table.signatures[label] for label in metrics},
        system_names=(old.name, new.name),
        system_of=np.repeat(np.array([0, 1], np.int32), [len(table) for table in tables]),
        ids=[*old.table.ids, *new.table.ids],
        corpus=corpus,
        ranges=new.table.ranges,
        higher_is_better=new.table.higher_is_better,
        notes=new.table.notes,
        doubts={
            label: {name: found for table in tables for name, found in table.doubts.get(label, {}).items()}
            for label in metrics
        },
        grouping=_grouping(old, new),
        seed=new.table.seed,
        resamples=new.table.resamples,
    )


def _without_noise(old: Release, new: Release, label: str) -> Scores:
    """The scores of the new release, with those of the old one where only the last bits differ.

    The same reply may get another last bit on another machine or in another batch (docs/reference/determinism.md), and
    many such differences in one direction would be significant.
    """
    before, after = old.table[label], new.table[label].copy()
    known = before[~np.isnan(before)]
    nearest = _NOISE * (float(np.ptp(known)) if len(known) else 0.0)
    by_context: dict[str, list[float]] = {}
    for context, score in zip(old.contexts, before.tolist(), strict=True):
        by_context.setdefault(context, []).append(score)
    for row, (context, score) in enumerate(zip(new.contexts, after.tolist(), strict=True)):
        after[row] = next((each for each in by_context.get(context, ()) if abs(each - score) <= nearest), score)
    return after


def _grouping(old: Release, new: Release) -> Grouping:
    finder = GroupFinder()
    for release in (old, new):
        finder.add(
            Example(identifier, (), "", context_id=context, dialogue_id=dialogue)
            for identifier, context, dialogue in zip(
                release.table.ids, release.contexts, release.dialogues, strict=True
            )
        )
    return finder.found()
