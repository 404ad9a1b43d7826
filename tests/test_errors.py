"""Messages stay short, whatever the data contain."""

from __future__ import annotations

import pytest

from rejoinder.errors import (
    LONGEST_MESSAGE,
    CallError,
    DataError,
    RejoinderError,
    UnknownNameError,
    listed,
    shortened,
    without_secrets,
)


def test_a_value_is_quoted_escaped_and_cut() -> None:
    assert shortened("it's") == '"it\'s"'
    assert shortened("a\nb\x1b[2J\u202e") == r"'a\nb\x1b[2J\u202e'"
    assert shortened("x" * 5000) == f"'{'x' * 79}..."
    assert shortened([1, 2, 3], 4) == "[1, ..."


def test_a_value_without_a_representation_is_named_by_its_type() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert shortened(10**5000) == "<int>"
    assert shortened(nested) == "<list>"


def test_a_long_list_of_names_is_cut_and_counted() -> None:
    assert listed([]) == ""
    assert listed(["id", 7]) == "id, 7"
    assert listed(range(5000)).endswith(", 48, 49 and 4,950 more")
    assert listed(["a" * 100]) == f"{'a' * 58}...{'a' * 19}"
    assert len(listed("x" * 5000 for _ in range(5000))) < 5000


@pytest.mark.parametrize(
    "error",
    [
        RejoinderError("x" * 149_000),
        CallError("x" * 149_000),
        DataError("x" * 149_000, file="y" * 5000, line=3, field="z" * 5000),
        DataError("bad", file="y" * 149_000),
        UnknownNameError("metric", "x" * 149_000, ["bleu"]),
        UnknownNameError("field", "x", [f"{number}" * 5000 for number in range(500)]),
        UnknownNameError("field", "x" * 5000, ["x" * length for length in range(4900, 5100)]),
    ],
    ids=lambda error: str(error)[:20],
)
def test_no_message_exceeds_the_limit(error: RejoinderError) -> None:
    assert len(str(error)) <= LONGEST_MESSAGE


def test_a_long_file_name_leaves_room_for_the_problem() -> None:
    message = str(DataError("no such file", file="a" * 5000))
    assert message.startswith("aaa")
    assert message.endswith("a: no such file")


def test_an_error_without_a_message() -> None:
    assert str(RejoinderError()) == ""


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("'http://u:p@h/v1?key=S&b=1#c' failed", "'http://****h/v1?***********' failed"),
        ("postgresql://u:p/a@s?s@h/db", "postgresql://**********h/db"),
        ("mysql:/u:p@h", "mysql:/****h"),
        ("see https://h/v1, then HTTP://h?S", "see https://h/v1, then HTTP://h?*"),
        ("C:/a#b/c@d.jsonl: a@b.c? no", "C:/a#b/c@d.jsonl: a@b.c? no"),
    ],
)
def test_passwords_and_parameters_in_addresses_are_not_shown(given: str, shown: str) -> None:
    assert without_secrets(given) == shown
    assert str(RejoinderError(given)) == shown


def test_a_long_message_is_searched_for_addresses_in_linear_time() -> None:
    assert len(without_secrets("a." * 500_000)) == 1_000_000  # hours, if every letter began a search to the end
