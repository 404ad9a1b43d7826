"""am-fm, Table 1: Pearson over the 20 DSTC6 systems of each metric with people, the paper's figures beside ours.

    python benchmarks/am_fm_table1.py ../shared/data/judged/dstc6_t2.jsonl.gz > docs/am-fm-table1.md

The organisers' values are corpus-level scores, so ours are too; the mean over replies stands beside. Intervals resample
the 2,000 items (mean over replies). One system, S_20, lies far from the others: every figure is also shown without it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from rejoinder.meta.correlations import system_level
from rejoinder.meta.judged import JudgedSet, read_judged
from rejoinder.meta.study import ScoredSet
from rejoinder.metrics.base import Metric
from rejoinder.registry import load
from rejoinder.stats.correlation import correlate
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores

# What am-fm prints for the metrics that are here too (Table 1, Pearson).
PUBLISHED = {
    "bleu-4": -0.511,
    "meteor": 0.363,
    "rouge-l": 0.145,
    "cider": -0.183,
    "embedding-average": 0.777,
    "vector-extrema": 0.235,
    "greedy-matching": 0.403,
}
OUTLIER = "S_20"


def main(path: str) -> None:
    """Print the table as Markdown."""
    judged = read_judged(path)
    metrics: dict[str, Metric] = {
        name: load(name, tokenise="whitespace", lowercase=name not in {"bleu-4", "rouge-l", "cider"})
        for name in PUBLISHED
    }
    scores = {name: metric.score(judged.examples) for name, metric in metrics.items()}
    intervals = _intervals(judged, scores)
    systems = list(dict.fromkeys(judged.systems.tolist()))
    human = np.array([judged.human("overall")[judged.systems == system].mean() for system in systems])
    kept = np.array([system != OUTLIER for system in systems])
    print("# DSTC6: metrics against people, by system\n")
    print(__doc__.split("\n\n")[2].strip() + "\n")
    print("| metric | am-fm | ours, corpus level | without S_20 | ours, mean over replies [95 %] |")
    print("|---|---|---|---|---|")
    for name, metric in metrics.items():
        corpus = np.array([_corpus_score(metric, judged, system) for system in systems])
        all_systems = correlate(corpus, human).coefficient
        without = correlate(corpus[kept], human[kept]).coefficient
        shown = intervals[name]
        mean = f"{shown.estimate:.3f} [{shown.low:.2f}, {shown.high:.2f}]"
        print(f"| {name} | {PUBLISHED[name]:.3f} | {all_systems:.3f} | {without:.3f} | {mean} |")
    print("\nSignatures:\n")
    for metric in metrics.values():
        print(f"- `{metric.signature}`")


def _corpus_score(metric: Metric, judged: JudgedSet, system: str) -> float:
    rows: Sequence[int] = np.flatnonzero(judged.systems == system).tolist()
    return metric.corpus_score([judged.examples[row] for row in rows])


def _intervals(judged: JudgedSet, scores: dict[str, Scores]) -> dict[str, Interval]:
    table = system_level(ScoredSet(judged, "overall", scores))
    if table is None:
        raise SystemExit("expected at least three systems")
    return {row.metric: row.measured["pearson"].interval for row in table.rows}


if __name__ == "__main__":
    main(sys.argv[1])
