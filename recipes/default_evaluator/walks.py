"""Replies that begin like a real one and go on as three words at a time allow: fluent in places, with no plan."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable

_END = ""
LONGEST = 24


class Walks:
    """Which words followed which two, in a corpus of replies."""

    def __init__(self, replies: Iterable[str]) -> None:
        self.next_words: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for reply in replies:
            words = [*reply.split(), _END]
            for first, second, third in zip(words, words[1:], words[2:], strict=False):
                self.next_words[first, second].append(third)

    def continue_from(self, start: str, rng: random.Random) -> str:
        """The first two to four words of a text and a random walk from there; fewer words where nothing follows."""
        words = start.split()[: rng.randrange(2, 5)]
        while len(words) >= 2 and len(words) < LONGEST:
            options = self.next_words.get((words[-2], words[-1]))
            word = rng.choice(options) if options else _END
            if word == _END:
                break
            words.append(word)
        return " ".join(words)
