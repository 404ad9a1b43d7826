"""Write the English words that hardly ever end an utterance: a reply that ends in one was cut off.

    python recipes/rarely_last_words.py

Counted in corpora that are free for any use (self_dialogue, chitchat, personachat, topicalchat): how often a word ends
an utterance without a punctuation mark, of all times when it ends one or another word follows it directly.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

SHARED = Path(__file__).parents[2] / "shared" / "data" / "dialogues"
TARGET = Path(__file__).parents[1] / "src" / "rejoinder" / "resources" / "rarely_last_words.txt"
FILES = (
    *("self_dialogue.train", "chitchat.train", "personachat.valid"),
    *("topicalchat.valid_freq", "topicalchat.valid_rare"),
)
FEWEST = 200
"""Occurrences below which nothing is said of a word."""
MOST_LAST = {"hardly ever, whoever writes": 0.003, "rarely, for writers who use punctuation": 0.02}
"""The share of its occurrences that may end an utterance."""
_TOKEN = re.compile(r"[a-z]+(?:['\u2019][a-z]+)*|\S")


def main() -> None:
    """Count, and write the list."""
    last, followed = Counter[str](), Counter[str]()
    for name in FILES:
        with gzip.open(SHARED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                for turn in json.loads(line)["turns"]:
                    tokens = _TOKEN.findall(turn.lower().replace("\u2019", "'"))
                    followed.update(a for a, b in pairwise(tokens) if b[0].isalpha())
                    last.update(tokens[-1:])
    told, words = list[str](), set[str]()
    for level, most in MOST_LAST.items():
        new = {
            word
            for word, count in followed.items()
            if word[0].isalpha() and count + last[word] >= FEWEST and last[word] <= most * (count + last[word])
        } - words
        words |= new
        told += [f"# {level}", *sorted(new)]
        cut = sum(followed[word] for word in words) / followed.total()
        print(f"{level}: {len(words)} words, {cut:.1%} of those followed by a word, ", end="")
        print(f"last in {sum(last[word] for word in words) / last.total():.2%} of {last.total():,} utterances")
    TARGET.write_text("\n".join(["# How often English words end an utterance.", *told]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
