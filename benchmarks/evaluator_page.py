"""The table of figures as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator_cells import Cell, Row
from evaluator_published import TARGETS, Target, published_on
from evaluator_scorers import NOT_YET, Scorer
from evaluator_sets import LARGEST
from rejoinder.stats.intervals import Interval
from rejoinder.text.grid import number

INTRODUCTION = f"""\
# How well scores agree with people

Correlation of scores with people's mean rating, reply by reply. Each cell has Pearson's r above and Spearman's rho
below, each with a 95 % interval from 1,000 resamples of whole contexts, because replies to one context are not
independent. `n` is said where a scorer could not score all replies, and `left out` counts those whose context it was
trained on. Sets of more than {LARGEST:,} replies are measured on a seeded sample of contexts. Where a set has no
references or no contexts, a scorer that needs them has no figure. A **bold** figure meets its target; one that does not
is marked "missed". Targets and published figures are compared as they stand; published ones have no intervals.

On the published test splits of zhao2020 (`/test`) ratings that stray from their median are dropped, as roberta-eval
does; everywhere else all ratings count. These splits are by reply, so that their contexts are in training too:
they serve comparison with the paper, not as an honest figure of what to expect.

In some sets the true reply is among those judged and is its own only reference (zhao2020: 100 of 900 and 150 of 900,
usr_personachat: 60 of 300, engage_dailydialog: half), which raises all metrics that compare with references. In
dailydialogpp_dev nobody rated: labels are by construction, and the references are the other good replies. dstc6_t2 has
no contexts; its 2,000 items stand for them. usr_personachat has two rows: how good a reply is overall, on which its
target is measured, and whether it fits the context, which is all that an evaluator without the persona can see.
"""

ZERO = """
## Zero labels

No judged data of any kind in training. "cosine" is that of the sentence vectors of the last turn and the reply, by a
pretrained encoder that was not trained further ([encoder-cosine](metrics.md#encoder-cosine)). The cosine and the
metrics have not been fitted to anything here. mpnet had an hour of the recipe on one core, and was not polished; it is
too slow here for the largest sets.
"""

SEMI = """
## Semi-supervised

Trained with labels of other sets and, on the set itself, with labels of other contexts: five folds by context, each
reply scored by a model that saw no label of its context. On `/test`, trained on the published training part. The
default saw labels of conture_turn, engage_dailydialog and dailydialogpp_dev: its figures there are in the second
column, out of fold, by the recipe that made what ships, on two of the five folds. On the other sets that column is of
models trained for replies like these, on `/test` from the weights that ship, elsewhere from earlier ones. How each was
trained:
[research/default-evaluator.md](research/default-evaluator.md).
"""

TARGETS_TEXT = """
## Targets

Spearman, or Pearson / Spearman.
"""

TITLES = {"zero": ZERO, "semi": SEMI}
COMMAND = "python benchmarks/evaluator_table.py ../shared/data/judged -o docs/results/evaluator-figures.md"


def page(rows: Sequence[Row], scorers: Sequence[Scorer]) -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for setting, title in TITLES.items():
        parts += [title, table(rows, [s for s in scorers if s.setting == setting], setting)]
    parts += [TARGETS_TEXT, targets(rows), f"\nMade by `{COMMAND}`."]
    return "\n".join(parts) + "\n"


def table(rows: Sequence[Row], scorers: Sequence[Scorer], setting: str) -> str:
    """A row a set, a column a scorer, and what others published."""
    header = ["judged set", *(scorer.name for scorer in scorers), "published"]
    lines = []
    for row in rows:
        others = [
            f"{number(found.pearson, 2)} / {number(found.spearman, 2)} {found.source}"
            for found in published_on(row.part.key, setting)
        ]
        lines.append([_title(row), *map(_shown, row.of(setting)), "<br>".join(others)])
    return markdown(header, lines)


def targets(rows: Sequence[Row]) -> str:
    """A row a target: what was asked, what was reached."""
    cells = {(cell.part.key, cell.scorer.setting, cell.scorer.targets): cell for row in rows for cell in row.cells}
    lines = [
        [target.setting, target.judged, target.model, _asked(target), *_reached(target, cells.get(_place(target)))]
        for target in TARGETS
    ]
    return markdown(["setting", "judged set", "model", "asked", "reached", ""], lines)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ["---"] * len(header), *rows])


def _place(target: Target) -> tuple[str, str, str]:
    return target.judged, target.setting, target.model


def _asked(target: Target) -> str:
    both = [target.spearman] if target.pearson is None else [target.pearson, target.spearman]
    return " / ".join(number(value, 2) for value in both)


def _reached(target: Target, cell: Cell | None) -> tuple[str, str]:
    if cell is None or cell.measured is None:
        return "", NOT_YET if cell is None else cell.reason
    kinds = ["spearman"] if target.pearson is None else ["pearson", "spearman"]
    met = all(meets(cell, kind) for kind in kinds)
    shown = " / ".join(number(cell.measured[kind].estimate) for kind in kinds)
    return shown, "**met**" if met else "missed"


def meets(cell: Cell, kind: str) -> bool | None:
    """Whether a coefficient reaches its target; None where none is set."""
    asked = None if cell.target is None else getattr(cell.target, kind)
    if asked is None or cell.measured is None:
        return None
    return bool(cell.measured[kind].estimate >= asked)


def _title(row: Row) -> str:
    count = f"{row.replies:,}" if row.replies == row.total else f"{row.replies:,} of {row.total:,}"
    return f"{row.part.key}<br>{row.part.dimension}, {count} replies, {row.contexts:,} contexts"


def _shown(cell: Cell) -> str:
    if cell.measured is None:
        return cell.reason
    lines = [_coefficient(cell.measured[kind], meets(cell, kind)) for kind in ("pearson", "spearman")]
    if cell.left_out:
        lines.append(f"n = {cell.scored:,}, left out: {cell.left_out:,}")
    elif cell.missing:
        lines.append(f"n = {cell.scored:,}")
    return "<br>".join(lines)


def _coefficient(found: Interval, met: bool | None) -> str:
    estimate = f"**{number(found.estimate, 2)}**" if met else number(found.estimate, 2)
    verdict = " missed" if met is False else ""
    return f"{estimate} [{number(found.low, 2)}, {number(found.high, 2)}]{verdict}"
