"""How often `default` reports a reply of ordinary English dialogues as unlike its training text.

    python benchmarks/unfamiliar.py cmu_dog.test.jsonl.gz mutual.test.jsonl.gz dream.test.jsonl.gz

Replies are drawn at random from each file. None of the three corpora was used to set the limits.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.negatives import places_of
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.types import Example


def main() -> None:
    """Print one line per file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", nargs="+")
    parser.add_argument("--most", type=int, default=1700)
    arguments = parser.parse_args()
    evaluator, rng = load("default"), np.random.default_rng(0)
    for path in arguments.dialogues:
        places = places_of(DialogueSource(path, "skip"))
        drawn = [places[number] for number in rng.permutation(len(places))[: arguments.most].tolist()]
        batch = Batch([Example("", place.context, place.response) for place in drawn])
        reasons = evaluator.unfamiliar(batch)
        share = sum(map(bool, reasons)) / len(reasons)
        counts = Counter(reason for each in reasons for reason in each)
        print(f"{Path(path).name}: {share:.1%} of {len(reasons):,} replies ({dict(counts)})")


if __name__ == "__main__":
    main()
