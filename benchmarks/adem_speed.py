"""How many replies ADEM scores per second on one core, encoding included; a text that occurs twice is encoded once.

    python benchmarks/adem_speed.py ../shared/data/judged/zhao2020_dailydialog.jsonl.gz --encoder vhred/

It also prints the speed of Lowe et al. 2017 (Table 11).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from papers.published.adem import TABLE_11, TEST_REPLIES
from rejoinder.data.judged import read_judged
from rejoinder.evaluators.adem.adem import Adem
from rejoinder.learning.data import drawn_groups
from rejoinder.trusting.experiments import groups_within_set
from timing import timed


def main() -> None:
    """Print the rate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("judged", type=Path, help="the judged replies")
    parser.add_argument("--encoder", required=True, help="the folder of a sentence encoder")
    parser.add_argument("--dimension", default="overall", help="what is learned (%(default)s)")
    parser.add_argument("--contexts", type=int, help="at most this many random contexts (default: all)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    judged = read_judged(given.judged)
    if given.contexts:
        groups = groups_within_set(judged.examples)
        judged = judged.take(np.flatnonzero(drawn_groups(groups, given.contexts, 0)))
    settings = {"components": 50, "gamma": 0.02, "towards": "zero", "dimension": given.dimension}
    evaluator = Adem(encoder=given.encoder, **settings).fit((), judged.judged_examples())
    evaluator.score(judged.examples[:50])
    taken = timed(lambda: evaluator.score(judged.examples))
    print(f"{given.judged.name}: {taken.rate(len(judged), 'replies')}")
    print(f"{TABLE_11.source}: {TEST_REPLIES / TABLE_11.column('seconds')['CPU']:.2f} replies per second")


if __name__ == "__main__":
    main()
