"""A file that cannot be read gets one line with its name and the reason, and exit code 2."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

if TYPE_CHECKING:
    from running import Run

GOOD = b'{"id": "good", "response": "Hello there."}\n'


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf"], ids=["empty", "blank lines", "a BOM"])
def test_a_file_without_examples(content: bytes, run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(content)
    for more in ([], ["--on-error", "skip"]):
        ran = run("score", "empty.jsonl", *more)
        assert (ran.code, ran.err) == (2, "rejoinder: empty.jsonl: contains no examples: expected at least one\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_named(encoding: str, run: Run, tmp_path: Path) -> None:
    text = GOOD.decode() if encoding == "utf-16" else "\ufeff" + GOOD.decode()
    (tmp_path / "windows.jsonl").write_bytes(text.encode(encoding))
    assert run("score", "windows.jsonl").err == "rejoinder: windows.jsonl:1: is UTF-16: expected UTF-8 text\n"


def test_nothing_left_after_skipping_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("1\n2\n")
    ran = run("score", "bad.jsonl", "--on-error", "skip")
    first = "bad.jsonl:1: expected an object with fields, found a number"
    left_out = f"2 unreadable records were skipped; the first: {first}"
    assert ran.code == 2
    assert ran.err == f"rejoinder: bad.jsonl: contains no examples ({left_out}): expected at least one\n"


def test_no_such_file_and_a_folder(run: Run, tmp_path: Path) -> None:
    for name in ("folder", "folder.parquet", "folder.csv"):
        (tmp_path / name).mkdir()
        assert run("score", name).err.startswith(f"rejoinder: {name}: is a folder without replies: expected files such")
    for name in ("absent.jsonl", "absent.parquet", "absent/file.csv"):
        ran = run("score", name)
        assert (ran.code, ran.err) == (2, f"rejoinder: {name}: no such file\n")
    ran = run("score", "a" * 5000)
    assert ran.code == 2
    assert ran.err.endswith("cannot be read (File name too long)\n")


def test_a_file_that_may_not_be_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.jsonl").write_bytes(GOOD)
    real = Path.open

    def closed(path: Path, *arguments: Any, **more: Any) -> Any:
        # Root may read everything, so that chmod would prove nothing.
        if path.name == "secret.jsonl":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", closed)
    ran = run("score", "secret.jsonl")
    assert (ran.code, ran.err) == (2, "rejoinder: secret.jsonl: may not be read: permission denied\n")


def test_a_gzip_file_that_breaks_off(run: Run, tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(GOOD.replace(b"good", str(i).encode()) for i in range(5000)))
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[:-40])
    (tmp_path / "damaged.jsonl.gz").write_bytes(packed[:200] + b"????" + packed[204:])
    for more in ([], ["--on-error", "skip"]):  # how much is missing cannot be told, so it cannot be skipped
        ran = run("score", "cut.jsonl.gz", "-o", "scores.jsonl", *more)
        reason = "Compressed file ended before the end-of-stream marker was reached"
        assert (ran.code, ran.err) == (2, f"rejoinder: cut.jsonl.gz: is not a complete gzip file ({reason})\n")
    ran = run("score", "damaged.jsonl.gz")
    assert ran.code == 2
    assert ran.err.startswith("rejoinder: damaged.jsonl.gz: is not a complete gzip file (")
    assert not (tmp_path / "scores.jsonl").exists()


def test_what_is_no_parquet_file(run: Run, tmp_path: Path) -> None:
    pl.DataFrame({"response": ["hi"] * 100}).write_parquet(tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "text.parquet").write_bytes(GOOD * 10)
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    for name in ("text", "empty", "cut"):
        ran = run("score", f"{name}.parquet")
        assert ran.code == 2
        assert ran.err.startswith(f"rejoinder: {name}.parquet: is not a readable Parquet file (")
        assert ran.err.count("\n") == 1


def test_a_missing_value_in_a_parquet_file(run: Run, tmp_path: Path) -> None:
    pl.DataFrame({"response": ["hi", None], "n": [1, 2]}).write_parquet(tmp_path / "gap.parquet")
    problem = "field 'response': is missing: expected the reply as a string, found response, n"
    assert run("score", "gap.parquet").err == f"rejoinder: gap.parquet:2: {problem}\n"


def test_formats_that_are_not_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "replies.xls").write_bytes(b"PK")
    expected = "expected .jsonl, .json, .csv, .tsv, .parquet or .xlsx"
    ran = run("score", "replies.xls")
    assert (ran.code, ran.err) == (2, f"rejoinder: replies.xls: cannot read .xls files; {expected}\n")
