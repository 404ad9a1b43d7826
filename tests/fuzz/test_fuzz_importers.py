"""Whatever records of other tools contain, importers give examples or a RejoinderError with a short message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import foreign_records as foreign
from checked_reading import check_example, only_our_errors
from fuzzing import damaged, fuzz, mutated
from rejoinder.data.converting.convert import convert
from rejoinder.data.source import Source

pytestmark = pytest.mark.slow

KINDS: list[Callable[[], list[Any]]] = [
    *foreign.RECORDS.values(),
    foreign.openai_batch,
    lambda: foreign.flat("question", "answer", "model"),
]

NAMES = (
    "input output inputs outputs messages conversations response request choices body role content from value type "
    "kwargs data runs observations model system id answer question user bot expected history"
).split()


def read_every_way(origin: Any) -> None:
    for every_turn in (False, True):
        with only_our_errors():
            strict = list(Source(origin, every_turn=every_turn))
            lenient = Source(origin, on_error="skip", every_turn=every_turn)
            assert (list(lenient), lenient.skipped) == (strict, {})
        with only_our_errors():
            source = Source(origin, on_error="skip", every_turn=every_turn)
            first = list(source)
            assert list(source) == first, "a second pass reads the same"
            for example in first:
                check_example(example)


def test_damaged_records() -> None:
    fuzz(damaged([kind() for kind in KINDS], NAMES), read_every_way)


def test_damaged_documents(tmp_path: Path) -> None:
    pages: list[Any] = [*(kind() for kind in KINDS), {"data": foreign.langfuse_traces(), "meta": {}}]
    files = [json.dumps(page, indent=indent).encode() for page in pages for indent in (None, 1)]
    path = tmp_path / "a.json"

    def target(content: bytes) -> None:
        path.write_bytes(content)
        read_every_way(path)

    fuzz(mutated(files, [b"[", b"]", b"{", b"}", b",", b'"', b'"role": ', b'"messages": [', b"null"]), target)


def test_damaged_spreadsheets(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    convert(foreign.sharegpt(), path)
    content = path.read_bytes()

    def target(content: bytes) -> None:
        path.write_bytes(content)
        read_every_way(path)

    fuzz(mutated([content], [b"PK\x03\x04", b"PK\x05\x06", b"xl/worksheets/sheet1.xml"]), target)


def test_paths_that_callers_name() -> None:
    record = foreign.langsmith_runs()[0]

    def target(path: str) -> None:
        with only_our_errors():
            for example in Source([record], {"response": path}):
                check_example(example)

    fuzz(st.text(st.sampled_from("inputs.ouwer0129 "), min_size=1, max_size=20), target)
