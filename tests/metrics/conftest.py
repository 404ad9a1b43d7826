"""Replies to test metrics on: the bundled examples everywhere, real judged replies where they are at hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from rejoinder.types import Example

JUDGED = Path(__file__).resolve().parents[3] / "shared" / "data" / "judged"


def judged_examples(name: str) -> Iterator[Example]:
    """The examples of a judged set; skips the test where the set is absent."""
    path = JUDGED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"needs {path.name} of ../shared/data")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield Example(
                record["id"],
                tuple(record["context"]),
                record["response"],
                tuple(record["references"]),
                record["system"] or "",
            )


@pytest.fixture(scope="session")
def demo() -> list[Example]:
    text = (files("rejoinder") / "examples" / "demo.jsonl").read_text(encoding="utf-8")
    return [
        Example(r["id"], tuple(r["context"]), r["response"], tuple(r["references"]), r["system"])
        for r in map(json.loads, text.splitlines())
    ]


@pytest.fixture(scope="session")
def real() -> list[Example]:
    """2,400 real replies with one to four references."""
    sets = [list(judged_examples(name)) for name in ("zhao2020_dailydialog", "gupta2019_dailydialog", "humod")]
    return sets[0] + sets[1] + sets[2][:1000]
