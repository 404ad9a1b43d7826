"""How fast AM-FM learns 20,000 sentences, and how many replies with 11 references each it scores per second.

python benchmarks/am_fm_speed.py ../shared/data/judged/dstc6_t2.jsonl.gz
"""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path

from rejoinder.data.judged import read_judged
from rejoinder.evaluators.am_fm import AmFm
from rejoinder.types import Dialogue
from timing import timed

SENTENCES = 20_000


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("judged", type=Path, help="the judged replies of DSTC6")
    examples = read_judged(parser.parse_args().judged).examples
    references = {example.context_id: example.references for example in examples}
    texts = list(chain.from_iterable(references.values()))[:SENTENCES]
    sentences = [Dialogue(str(number), (text,)) for number, text in enumerate(texts)]
    model = AmFm(tokenise="whitespace")
    learning = timed(lambda: model.fit(sentences))
    print(f"learning {len(sentences):,} sentences: {learning.clock:.1f} s, {learning.cpu:.1f} s of CPU")
    print(f"scoring: {timed(lambda: model.score(examples)).rate(len(examples), 'replies')}")


if __name__ == "__main__":
    main()
