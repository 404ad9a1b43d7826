"""How well scores agree with people, on every judged set: our evaluators, plain metrics and published figures.

    python benchmarks/evaluator_table.py ../shared/data/judged \\
        -o docs/results/evaluator-figures.md --json docs/results/evaluator-figures.json

Who scores is told by a TOML file (`--scorers`, by default the one beside this script): a `[[scorer]]` has a name, a
setting (`zero`: no judged data of any kind in training; `semi`: with labels) and one of

    metric = "bleu-2"                 a metric, with parameters if need be
    evaluator = "models/default"      the folder of a trained evaluator
    cosine = "models/minilm"          a pretrained encoder: cosine of the last turn and the reply
    scores = "scores.jsonl"           scores that are ready: judged, id, score and "out_of_fold": true a line

In ready scores, `judged` is the name of a set, or a name with /test for its published test split, whose model was
trained on the published rest. `targets = "default"` or `"mpnet"` holds a column against what that model should reach.
Columns are kept in `--cache`, so that a second run computes what is new.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evaluator_cells import Cell, Row
from evaluator_page import page
from evaluator_scorers import SETTINGS, Scorer, read_scorers
from evaluator_sets import PARTS, Part
from rejoinder.meta.judged import JudgedSet
from rejoinder.stats.bootstrap_correlation import bootstrap_correlations

FEWEST = 10
"""Scored replies below which no correlation is worth printing."""


def main() -> None:
    """Write the page, and all numbers as JSON."""
    beside = Path(__file__).with_suffix(".toml")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judged", type=Path, help="the folder of the judged sets")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the page")
    parser.add_argument("--json", type=Path, help="all numbers")
    parser.add_argument("--scorers", type=Path, default=beside, help="the TOML file that names the scorers")
    parser.add_argument("--cache", type=Path, default=Path("models-cache/evaluator-table/columns"))
    parser.add_argument("--cached", action="store_true", help="compute no scores, show those that are there")
    parser.add_argument("--only", nargs="*", default=[], metavar="SET", help="these sets alone")
    parser.add_argument("--resamples", type=int, default=1000)
    arguments = parser.parse_args()
    scorers = read_scorers(arguments.scorers)
    rows = [row_of(part, scorers, arguments) for part in PARTS if not arguments.only or part.key in arguments.only]
    arguments.output.write_text(page(rows, scorers), encoding="utf-8")
    if arguments.json:
        numbers = {setting: [row.to_dict(setting) for row in rows] for setting in SETTINGS}
        arguments.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


def row_of(part: Part, scorers: Sequence[Scorer], arguments: argparse.Namespace) -> Row:
    """A set, scored by all."""
    judged, total = part.read(arguments.judged)
    cells = []
    for scorer in scorers:
        print(f"{part.key}: {scorer.name}", file=sys.stderr, flush=True)
        cells.append(cell_of(part, judged, scorer, arguments))
    return Row(part, len(judged), total, len(np.unique(judged.contexts)), tuple(cells))


def cell_of(part: Part, judged: JudgedSet, scorer: Scorer, arguments: argparse.Namespace) -> Cell:
    """One scorer's agreement with people; intervals resample contexts."""
    column = scorer.column(part, judged, arguments.cache, compute=not arguments.cached)
    if column.scores is None:
        return Cell(scorer, part, reason=column.reason)
    human = judged.human(part.dimension)
    rated = ~np.isnan(human)
    known = int((rated & ~np.isnan(column.scores)).sum())
    counts = (known, int(rated.sum()) - known, column.left_out)
    if known < FEWEST:
        return Cell(scorer, part, *counts, reason=f"only {known} replies could be scored")
    found = bootstrap_correlations(column.scores, human, judged.contexts, arguments.resamples)
    return Cell(scorer, part, *counts, measured={kind: each[0] for kind, each in found.items()})


if __name__ == "__main__":
    main()
