"""Whatever result files of other tools contain, `compare --scores` reads numbers or gives a short RejoinderError."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from checked_reading import only_our_errors
from fuzzing import damaged, fuzz, mutated
from rejoinder.comparing.systems import read_score_table
from rejoinder.data import results
from rejoinder.data.records import FieldMap

pytestmark = pytest.mark.slow

FILES = Path(__file__).parents[1] / "data" / "results" / "files"
NAMES = (
    "results version stats prompt promptId provider id label vars testIdx score success namedScores failureReason eval "
    "status samples scores value task model header.json doc_id doc filtered_resps filter metrics acc epoch"
).split()
TOKENS = [b'"', b"{", b"}", b"[", b"]", b",", b"null", b"true", b'"scores": ', b'"id": ', b'"metrics": ["acc"]']


def check(path: Path, contents: st.SearchStrategy[bytes], *beside: Path) -> None:
    """Read whatever is in the file, and intact files beside it, as scores to compare."""

    def target(content: bytes) -> None:
        path.write_bytes(content)
        for on_error in ("raise", "skip"):
            with only_our_errors():
                table, _ = read_score_table(
                    [path, *beside], None, FieldMap(), None, None, on_error, seed=0, resamples=20
                )
                assert all(len(column) == len(table) for column in table.scores.values())
                str(table)

    fuzz(contents, target)


def shortened(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The document with the first four entries of a list inside it."""
    key, *deeper = keys
    return {**document, key: shortened(document[key], *deeper) if deeper else document[key][:4]}


def as_json(documents: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return documents.map(lambda document: json.dumps(document).encode())


def as_lines(records: st.SearchStrategy[Sequence[Any]]) -> st.SearchStrategy[bytes]:
    return records.map(lambda lines: b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def test_promptfoo(tmp_path: Path) -> None:
    document = shortened(json.loads((FILES / "promptfoo.json").read_text()), "results", "results")
    plain = json.dumps(document).encode()
    check(tmp_path / "a.json", as_json(damaged([document], NAMES)) | mutated([plain], TOKENS))


def test_lm_eval(tmp_path: Path) -> None:
    beside = next(FILES.glob("lm-eval/new/*.jsonl"))
    lines = [file.read_bytes().splitlines()[:4] for file in sorted(FILES.glob("lm-eval/*/samples_*.jsonl"))]
    records = [[json.loads(line) for line in each] for each in lines]
    plain = [b"\n".join(each) for each in lines]
    check(tmp_path / "samples_a.jsonl", as_lines(damaged(records, NAMES)) | mutated(plain, TOKENS), beside)


def test_inspect(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="needs the extra inspect")
    plain = (FILES / "inspect-old.eval").read_bytes()
    with zipfile.ZipFile(FILES / "inspect-old.eval") as archive:
        header, samples = (json.loads(results._content(archive, name)) for name in ("header.json", "summaries.json"))
    beside = FILES / "inspect-new.eval"
    log = {**header, "samples": samples[:4]}
    check(tmp_path / "a.json", as_json(damaged([log], NAMES)), beside)
    whole = archives(damaged([{"header.json": header, "summaries.json": samples[:4]}], NAMES))
    check(
        tmp_path / "a.eval",
        whole | mutated([plain], [b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"header.json"]),
        beside,
    )


def archives(contents: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[bytes]:
    """ZIP archives of JSON files."""

    def packed(files: dict[str, Any]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, json.dumps(content))
        return buffer.getvalue()

    return contents.map(packed)
