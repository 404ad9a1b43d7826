"""The dialogues that the evaluator learns from, and how much of each corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from rejoinder.data.dialogues import DialogueSource
from rejoinder.types import Dialogue

Shares = Mapping[str, float]

FREE: Shares = MappingProxyType(
    {
        "self_dialogue.train": 0.45,
        "chitchat.train": 0.2,
        "personachat.valid": 0.12,
        "topicalchat.valid_freq": 0.06,
        "topicalchat.valid_rare": 0.06,
        "topicalchat.test_freq": 0.055,
        "topicalchat.test_rare": 0.055,
    }
)
"""File -> its share of the places that the towers learn from; free for any use by their licences."""

TEACHER: Shares = MappingProxyType(
    {
        "self_dialogue.train": 0.42,
        "chitchat.train": 0.2,
        "personachat.valid": 0.16,
        "topicalchat.valid_freq": 0.06,
        "topicalchat.valid_rare": 0.06,
        "topicalchat.test_freq": 0.05,
        "topicalchat.test_rare": 0.05,
    }
)
"""The same files -> their shares of the contexts that are drawn for the teacher."""

NON_COMMERCIAL: Shares = MappingProxyType({"dailydialog.train": 0.5, "empatheticdialogues.train": 0.5})
"""What the other variant's teacher judges beside the free text; the licences forbid commercial use, so that nothing
learned from it is shipped."""

TURNS = 4
"""Turns of a context that are read, the last ones."""


def read_corpus(data: Path, name: str) -> list[Dialogue]:
    """The dialogues of one file that have a reply."""
    return list(DialogueSource(data / "dialogues" / f"{name}.jsonl.gz", on_error="skip"))


def read_corpora(data: Path, names: Sequence[str]) -> list[Dialogue]:
    """The dialogues of several files, one file after the other."""
    return [dialogue for name in names for dialogue in read_corpus(data, name)]
