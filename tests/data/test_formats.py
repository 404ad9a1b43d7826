"""Every format gives the same examples."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars as pl
import pytest

import rejoinder
from rejoinder.data.source import Source
from rejoinder.errors import CallError
from rejoinder.types import Example
from small_workbooks import table as table_of
from small_workbooks import write_workbook

EXAMPLES = [
    Example("a", ("Hi!", "Hello, you."), "How are you?", ("Fine day.", "And you?"), "one", ("A", "B"), "c1"),
    Example("b", ("Line\nbreak", 'a "quote", a comma'), "", ("ünï 中文 🙂",), "two", (), "c2"),
    Example("c", (), "only a reply\tand a tab", (), "", (), ""),
]

Record = dict[str, Any]


def records() -> list[Record]:
    """The examples as plain values, absent ones as None."""
    return [
        {
            "id": example.id,
            "context": list(example.context) or None,
            "response": example.response,
            "references": list(example.references) or None,
            "system": example.system or None,
            "speakers": list(example.speakers) or None,
            "context_id": example.context_id or None,
        }
        for example in EXAMPLES
    ]


def json_lines() -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records())


def table(delimiter: str) -> str:
    """A table has no lists: they are written as JSON."""
    written = io.StringIO()
    writer = csv.DictWriter(written, list(records()[0]), delimiter=delimiter)
    writer.writeheader()
    for record in records():
        writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in record.items()})
    return written.getvalue()


def frame() -> pl.DataFrame:
    return pl.DataFrame(records())


def write(path: Path) -> Path:
    match path.name.split(".", 1)[1]:
        case "jsonl" | "txt":
            path.write_text(json_lines(), encoding="utf-8")
        case "jsonl.gz":
            path.write_bytes(gzip.compress(json_lines().encode()))
        case "csv" | "tsv":
            path.write_text(table("," if path.suffix == ".csv" else "\t"), encoding="utf-8", newline="")
        case "csv.gz":
            path.write_bytes(gzip.compress(table(",").encode()))
        case _:
            frame().write_parquet(path)
    return path


@pytest.mark.parametrize(
    "name",
    ["r.jsonl", "r.txt", "r.jsonl.gz", "r.csv", "r.tsv", "r.csv.gz", "r.parquet", "r.pq", "r[1].parquet", "R.PARQUET"],
)
def test_every_file_format(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name)
    assert list(rejoinder.read(path)) == EXAMPLES
    assert list(rejoinder.read(str(path))) == EXAMPLES


IN_MEMORY: dict[str, Callable[[], Any]] = {
    "dicts": records,
    "tuple of dicts": lambda: tuple(records()),
    "examples": lambda: EXAMPLES,
    "generator": lambda: (record for record in records()),
    "mixed": lambda: [EXAMPLES[0], *records()[1:]],
    "polars": frame,
    "polars lazy": lambda: frame().lazy(),
    "pandas": lambda: pd.DataFrame(records()),
    "pandas from Parquet": lambda: pd.read_parquet(io.BytesIO(parquet_bytes())),
    "pandas with NA": lambda: pd.DataFrame(records()).convert_dtypes(),
    "datasets": lambda: datasets.Dataset.from_list(records()),
    "datasets, streamed": lambda: datasets.Dataset.from_list(records()).to_iterable_dataset(),
}


def parquet_bytes() -> bytes:
    written = io.BytesIO()
    frame().write_parquet(written)
    return written.getvalue()


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_everything_in_memory(kind: str) -> None:
    origin: Any = IN_MEMORY[kind]()
    source = Source(origin)
    assert list(source) == EXAMPLES
    assert list(source) == EXAMPLES, "a source can be read again"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_windows_files(encoding: str, newline: str, tmp_path: Path) -> None:
    for name, text in (("w.jsonl", json_lines()), ("w.csv", table(",").replace("\r\n", "\n"))):
        (tmp_path / name).write_text(text, encoding=encoding, newline=newline)
    assert list(rejoinder.read(tmp_path / "w.jsonl")) == EXAMPLES
    assert list(rejoinder.read(tmp_path / "w.csv")) == EXAMPLES


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed: bool) -> None:
    script = "import rejoinder; print(*map(repr, rejoinder.read('-')), sep='\\n')"
    given = json_lines().encode()
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=gzip.compress(given) if packed else given,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.stdout.decode().splitlines() == [repr(example) for example in EXAMPLES]


BLANK_ROWS = [["", ""], [" ", "\t"], ["\u00a0", ""]]


@pytest.mark.parametrize("blank", BLANK_ROWS)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx"])
def test_blank_rows_are_no_replies_in_any_table(suffix: str, blank: list[str], tmp_path: Path) -> None:
    rows = [blank, ["id", "response"], blank, ["1", "hi"], blank, blank, ["2", ""], ["", "yo"], blank, blank]
    path = tmp_path / f"a{suffix}"
    if suffix == ".xlsx":
        write_workbook(
            path, table_of({number: dict(zip("AB", row, strict=True)) for number, row in enumerate(rows, 1)})
        )
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter={".csv": ",", ".tsv": "\t"}[suffix]).writerows(rows)
    read = [(line, example.id, example.response) for _, line, example in Source(path).numbered()]
    assert read == [(4, "1", "hi"), (7, "2", ""), (8, "3", "yo")]


def test_the_only_column_of_a_table_may_have_an_empty_reply(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('\nresponse\nhi\n\n""\n\n')
    assert [example.response for example in rejoinder.read(tmp_path / "a.csv")] == ["hi", ""]


def test_a_pipe_is_read_twice_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(json_lines(), encoding="utf-8"))
    writer.start()
    source = Source(pipe)
    writer.join()
    assert [list(source), list(source)] == [EXAMPLES, EXAMPLES]
    source.close()


def test_scoring_is_the_same_whatever_the_format(tmp_path: Path) -> None:
    def scores(origin: Any) -> pl.DataFrame:
        with pytest.warns(rejoinder.ScoreWarning):
            return rejoinder.score(origin, ["bleu-2", "length"]).to_polars()

    expected = scores(EXAMPLES)
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        assert scores(write(tmp_path / name)).equals(expected)
    assert scores(frame()).equals(expected)


@pytest.mark.parametrize(
    ("origin", "kind"),
    [
        ({"response": "hi"}, "dict"),
        (b"hi", "bytes"),
        (7, "int"),
        (None, "NoneType"),
        (pl.Series(["hi"]), "Series"),
        (pd.Series(["hi"]), "Series"),
        (datasets.DatasetDict(), "DatasetDict"),
    ],
)
def test_what_holds_no_examples(origin: Any, kind: str) -> None:
    with pytest.raises(CallError) as caught:
        list(rejoinder.read(origin))
    assert str(caught.value) == f"cannot read examples from a {kind}: expected a path, a data frame or a list"


def test_a_generator_is_read_once_and_kept() -> None:
    taken = []

    def give() -> Iterator[Record]:
        for record in records():
            taken.append(record["id"])
            yield record

    with pytest.warns(rejoinder.ScoreWarning, match="1 reply is empty"):
        assert len(rejoinder.score(give(), "length")) == 3
    assert taken == ["a", "b", "c"]


def test_examples_made_by_hand_are_checked_too() -> None:
    loose: Any = {"id": 7, "context": ["Hi"], "references": "one", "response": "Hello"}
    assert list(Source([Example(**loose)])) == [Example("7", ("Hi",), "Hello", ("one",))]
    bad: Any = {"id": "1", "context": (), "response": None}
    with pytest.raises(rejoinder.DataError, match=r"^<list>:1: field 'response': is missing: expected the reply"):
        list(Source([Example(**bad)]))
    with pytest.raises(rejoinder.DataError, match=r"^<list>:1: field 'references\[0\]': contains a lone surrogate"):
        list(Source([Example("1", (), "ok", ("\ud800",))]))
