"""Replies in other languages, with two references of which one shares their beginning."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from places import DIALOGUES
from rejoinder.types import Example


def other_language(language: str) -> list[Example]:
    """600 turns of XPersona or XDailyDialog, each with a turn of another dialogue and half of itself as references."""
    name = "xdailydialog.de.test" if language == "de" else f"xpersona.{language}.test"
    path = DIALOGUES / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"needs {path}")
    lines = gzip.decompress(path.read_bytes()).splitlines()
    turns = [turn for line in lines for turn in json.loads(line)["turns"]][:600]
    others = random.Random(1).sample(turns, len(turns))
    return [
        Example(str(row), (), turn, (other, turn[: len(turn) // 2] + other))
        for row, (turn, other) in enumerate(zip(turns, others, strict=True))
    ]
