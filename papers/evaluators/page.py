"""The page `evaluator-figures`: evaluators, plain metrics and published figures on every judged set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from papers.documents import Document
from papers.evaluators.cells import Cell, Row
from papers.evaluators.scorers import NOT_YET, SCORERS, FoundScorer
from papers.evaluators.sets import LARGEST, PARTS, Part
from papers.evaluators.targets import TARGETS, Target
from papers.inputs import Inputs
from papers.published.judged_sets import SEMI, ZERO, published_on
from rejoinder.errors import UnknownNameError
from rejoinder.options import RESAMPLES
from rejoinder.show.text import number_text
from rejoinder.stats.intervals import Interval

SECTIONS = (ZERO, SEMI, "targets")

INTRODUCTION = f"""\
# How well scores agree with people

This page shows how scores correlate with people's mean ratings of the same replies. Each cell has Pearson's r above and
Spearman's rho below, each with a 95 % interval from 1,000 resamples of whole contexts, because replies to one context
are not independent. `n` is given where a scorer could not score all replies, and `left out` counts the replies whose
context it was trained on. Sets of more than {LARGEST:,} replies are measured on a seeded sample of contexts. Where a
set has no references or no contexts, a scorer that needs them has no figure. A **bold** figure meets its target; one
that does not is marked "missed". Targets and published figures are compared with our estimates alone, without regard to
the intervals; published figures have no intervals.

On the published test splits of zhao2020 (`/test`), ratings far from the median of their reply are dropped, as in Zhao
et al. 2020; everywhere else all ratings count. These splits divide replies, not contexts, so that the contexts of the
test part also occur in the training part. Figures on them can be compared with the paper, but are too optimistic for
new contexts.

In some sets, the true reply is one of the judged replies and also its own only reference (zhao2020: 100 of 900 and 150
of 900, usr_personachat: 60 of 300, engage_dailydialog: half). This raises the figures of all metrics that compare with
references. The labels of dailydialogpp_dev are not ratings: each label says how its reply was made, and the
references are the other good replies. dstc6_t2 has no contexts; each of its 2,000 items counts as one. usr_personachat
has two rows: one for how good a reply is overall, on which its target is measured, and one for whether it fits the
context, which is all that an evaluator can see without the persona."""

ZERO_TEXT = """\
## Zero labels

