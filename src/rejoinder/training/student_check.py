"""How far a distilled student agrees with its teacher, on replies that it did not learn from, and with people.

A tenth of the dialogues (or of the contexts of the candidates) is set aside before training. The teacher scores replies
to their contexts as well; the student never sees these scores, nor the dialogues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import context_groups
from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.candidates import candidates_of
from rejoinder.learning.data import labels
from rejoinder.learning.splits import held_out
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.stats.bootstrap_correlation import bootstrap_correlations
from rejoinder.stats.formatting import counted, interval_text
from rejoinder.stats.intervals import Interval
from rejoinder.types import Dialogue, Example, JudgedExample, Scores

CARD = "MODEL_CARD.md"
SHARE = 0.1
FEWEST = 50
"""Dialogues, or contexts of candidates, from which on some are set aside."""
MOST = 300
"""Contexts that are set aside at most."""
_FEWEST_REPLIES = 10


@dataclass(frozen=True)
class Divided:
    """What the student learns from, and replies that it is checked on."""

    dialogues: list[Dialogue]
    candidates: list[Example]
    contexts: int
    held: list[Example]


@dataclass(frozen=True)
class Agreement:
    """Correlations of the student's scores with those of somebody else."""

    who: str
    replies: int
    contexts: int
    pearson: Interval
    spearman: Interval

    def __str__(self) -> str:
        return (
            f"agreement with {self.who}: Spearman {interval_text(self.spearman, 2)}, Pearson "
            f"{interval_text(self.pearson, 2)} ({counted(self.replies, 'reply', 'replies')} to "
            f"{counted(self.contexts, 'context')} that it did not learn from)"
        )


@dataclass(frozen=True)
class StudentCheck:
    """A student's agreement with its teacher, and with people where there are judged replies."""

    student: str
    teacher: str
    found: tuple[Agreement, ...]
    missing: tuple[str, ...] = ()
    """Why an agreement could not be measured."""

    def __str__(self) -> str:
        return "\n".join([*map(str, self.found), *self.missing])

    def card(self) -> str:
        """A model card in Markdown."""
        lines = [f"- {line}" for line in str(self).splitlines()]
        return "\n".join(
            [
                "# Distilled evaluator",
                "",
                f"Student: `{self.student}`",
                "",
                f"Teacher: `{self.teacher}`",
                "",
                f"Made with rejoinder {__version__}. 95 % intervals resample contexts.",
                "",
                *lines,
                "",
                "Agreement with the teacher says nothing about people; `rejoinder meta` measures that.",
                "",
            ]
        )

    def save(self, folder: Path) -> None:
        """Write the card into the student's folder."""
        (folder / CARD).write_text(self.card(), encoding="utf-8")


def divide(dialogues: Sequence[Dialogue], candidates: Sequence[Example], contexts: int, seed: int) -> Divided:
    """Set some dialogues, or contexts of the candidates, aside; nothing where there are few."""
    if candidates:
        held = held_out(context_groups(candidates), SHARE, [seed, 11], fewest=FEWEST, most=MOST)
        sides = [[one for one, out in zip(candidates, held, strict=True) if out == side] for side in (False, True)]
        return Divided(list(dialogues), sides[0], contexts, sides[1])
    aside = held_out(np.arange(len(dialogues)), SHARE, [seed, 11], fewest=FEWEST, most=MOST)
    if not aside.any():
        return Divided(list(dialogues), [], contexts, [])
    for_check = min(MOST, max(1, round(SHARE * contexts)))
    made = candidates_of([one for one, out in zip(dialogues, aside, strict=True) if out], for_check, seed)
    learned = [one for one, out in zip(dialogues, aside, strict=True) if not out]
    return Divided(learned, [], max(1, contexts - for_check), made)


def check_student(
    student: Evaluator,
    teacher: Metric,
    held: Sequence[Example],
    judged: Sequence[JudgedExample],
    dimension: str | None,
    seed: int,
) -> StudentCheck:
    """The student's agreement with the teacher on `held`, and with people on `judged`."""
    found, missing = [], []
    scored = [example for example in held if example.context and example.response.strip()]
    if scored:
        found.append(_agreement("the teacher", student, scored, teacher.score_batch(Batch(scored)), seed))
    else:
        missing.append(f"agreement with the teacher was not measured: that needs {FEWEST} dialogues or contexts")
    if judged:
        examples, human = labels(judged, dimension)
        unseen = np.flatnonzero(~student.trained_contexts.holds(examples))
        if unseen.size < len(examples):
            missing.append(f"{len(examples) - unseen.size} judged replies were left out: it learned their contexts")
        rated = [examples[row] for row in unseen]
        found.append(_agreement("people", student, rated, human[unseen], seed))
    usable = tuple(one for one in found if one is not None)
    if len(usable) < len(found):
        missing.append(f"agreement was not measured where fewer than {_FEWEST_REPLIES} replies have both scores")
    return StudentCheck(student.signature, teacher.signature, usable, tuple(missing))


def _agreement(
    who: str, student: Evaluator, examples: Sequence[Example], scores: Scores, seed: int
) -> Agreement | None:
    """Correlations over the replies that both score; None where they are few."""
    if not examples:
        return None
    own = student.score_batch(Batch(examples))
    known = ~np.isnan(own) & ~np.isnan(scores)
    if known.sum() < _FEWEST_REPLIES:
        return None
    contexts = context_groups(examples)[known]
    found = bootstrap_correlations(own[known], scores[known], contexts, seed=seed)
    return Agreement(who, int(known.sum()), len(np.unique(contexts)), found["pearson"][0], found["spearman"][0])
