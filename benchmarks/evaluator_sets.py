"""The judged sets of the table of figures: which dimension of each is measured, and which of its replies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder.meta.judged import JudgedSet, read_judged

LARGEST = 10_000
"""Replies above which a set is measured on a sample of its contexts."""
SAMPLED = 3_000
"""About so many replies are sampled of it: all those of a context, or none."""
SEED = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A judged set, or a part of one, as a row of the table."""

    key: str
    """The file's name; with /test, the replies of its published test split; with another word, one more dimension."""
    dimension: str
    unusable: str = ""
    """Why nothing can be measured on it."""

    @property
    def file(self) -> str:
        """The name of the file without its suffixes."""
        return self.key.partition("/")[0]

    @property
    def is_published_split(self) -> bool:
        """Whether it is the published test split alone."""
        return self.key.endswith("/test")

    @property
    def scored_as(self) -> str:
        """What its scores are kept under: those of one file do not depend on the dimension."""
        return self.key if self.is_published_split else self.file

    def read(self, folder: Path) -> tuple[JudgedSet, int]:
        """Its replies, a seeded sample of contexts where there are too many; and how many there are.

        On the published split, ratings that stray from the median are dropped, because roberta-eval drops them.
        """
        judged = read_judged(folder / f"{self.file}.jsonl.gz")
        if self.is_published_split:
            rows = np.flatnonzero(np.array(judged.splits) == "test")
            return judged.without_outliers().take(rows), len(rows)
        return sampled(judged), len(judged)


def sampled(judged: JudgedSet) -> JudgedSet:
    """All replies of some contexts drawn at random where there are more than LARGEST; replies keep their order."""
    if len(judged) <= LARGEST:
        return judged
    contexts = judged.contexts  # in DSTC6, which has none, the items
    order = np.random.default_rng(SEED).permutation(contexts.max() + 1)
    enough = int(np.searchsorted(np.cumsum(np.bincount(contexts)[order]), SAMPLED)) + 1
    return judged.take(np.flatnonzero(np.isin(contexts, order[:enough])))


PARTS = (
    Part("zhao2020_dailydialog", "overall"),
    Part("zhao2020_dailydialog/test", "overall"),
    Part("zhao2020_personachat", "overall"),
    Part("zhao2020_personachat/test", "overall"),
    Part("gupta2019_dailydialog", "appropriateness"),
    Part("grade_dailydialog", "coherence"),
    Part("grade_empatheticdialogues", "coherence"),
    Part("usr_personachat", "Overall"),
    Part("usr_personachat/context", "Maintains Context"),
    Part("humod", "relevance"),
    Part("engage_dailydialog", "engagement"),
    Part("holistic_context", "context coherence"),
    Part("holistic_fluency", "fluency"),
    Part("dailydialogpp_dev", "relevant (label by construction)"),
    Part("conture_turn", "overall impression (majority of 3)"),
    Part("topicalchat_partner_turn_rating", "turn_rating (by partner, 1 Poor..5 Excellent)"),
    Part("dstc6_t2", "overall"),
    Part("conture_dialogue", "human (overall)", unusable="people judged whole dialogues: there is no reply to score"),
)
