"""Small tables of scores and replies that the tests of the report share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rejoinder.comparing.comparison import Comparison
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example

NAN = float("nan")

HOSTILE = (
    "<script>window.hacked=1</script>",
    "{{constructor.constructor('window.hacked=1')()}}",
    "</script><script>window.hacked=1</script>",
    "<!-- <script> an open comment",
    '"><img src=x onerror="window.hacked=1">',
    "<svg onload=window.hacked=1></svg> ${window.hacked=1} $title $style",
    "\u202eright to left override\u202c and \u2066an isolate that never ends",
    "w" * 5000,
    "👩‍👩‍👧‍👦 emoji 🏳️‍🌈 e\u0301 ﷽",
    "مرحبا، كيف حالك؟ שלום",
    "NUL \x00 bell \x07 lone surrogate \ud800 line\u2028separator",
    "   ",
)


def table_of(
    scores: dict[str, list[float]], systems: list[str], *, ids: bool = True, notes: tuple[str, ...] = ()
) -> ScoreTable:
    """A table over the given scores; `length` has no end, `perplexity` is better when low."""
    names = tuple(dict.fromkeys(systems))
    return ScoreTable(
        scores={label: np.array(column, np.float64) for label, column in scores.items()},
        signatures={label: f"{label}|v:0" for label in scores},
        system_names=names,
        system_of=np.array([names.index(system) for system in systems], np.int32),
        ids=[f"id-{row}" for row in range(len(systems))] if ids else (),
        ranges={label: (0.0, float("inf")) if label == "length" else (0.0, 1.0) for label in scores},
        higher_is_better={label: label != "perplexity" for label in scores},
        notes=notes,
        resamples=50,
    )


def random_table(rows: int, *, seed: int = 0) -> ScoreTable:
    """Three systems, three metrics; every tenth score of the first metric is missing."""
    rng = np.random.default_rng(seed)
    overlap = rng.random(rows)
    overlap[::10] = np.nan
    scores = {"overlap": overlap, "judge": rng.random(rows), "length": rng.integers(1, 30, rows).astype(float)}
    systems = ["alpha", "beta", "gamma"]
    return table_of({name: column.tolist() for name, column in scores.items()}, [systems[r % 3] for r in range(rows)])


def examples_for(table: ScoreTable) -> dict[int, Example]:
    """A reply for each row, with a number of its own in its text."""
    return {
        row: Example(
            id=table.ids[row] if table.ids else str(row),
            context=(f"Context {row} begins.", "It goes on?", f"It ends at {row}."),
            response=f"Reply number {row:04}.",
            references=("One reference.", "Another reference."),
            system=table.system_names[system],
        )
        for row, system in enumerate(table.system_of.tolist())
    }


@dataclass(frozen=True)
class Kept:
    """Replies that a result keeps for its report."""

    examples: Mapping[int, Example]

    def take(self, rows: Collection[int]) -> dict[int, Example]:
        return {row: self.examples[row] for row in rows if row in self.examples}


def render_report(
    table: ScoreTable,
    examples: Mapping[int, Example] | None,
    *,
    title: str = "Reply scores",
    comparison: Comparison | None = None,
) -> str:
    """The page of a table, or of its comparison, with these texts."""
    kept: Any = None if examples is None else Kept(examples)
    if comparison is not None:
        return replace(comparison, table=replace(table, replies=kept)).page(title=title)
    return replace(table, replies=kept).page(title=title)


def hostile_table() -> tuple[ScoreTable, dict[int, Example]]:
    """Every hostile text as reply, context, reference, system and id; all of them also are best, worst or disputed."""
    rows = len(HOSTILE)
    rising = [row / rows for row in range(rows)]
    scores = {"<b>rising</b>": rising, "falling & co": [1 - (row * 5 % rows) / rows for row in range(rows)]}
    systems = [text or "replies" for text in HOSTILE]
    table = table_of(scores, systems, notes=("<img src=x onerror=window.hacked=1>",))
    examples = {
        row: Example(f"id-{row}", (text, text), text, (text,), text, speakers=(text, text + "b"))
        for row, text in enumerate(HOSTILE)
    }
    return table, examples
