"""Counts words, pairs of words and turns for rejoinder.text.words.

    python recipes/usage.py --dialogues FILE... -o usage.safetensors

All text must be free for any use where the file is to be given away. The shipped file is of self_dialogue and chitchat
(training parts), personachat (validation part) and topicalchat (valid_freq, valid_rare).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.dialogues import DialogueSource
from rejoinder.folders.saved import write_arrays
from rejoinder.text.words import EDGE, STEP, words_of

FEWEST = {"words": 3, "pairs": 5, "turns": 5}
"""What occurs less often is left out."""


def hashed(texts: Iterable[str]) -> NDArray[np.uint32]:
    """One hash per text."""
    return np.array([crc32(text.encode()) for text in texts], np.uint32)


def rounded(counts: Iterable[int]) -> NDArray[np.uint8]:
    """Logarithms of counts as whole numbers."""
    return np.round(STEP * np.log(list(counts))).astype(np.uint8)


def main(given: Sequence[str] | None = None) -> None:
    """Count and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", nargs="+", required=True, metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args(given)
    words, turns_with, pairs, turns = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for path in arguments.dialogues:
        for dialogue in DialogueSource(path):
            for found in filter(None, map(words_of, dialogue.turns)):
                words.update([*found, EDGE])
                turns_with.update({*found, EDGE})
                pairs.update(f"{before} {after}" for before, after in pairwise([EDGE, *found, EDGE]))
                turns[" ".join(found)] += 1
    known = [word for word, count in turns_with.items() if count >= FEWEST["words"]]
    often = {pair: count for pair, count in pairs.items() if count >= FEWEST["pairs"]}
    usual = {turn: count for turn, count in turns.items() if count >= FEWEST["turns"]}
    write_arrays(
        arguments.output,
        {
            "words": hashed(known),
            "word_counts": rounded(words[word] for word in known),
            "turns_with": rounded(turns_with[word] for word in known),
            "pairs": hashed(often),
            "pair_counts": rounded(often.values()),
            "turns": hashed(usual),
            "turn_counts": rounded(usual.values()),
            "total": np.array([words.total()], np.float64),
        },
    )
    print(f"{len(known):,} words, {len(often):,} pairs, {len(usual):,} turns of {turns.total():,}")


if __name__ == "__main__":
    main()
