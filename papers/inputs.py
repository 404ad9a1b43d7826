"""The data that pages are made from: the one place that knows the files of the data folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from papers.cache import Cache
from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.judged import JudgedSet, read_judged
from rejoinder.errors import CallError, DataError
from rejoinder.folders.schema import json_value
from rejoinder.show.text import one_line
from rejoinder.types import Dialogue

DIMENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "zhao2020_dailydialog": "overall",
        "zhao2020_personachat": "overall",
        "gupta2019_dailydialog": "appropriateness",
        "grade_dailydialog": "coherence",
        "grade_empatheticdialogues": "coherence",
        "usr_personachat": "Overall",
        "humod": "relevance",
        "engage_dailydialog": "engagement",
        "holistic_context": "context coherence",
        "holistic_fluency": "fluency",
        "dailydialogpp_dev": "relevant (label by construction)",
        "conture_turn": "overall impression (majority of 3)",
        "topicalchat_partner_turn_rating": "turn_rating (by partner, 1 Poor..5 Excellent)",
        "dstc6_t2": "overall",
        "conture_dialogue": "human (overall)",
    }
)
"""Judged set -> the dimension that is measured."""

DSTC6 = "dstc6_t2"
NOTE = "note.md"
MINILM, MPNET = "minilm", "mpnet"
PRETRAINED: Mapping[str, str] = MappingProxyType({MINILM: "all-MiniLM-L6-v2", MPNET: "all-mpnet-base-v2"})
"""Folder of the models -> the pretrained encoder that is expected there."""


@dataclass(frozen=True)
class Inputs:
    """What a page is made from."""

    data: Path
    """The folder with judged/ and dialogues/."""
    models: Path
    """Where pretrained and trained models are."""
    cache: Cache
    """What is kept from run to run."""
    quiet: bool = False
    """Do not report progress."""

    def say(self, message: str) -> None:
        """Report progress on standard error."""
        if not self.quiet:
            print(one_line(message), file=sys.stderr, flush=True)

    def judged(self, name: str) -> JudgedSet:
        """A judged set, called by the name of its file."""
        return replace(read_judged(self._file("judged", f"{name}.jsonl.gz")), name=name)

    def dialogues(self, corpus: str, most: int | None = None) -> list[Dialogue]:
        """The dialogues of a corpus and split, such as `dailydialog.train`; only the first `most` if given.

        Records that are not dialogues are left out: EmpatheticDialogues has one with a single turn.
        """
        return list(islice(DialogueSource(self._file("dialogues", f"{corpus}.jsonl.gz"), "skip"), most))

    def model(self, name: str) -> Path:
        """The folder of a model; a CallError that says what to do if it does not exist."""
        path = self.models / name
        if not path.is_dir():
            model = PRETRAINED.get(name, f"a trained {path.name}")
            raise CallError(f"{path} does not exist: save {model} there, or name another folder with --models")
        return path

    def note(self, folder: str) -> str:
        """What a reader must know of the models in a folder, such as how long they were trained; "" without a note."""
        path = self.models / folder / NOTE
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @cached_property
    def dstc6_scores(self) -> dict[str, dict[str, float]]:
        """System -> metric -> what the organisers of DSTC6 published for it (Hori & Hori 2017)."""
        path = self._file("judged", f"{DSTC6}.systems.json")
        found: dict[str, dict[str, float]] = json_value(path.read_text(encoding="utf-8"))["objective"]
        return found

    def _file(self, folder: str, name: str) -> Path:
        path = self.data / folder / name
        if not path.exists():
            raise DataError(f"does not exist: expected {folder}/{name} in the folder of --data", file=str(path))
        return path
