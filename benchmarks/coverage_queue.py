"""Do intervals still cover when a study's queue chooses what to rate, wave by wave, from the ratings so far?

    python benchmarks/coverage_queue.py --datasets 400

The replies are those of `coverage_labelling`: two systems, 300 contexts, a metric whose error differs between
replies. Each data set is a study on disk with `rejoinder annotate`'s own queue: waves are drawn, rated and drawn again,
the export has the probabilities, and the means and the difference are estimated from it. Every second row stops before
the study is complete.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from coverage_labelling import Replies, simulated, truth
from rejoinder.people.export import exported
from rejoinder.people.queue import Assigner
from rejoinder.people.store import RaterAnswer, open_store
from rejoinder.people.study import read_study
from rejoinder.stats.labels import ChosenLabels, weighted_difference, weighted_mean

N_CONTEXTS = 300
LABELS = 120
STUDY = """
title = "Coverage"
examples = "replies.jsonl"
raters_per_item = 1
items_per_rater = 20
shared_items = 0
seed = {seed}
[checks]
garbled = 0.0
repeated = 0.0
[queue]
labels = {labels}
scores = "scores.csv"
design = "{design}"
[[questions]]
name = "overall"
text = "How good?"
low = 0
high = 6
"""


@cache
def _replies_file() -> str:
    """All data sets have the same texts; only ratings and scores differ."""
    records = (
        {"id": f"{n}{system}", "context": [f"Question {n}?"], "response": f"Reply {n}", "system": system}
        for n in range(N_CONTEXTS)
        for system in "ab"
    )
    return "".join(json.dumps(record) + "\n" for record in records)


def covered(number: int, design: str, share: float = 1.0) -> tuple[bool, bool, float, float]:
    """One data set: whether the intervals of A's mean and of the difference cover, and their widths."""
    parts = dict(zip("ab", simulated(np.random.default_rng((1, number)), n_contexts=N_CONTEXTS), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        judged = _rated(Path(folder), parts, design, number, share)
    a, b = (_chosen(parts[system], judged, system) for system in "ab")
    mean, gap = weighted_mean(a).interval, weighted_difference(a, b).interval
    true_mean, true_gap = truth(yes_no=False)
    return mean.covers(true_mean), gap.covers(true_gap), 2 * mean.half_width, 2 * gap.half_width


def _rated(folder: Path, parts: dict[str, Replies], design: str, seed: int, share: float) -> list[dict[str, Any]]:
    """The export of a study in which raters answered a share of all items."""
    (folder / "replies.jsonl").write_text(_replies_file(), encoding="utf-8")
    rows = [
        f"{n}{system},{system},{score},{score - u / 2},{score + u / 2}"
        for system, part in parts.items()
        for n, (score, u) in enumerate(zip(part.scores.tolist(), part.uncertainty.tolist(), strict=True))
    ]
    (folder / "scores.csv").write_text("\n".join(["id,system,m,m.low,m.high", *rows]) + "\n", encoding="utf-8")
    (folder / "study.toml").write_text(STUDY.format(seed=seed, labels=LABELS, design=design), encoding="utf-8")
    study = read_study(folder / "study.toml")
    with closing(open_store(folder / "study.db")) as store:
        assigner = Assigner(study, store)
        assigner.prepare()
        for rater in range(round(share * LABELS / study.items_per_rater)):
            name = f"r{rater}"
            with store.transaction():
                store.add_rater(name, name, "")
            given = [assigner.items[item] for item in assigner.hand_out(name)]
            keys = [(item, *item.examples[0]) for item in given]
            values = [float(parts[system].human[int(key[:-1])]) for _, key, system in keys]
            store.add_answers(
                [RaterAnswer(name, item.id, "overall", str(v), 3.0, 0.0) for item, v in zip(given, values, strict=True)]
            )
        return [json.loads(line) for line in exported(study, store, assigner.items)]


def _chosen(part: Replies, judged: list[dict[str, Any]], system: str) -> ChosenLabels:
    labels, p = np.full(N_CONTEXTS, np.nan), np.zeros(N_CONTEXTS)
    for record in judged:
        if record["system"] == system:
            row = int(record["id"][:-1])
            labels[row], p[row] = record["scores"]["overall"][0], record["probability"]
    return ChosenLabels(labels, part.scores, p, np.arange(N_CONTEXTS))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=400)
    arguments = parser.parse_args()
    head = f"queue ({arguments.datasets} data sets)|rated|mean|width|difference|width".split("|")
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for design in ("random", "stratified", "active"):
        for share in (1.0, 0.6):
            found = [covered(number, design, share) for number in range(arguments.datasets)]
            mean, gap, mean_width, gap_width = np.mean(np.array(found, np.float64), axis=0)
            rated = f"{round(share * LABELS)} of {LABELS}"
            print(f"| {design} | {rated} | {mean:.1%} | {mean_width:.3f} | {gap:.1%} | {gap_width:.3f} |", flush=True)


if __name__ == "__main__":
    main()
