"""How much faster this checkout is than another one: both are measured in turn, in the same run.

    python benchmarks/before_after.py ../main [--sizes 10000 100000] [--rounds 3] [--only bleu all default]

Pairs per second of processor time, as in metrics.py, and for `default` replies per second of processor time on all
cores, as in evaluators.py. Each round starts a new process for each checkout; the best run of all counts. The last
column says whether all scores are equal to the last bit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np

import evaluators
import metrics
from metric_peers import Pairs
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.show.text import grid
from rejoinder.text.vectors import SHIPPED_VECTORS

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = "default"
REPLIES = 200
REPEATS = 3


def main() -> None:
    """Measure both checkouts and print, or measure this process's own if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, nargs="?", help="the folder of the other checkout")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["bleu", "rouge", "cider", "chrf", "embedding", "all", DEFAULT])
    parser.add_argument("--dialogues", type=Path, default=ROOT.parent / "shared" / "data" / "dialogues")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments)))
        return
    if arguments.before is None:
        parser.error("expected the folder of the other checkout")
    found: dict[Path, list[dict[str, tuple[float, str]]]] = {arguments.before.resolve(): [], ROOT: []}
    for _ in range(arguments.rounds):
        for checkout, rounds in found.items():
            rounds.append(in_process(checkout))
    before, after = found.values()
    cells = [
        (name, f"{old:,.0f}", f"{new:,.0f}", f"{new / old:.2f}x", "yes" if before[0][name][1] == same else "no")
        for name, (_, same) in after[0].items()
        for old, new in [(max(one[name][0] for one in before), max(one[name][0] for one in after))]
    ]
    print(grid(("what", "before", "after", "ratio", "same scores"), cells))


def in_process(checkout: Path) -> dict[str, tuple[float, str]]:
    """What this script measures with the package of a checkout."""
    one_thread = dict.fromkeys(metrics.ONE_THREAD, "1")
    environment = {**os.environ, **one_thread, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, *sys.argv, "--measure"]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    found: dict[str, tuple[float, str]] = json.loads(printed)
    return found


def measured(arguments: argparse.Namespace) -> dict[str, tuple[float, str]]:
    """Name -> items per second of processor time, and a hash of the scores."""
    found = {}
    pairs = Pairs.of(metrics.read_pairs(arguments.dialogues, max(arguments.sizes)))
    for row in metrics.rows(SHIPPED_VECTORS, ROOT / "models-cache"):
        specs = next(iter(row.ours.values()))
        run = partial(metrics.through_score if row.together else metrics.through_batches, specs)
        for size in arguments.sizes if row.key in arguments.only else ():
            timing = metrics.best_of(REPEATS, run, pairs.first(size))
            found[f"{row.title}, {size:,} pairs"] = (size / timing.cpu, hashed(timing.scores))
    if DEFAULT in arguments.only:
        examples = evaluators.read_examples(arguments.dialogues / "dailydialog.train.jsonl.gz", REPLIES)
        evaluator = load(DEFAULT)
        evaluator.score_batch(Batch(examples[:8]))  # loads the model
        begun = time.process_time()
        scores = evaluator.score_batch(Batch(examples))
        found[DEFAULT] = (REPLIES / (time.process_time() - begun), hashed(scores))
    return found


def hashed(scores: np.ndarray | None) -> str:
    """A short text that differs where scores do."""
    return "" if scores is None else blake2b(scores.tobytes(), digest_size=8).hexdigest()


if __name__ == "__main__":
    main()