These scorers were trained without judged data of any kind. "cosine" is the cosine similarity between the sentence
vectors of the last turn and of the reply, from a pretrained encoder that was not trained further
([encoder-cosine](../reference/metrics.md#encoder-cosine)). The cosine and the metrics have not been fitted to anything
here. mpnet was trained by the same recipe as `default-zero` for an hour on one core, without the polishing stage; on
this machine it is too slow for the largest sets."""

SEMI_TEXT = """\
## Semi-supervised

These scorers were trained with labels of other sets. "With labels" means: also with labels of other contexts of the
same set. Contexts are divided into five folds, and each reply is scored by a model that saw no label of its context;
for `/test`, the model was trained on the published training part. `default@1`, the first version of `default`, was
itself trained with labels of conture_turn, engage_dailydialog and dailydialogpp_dev. For these three sets, the second
column has out-of-fold scores by the recipe that made its weights, on two of the five folds. For the other sets, it has
models that were trained further on replies of the set: from the shipped weights on `/test`, and from earlier weights
elsewhere. [default-evaluator.md](../design/default-evaluator.md) says how each was trained."""

TARGETS_TEXT = """\
## Targets

Each target is a Spearman correlation, or a pair of Pearson / Spearman."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured."""

    only: tuple[str, ...] = ()
    """These rows; all without it."""
    cached: bool = False
    """Compute no scores, and show only cached ones."""
    resamples: int = RESAMPLES


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """One table per setting, the targets, and all numbers as JSON next to the page."""
    keys = [part.key for part in PARTS]
    for key in settings.only:
        if key not in keys:
            raise UnknownNameError("judged set", key, keys)
    found = [scorer.found(inputs) for scorer in SCORERS]
    rows = [_row(part, found, settings) for part in PARTS if not settings.only or part.key in settings.only]
    document = Document("evaluator-figures")
    document.text(INTRODUCTION)
    for setting, text in {ZERO: ZERO_TEXT, SEMI: SEMI_TEXT}.items():
        if setting in sections:
            document.text(text)
            _table(document, rows, setting)
    if "targets" in sections:
        document.text(TARGETS_TEXT)
        _targets(document, rows)
    numbers = {setting: [row.to_dict(setting) for row in rows] for setting in (ZERO, SEMI)}
    document.beside["evaluator-figures.json"] = json.dumps(numbers, indent=1) + "\n"
    return document


def _row(part: Part, scorers: Sequence[FoundScorer], settings: Settings) -> Row:
    """A set, scored by all."""
    judged, total = part.read(scorers[0].inputs)
    cells = []
    for found in scorers:
        found.inputs.say(f"{part.key}: {found.scorer.name}")
        cells.append(Cell.of(found, part, judged, compute=not settings.cached, resamples=settings.resamples))
    return Row(part, len(judged), total, len(np.unique(judged.contexts)), tuple(cells))


def _table(document: Document, rows: Sequence[Row], setting: str) -> None:
    """One row per set, one column per scorer, and published figures."""
    lines = []
    for row in rows:
        others = [
            f"{number_text(found.figures.pearson, 2)} / {number_text(found.figures.spearman, 2)} {found.source}"
            for found in published_on(row.part.key, setting)
        ]
        lines.append([_title(row), *map(_shown, row.of(setting)), "<br>".join(others)])
    names = [scorer.name for scorer in SCORERS if scorer.setting == setting]
    document.table(["judged set", *names, "published"], lines)


def _targets(document: Document, rows: Sequence[Row]) -> None:
    """One row per target: the target and the result."""
    cells = {(cell.part.key, cell.scorer.setting, cell.scorer.targets): cell for row in rows for cell in row.cells}
    lines = []
    for target in TARGETS:
        cell = cells.get((target.judged, target.setting, target.model))
        lines.append([target.setting, target.judged, target.model, _asked(target), *_reached(target, cell)])
    document.table(["setting", "judged set", "model", "asked", "reached", ""], lines)


def _asked(target: Target) -> str:
    both = [target.spearman] if target.pearson is None else [target.pearson, target.spearman]
    return " / ".join(number_text(value, 2) for value in both)


def _reached(target: Target, cell: Cell | None) -> tuple[str, str]:
    if cell is None or cell.measured is None:
        return "", NOT_YET if cell is None else cell.reason
    kinds = ["spearman"] if target.pearson is None else ["pearson", "spearman"]
    met = all(cell.meets(kind) for kind in kinds)
    shown = " / ".join(number_text(cell.measured[kind].estimate) for kind in kinds)
    return shown, "**met**" if met else "missed"


def _title(row: Row) -> str:
    count = f"{row.replies:,}" if row.replies == row.total else f"{row.replies:,} of {row.total:,}"
    return f"{row.part.key}<br>{row.part.dimension}, {count} replies, {row.contexts:,} contexts"


def _shown(cell: Cell) -> str:
    if cell.measured is None:
        return cell.reason
    lines = [_coefficient(cell.measured[kind], cell.meets(kind)) for kind in ("pearson", "spearman")]
    if cell.left_out:
        lines.append(f"n = {cell.scored:,}, left out: {cell.left_out:,}")
    elif cell.missing:
        lines.append(f"n = {cell.scored:,}")
    return "<br>".join(lines)


def _coefficient(found: Interval, met: bool | None) -> str:
    estimate = f"**{number_text(found.estimate, 2)}**" if met else number_text(found.estimate, 2)
    verdict = " missed" if met is False else ""
    return f"{estimate} [{number_text(found.low, 2)}, {number_text(found.high, 2)}]{verdict}"
