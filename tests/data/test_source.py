"""Sources: read again and again, skip what is bad, hold little."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rejoinder
from rejoinder.data.opening import LONGEST_LINE
from rejoinder.data.source import Source, in_batches, survey
from rejoinder.errors import CallError, DataError
from rejoinder.types import Example


def test_ids_count_records_not_lines_so_that_formats_agree(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"response": "x"}\n\n{"response": "y"}\n')
    (tmp_path / "a.csv").write_text("response\nx\ny\n")
    assert [e.id for e in rejoinder.read(tmp_path / "a.jsonl")] == ["1", "2"]
    assert [e.id for e in rejoinder.read(tmp_path / "a.csv")] == ["1", "2"]


def test_skipping_keeps_the_numbers_of_the_others() -> None:
    source = Source([{"response": "x"}, 5, {"response": "y"}], on_error="skip")
    for _ in range(2):
        assert [e.id for e in source] == ["1", "3"]
    assert {number: str(error) for number, error in source.skipped.items()} == {
        2: "<list>:2: expected an object with fields, found a number"
    }


def test_blank_rows_of_a_spreadsheet_are_no_examples(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,response\n1,x\n,\n\n2,\n,\n")
    assert [(e.id, e.response) for e in rejoinder.read(tmp_path / "a.csv")] == [("1", "x"), ("2", "")]
    (tmp_path / "one.csv").write_text('response\nx\n""\ny\n')
    assert [e.response for e in rejoinder.read(tmp_path / "one.csv")] == ["x", "", "y"]


def test_two_bad_lines_of_a_table_do_not_hide_good_ones(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,response\n1,a\n\xff,b\n2,c\n3\n4,d\n")
    source = Source(tmp_path / "a.csv", on_error="skip")
    for _ in range(2):
        assert [e.id for e in source] == ["1", "2", "4"]
    assert [error.line for error in source.skipped.values()] == [3, 5]


def test_read_warns_of_what_it_left_out() -> None:
    with pytest.warns(UserWarning, match=r"^left out 2 unreadable examples; the first: <list>:1: expected an object"):
        assert len(list(rejoinder.read([1, {"response": "x"}, 2], on_error="skip"))) == 1


def test_on_error_is_checked() -> None:
    choice: Any = "ignore"
    with pytest.raises(CallError, match=r"^on_error must be 'raise' or 'skip', not 'ignore'$"):
        list(rejoinder.read([], on_error=choice))


@pytest.mark.parametrize(
    ("origin", "name"),
    [([], "<list>"), (iter([]), "<list_iterator>"), (pd.DataFrame(), "<pandas DataFrame>"), ("-", "standard input")],
)
def test_sources_have_names(origin: Any, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"")
    with (tmp_path / "in").open() as empty:
        monkeypatch.setattr("sys.stdin", empty)
        source = Source(origin)
    assert source.name == name
    source.close()


def test_a_name_that_is_no_text_is_shown_with_question_marks(tmp_path: Path) -> None:
    path = tmp_path / "odd\udcff.jsonl"
    path.write_text('{"response": 1}\n')
    with pytest.raises(DataError, match=r"odd\?\.jsonl:1: field 'response'"):
        list(rejoinder.read(path))


def test_a_long_line_is_never_held_whole(tmp_path: Path) -> None:
    with (tmp_path / "long.jsonl").open("wb") as file:
        file.write(b'{"response": "ok"}\n')
        for _ in range(50):
            file.write(b"x" * (1 << 20))
    source = Source(tmp_path / "long.jsonl", on_error="skip")
    tracemalloc.start()
    assert [e.response for e in source] == ["ok"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * LONGEST_LINE


def test_a_long_file_is_never_held_whole(tmp_path: Path) -> None:
    with (tmp_path / "many.jsonl").open("w") as file:
        for _ in range(5_000):
            file.write('{"response": "' + "word " * 400 + '"}\n')  # 10 MB in all
    source = Source(tmp_path / "many.jsonl")
    tracemalloc.start()
    assert survey(source).count == 5_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20


def test_a_survey_tells_what_is_there() -> None:
    seen = survey(
        Source(
            [
                {"response": "a", "system": "two", "context": ["x"]},
                {"response": "b", "system": "one", "references": ["y"], "context": ["z"]},
                {"response": "c", "system": "two"},
            ]
        )
    )
    assert (seen.count, seen.has, seen.systems) == (3, {"references": 1, "context": 2}, ("two", "one"))


def test_the_digest_changes_with_any_field() -> None:
    def digest(**more: Any) -> str:
        return survey(Source([{"id": "1", "response": "a", "context": ["b", "c"], **more}])).digest

    changes: list[dict[str, Any]] = [
        {},
        {"response": "a "},
        {"context": ["bc"]},
        {"context": ["b", "c", ""]},
        {"system": "s"},
        {"id": "2"},
        {"references": ["r"]},
        {"context": ["b"], "references": ["c"]},
        {"context_id": "k"},
        {"speakers": ["A", "B"]},
    ]
    assert len({digest(**more) for more in changes}) == len(changes)
    assert digest() == digest()


def test_batches_are_full_but_for_the_last() -> None:
    examples = [Example(str(number), (), "x") for number in range(7)]
    assert [len(batch) for batch in in_batches(examples, 3)] == [3, 3, 1]
