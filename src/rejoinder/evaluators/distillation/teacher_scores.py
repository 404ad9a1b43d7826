"""A teacher's scores in a file that grows as they are computed, so that an interrupted run can be resumed.

The first line says whose scores of which replies they are; each further line is a JSON list of the scores of the next
replies, null where the teacher could not score.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.data.digests import digest_of
from rejoinder.errors import CallError
from rejoinder.learning.data import examples_digest
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.output.unfinished import START_OVER
from rejoinder.output.writing import write_text
from rejoinder.progress import bar
from rejoinder.types import Example, Scores

AT_ONCE = 512
_BEGINNING = b'{"key": "'


def teacher_scores(
    teacher: Metric, examples: Sequence[Example], file: Path | None, *, resume: bool = False, quiet: bool = True
) -> Scores:
    """One score per reply; those in the file are not computed again.

    Scores of anything else in it are replaced; where a run is resumed, they are a CallError.
    """
    key = digest_of([teacher.signature, examples_digest(examples)])
    found = [] if file is None else _kept(file, key, resume=resume)
    faster = ("a faster teacher", "fewer contexts or candidates")
    done = len(found)
    with bar(
        "scoring with the teacher", total=len(examples), unit="replies", quiet=quiet, done=done, faster=faster
    ) as moving:
        for start in range(len(found), len(examples), AT_ONCE):
            scores = teacher.score_batch(Batch(examples[start : start + AT_ONCE])).tolist()
            found += scores
            if file is not None:
                with file.open("a", encoding="utf-8", newline="\n") as lines:
                    lines.write(json.dumps([None if np.isnan(score) else score for score in scores]) + "\n")
            moving.update(len(scores))
    return np.array(found, np.float64)


def check_scores_file(file: Path) -> None:
    """Raise a CallError if there is a file of this name that holds no scores of a teacher."""
    if not os.path.lexists(file):
        return
    beginning = b""
    if file.is_file() and not file.is_symlink():
        with file.open("rb") as lines:
            beginning = lines.read(len(_BEGINNING))
    if beginning != _BEGINNING:
        raise CallError(f"{file} holds no scores of a teacher, but would be needed for them: expected another name")


def _kept(file: Path, key: str, *, resume: bool) -> list[float]:
    """The scores that the file holds for this key, and the file with nothing else in it."""
    head, found = json.dumps({"key": key}), []
    lines = file.read_text(encoding="utf-8").split("\n") if file.is_file() else []
    if resume and lines and lines[0] != head:
        raise CallError(f"{file} belongs to another run (scores of another teacher or of other replies): {START_OVER}")
    whole = [head]
    for line in lines[1:-1] if lines[:1] == [head] else []:  # what follows the last line break was cut off
        whole.append(line)
        found += [np.nan if score is None else float(score) for score in json.loads(line)]
    write_text(file, "\n".join(whole) + "\n")
    return found
