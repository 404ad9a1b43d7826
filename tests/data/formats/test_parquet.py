"""Damaged Parquet files, and settings that polars cannot work with, are errors with one line."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rejoinder.data.source import OnError, Source
from rejoinder.data.tables import parquet_records
from rejoinder.errors import CallError, DataError
from rejoinder.text.tokens import tokenise
from rejoinder.threads import check_polars_threads


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


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_panic_is_an_error_of_the_file(panicking: Path, on_error: OnError) -> None:
    with pytest.raises(DataError) as caught:
        list(Source(panicking, on_error=on_error))
    reason = "called `Option::unwrap()` on a `None` value"
    assert str(caught.value).endswith(f"damaged.parquet: is not a readable Parquet file ({reason})")


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
