"""am-fm, Table 1: Pearson over the 20 DSTC6 systems of each metric with people, the paper's figures beside ours.

    python benchmarks/am_fm_table1.py ../shared/data/judged/dstc6_t2.jsonl.gz > docs/results/am-fm-table1.md

The organisers' values are corpus-level scores, so ours are too; the mean over replies stands beside, with an interval
that resamples the 2,000 items, against people's mean over the same replies. One system, S_20, lies far from the others
(people rate it 2.99, all others 3.31 or more), so every figure is also shown without it. S_20 answers 310 times with
nothing but `<no_reply>` or `<URL>`: the embedding metrics have no vector for these and leave them out, where nlg-eval,
which made the published figures, gave them a number. The last column counts them as 0. What then still differs comes
of other word vectors, and in METEOR of its paraphrase table.
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
    systems = list(dict.fromkeys(judged.systems.tolist()))
    human = np.array([judged.human("overall")[judged.systems == system].mean() for system in systems])
    kept = np.array([system != OUTLIER for system in systems])
    print("# DSTC6: metrics against people, by system\n")
    print((__doc__ or "").split("\n\n")[2].strip() + "\n")
    print("| metric | am-fm | corpus level | without S_20 | mean over replies [95 %] | unscored as 0 [95 %] |")
    print("|---|---|---|---|---|---|")
    for name, metric in metrics.items():
        corpus = np.array([_corpus_score(metric, judged, system) for system in systems])
        cells = [
            f"{PUBLISHED[name]:.3f}",
            f"{correlate(corpus, human).coefficient:.3f}",
            f"{correlate(corpus[kept], human[kept]).coefficient:.3f}",
            _system_level(judged, scores[name]),
            _system_level(judged, np.nan_to_num(scores[name])),
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\nSignatures:\n")
    for metric in metrics.values():
        print(f"- `{metric.signature}`")
    print("\nMade by `python benchmarks/am_fm_table1.py ../shared/data/judged/dstc6_t2.jsonl.gz`.")


def _corpus_score(metric: Metric, judged: JudgedSet, system: str) -> float:
    rows: Sequence[int] = np.flatnonzero(judged.systems == system).tolist()
    return metric.corpus_score([judged.examples[row] for row in rows])


def _system_level(judged: JudgedSet, scores: Scores) -> str:
    table = system_level(ScoredSet(judged, "overall", {"metric": scores}))
    if table is None:
        raise SystemExit("expected at least three systems")
    shown = table.rows[0].measured["pearson"].interval
    return f"{shown.estimate:.3f} [{shown.low:.2f}, {shown.high:.2f}]"


if __name__ == "__main__":
    main(sys.argv[1])
