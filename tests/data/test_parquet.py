"""Damaged Parquet files, and settings that polars cannot work with: one line and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from rejoinder.data.parquet import check_polars_threads, parquet_records
from rejoinder.data.source import Source
from rejoinder.errors import CallError, DataError
from rejoinder.text.tokenise import tokenise

if TYPE_CHECKING:
    from conftest import Run


@pytest.fixture
def panicking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file on which polars panics in the middle, with a message of native code on standard error."""

    def batches(*_: Any, **__: Any) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"response": ["hi"]})
        os.write(2, b"thread 'x' panicked at crates/x.rs\n")
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    path = tmp_path / "damaged.parquet"
    pl.DataFrame({"response": ["hi"] * 3}).write_parquet(path)
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", batches)
    return path


def test_a_panic_is_one_line(panicking: Path, run: Run) -> None:
    for more in ([], ["--on-error", "skip"]):
        ran = run("score", panicking.name, "-m", "length", *more)
        reason = "called `Option::unwrap()` on a `None` value"
        assert (ran.code, ran.err) == (2, f"rejoinder: damaged.parquet: is not a readable Parquet file ({reason})\n")


def test_the_message_of_native_code_is_hidden(panicking: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="unwrap"):
        list(parquet_records(panicking, "damaged.parquet"))
    assert capfd.readouterr().err == ""


def test_a_panic_in_another_thread_is_an_error_too(panicking: Path) -> None:
    errors: list[BaseException] = []

    def read() -> None:
        try:
            list(parquet_records(panicking, "damaged.parquet"))
        except DataError as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert len(errors) == 1


def test_a_lazy_frame_that_fails_is_an_error(tmp_path: Path) -> None:
    frame = pl.scan_parquet(tmp_path / "absent.parquet")
    with pytest.raises(DataError, match=r"^<polars LazyFrame>: cannot be collected \("):
        list(Source(frame))


def test_what_others_write_to_standard_error_still_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    real = pl.LazyFrame.collect_batches

    def noisy(*arguments: Any, **more: Any) -> Any:
        os.write(2, b"a warning of another library\n")
        return real(*arguments, **more)

    monkeypatch.setattr(pl.LazyFrame, "collect_batches", noisy)
    pl.DataFrame({"response": ["hi"]}).write_parquet(tmp_path / "good.parquet")
    assert list(parquet_records(tmp_path / "good.parquet", "good.parquet")) == [{"response": "hi"}]
    assert capfd.readouterr().err == "a warning of another library\n"


@pytest.mark.parametrize("value", ["0", "00", "+0", "0" * 5000])
def test_no_threads_at_all_are_refused_before_polars_panics(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", value)
    with pytest.raises(CallError, match=r"^POLARS_MAX_THREADS is '0|\+0"):
        tokenise(pl.Series(["a"]), "words", lowercase=True)


@pytest.mark.parametrize("value", ["", "1", "10", "many", "-1", "²", "1" * 5000])
def test_other_numbers_of_threads_are_left_to_polars(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", value)
    check_polars_threads()


@pytest.mark.parametrize("name", ["replies.jsonl", "replies.parquet"])
def test_no_threads_are_one_line_on_the_command_line(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"response": ["hi there"], "references": [["hi"]]})
    frame.write_parquet(tmp_path / "replies.parquet")
    frame.write_ndjson(tmp_path / "replies.jsonl")
    ran = subprocess.run(
        [sys.executable, "-m", "rejoinder", "score", name, "-m", "bleu"],
        cwd=tmp_path,
        env={**os.environ, "POLARS_MAX_THREADS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    expected = "rejoinder: POLARS_MAX_THREADS is '0': expected at least 1 thread, or no such variable\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", expected)
