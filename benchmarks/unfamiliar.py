"""How often `default` reports a reply of ordinary English dialogues as unlike its training text.

    python benchmarks/unfamiliar.py cmu_dog.test.jsonl.gz mutual.test.jsonl.gz dream.test.jsonl.gz
    python benchmarks/unfamiliar.py --examples benchmarks/other_domains.jsonl

Replies are drawn at random from each file of dialogues. None of the three corpora was used to set the limits. With
`--examples` all replies of a file count, one line per `system`: other_domains.jsonl has 75 replies each about recipes,
code, news and customer support, which were written for this.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.negatives import places_of
from rejoinder.data.source import read
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.types import Example


def groups(arguments: argparse.Namespace) -> Iterator[tuple[str, list[Example]]]:
    """A name, and the replies under it."""
    rng = np.random.default_rng(0)
    for path in arguments.dialogues:
        places = places_of(DialogueSource(path, "skip"))
        drawn = [places[number] for number in rng.permutation(len(places))[: arguments.most].tolist()]
        yield Path(path).name, [Example("", place.context, place.response) for place in drawn]
    if arguments.examples:
        examples = list(read(arguments.examples))
        for system in dict.fromkeys(example.system for example in examples):
            yield system, [example for example in examples if example.system == system]
        yield "all of these", examples


def main() -> None:
    """Print one line per file, or per system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", nargs="*")
    parser.add_argument("--examples", metavar="FILE")
    parser.add_argument("--most", type=int, default=1700)
    evaluator = load("default")
    for name, examples in groups(parser.parse_args()):
        reasons = evaluator.unfamiliar(Batch(examples))
        counts = Counter(reason for each in reasons for reason in each)
        print(f"{name}: {sum(map(bool, reasons)) / len(reasons):.1%} of {len(reasons):,} replies ({dict(counts)})")


if __name__ == "__main__":
    main()
