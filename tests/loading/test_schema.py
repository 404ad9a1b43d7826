"""What does not fit is a DataError that names the file and the field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rejoinder.errors import CallError, DataError
from rejoinder.folders.array_schema import Array, checked_arrays
from rejoinder.folders.schema import checked_member, parsed_json, plain_name, record


@dataclass(frozen=True)
class Sizes:
    """An example of what is saved."""

    rows: int
    scale: tuple[float, float]
    name: str | None = None

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise CallError("rows must be at least 1")


def test_a_record() -> None:
    plain = {"rows": 2, "scale": [1, 2.5], "other": 1}
    assert record(Sizes, plain, "c.json", "learned") == Sizes(2, (1, 2.5))


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ({"scale": [1, 2]}, "c.json: field 'learned.rows': is missing"),
        ({"rows": "2", "scale": [1, 2]}, "c.json: field 'learned.rows': must be a whole number, not '2'"),
        ({"rows": True, "scale": [1, 2]}, "c.json: field 'learned.rows': must be a whole number, not True"),
        ({"rows": 1, "scale": [1]}, "c.json: field 'learned.scale': must be a list of 2, not (1,)"),
        ({"rows": 1, "scale": [1, "a"]}, "c.json: field 'learned.scale': [1] must be a number, not 'a'"),
        ({"rows": 0, "scale": [1, 2]}, "c.json: field 'learned': rows must be at least 1"),
        ([], "c.json: field 'learned': must be an object, not []"),
    ],
)
def test_what_is_no_such_record(plain: Any, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        record(Sizes, plain, "c.json", "learned")
    assert str(caught.value) == problem


@pytest.mark.parametrize("text", ["", "[]", "1", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', "[" * 9999])
def test_json_that_is_no_object_of_finite_numbers(text: str) -> None:
    with pytest.raises(DataError, match=r"^c\.json: "):
        parsed_json(text, "c.json")
    with pytest.raises(DataError, match="too large"):
        parsed_json('{"a": 1' + "0" * 5000 + "}", "c.json")


def test_members() -> None:
    assert checked_member({"a": 2}, "a", float, "c.json") == 2
    with pytest.raises(DataError, match=r"c\.json: field 'learned\.b': is missing"):
        checked_member({"a": 2}, "b", float, "c.json")


EXPECTED = {
    "matrix": Array("f", ("rows", "width")),
    "place": Array("i", ("rows",), low=0, high=9),
    "sorted": Array("i", ("any",), increasing=True),
}


def arrays(**changes: Any) -> dict[str, Any]:
    good = {"matrix": np.ones((3, 2)), "place": np.array([0, 9, 1]), "sorted": np.array([1, 5])}
    return {name: array for name, array in (good | changes).items() if array is not None}


def test_arrays_that_fit() -> None:
    assert checked_arrays(arrays(more=np.ones(1)), EXPECTED, "a", rows=3).keys() == EXPECTED.keys()
    assert len(checked_arrays(arrays(sorted=np.empty(0, np.int64)), EXPECTED, "a")["sorted"]) == 0


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"place": None}, "'place': is missing"),
        ({"matrix": np.ones((3, 2), np.int64)}, "'matrix': must hold floating-point numbers, not int64"),
        ({"matrix": np.ones(3)}, r"'matrix': has shape \(3,\): expected \(rows, width\)"),
        ({"matrix": np.ones((0, 2))}, r"'matrix': has shape \(0, 2\)"),
        ({"place": np.array([0, 1])}, r"'place': has shape \(2,\): expected \(3\)"),
        ({"matrix": np.full((3, 2), np.nan)}, "'matrix': holds numbers that are not finite"),
        ({"place": np.array([0, 10, 1])}, "'place': must be from 0 to 9"),
        ({"sorted": np.array([5, 5])}, "'sorted': must be increasing"),
    ],
)
def test_arrays_that_do_not_fit(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        checked_arrays(arrays(**changes), EXPECTED, "a.safetensors")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "../a", "C:\\a", "a\\b", None, 3])
def test_names_that_leave_the_folder(name: object) -> None:
    with pytest.raises(DataError, match="must be the name of a file within the folder"):
        plain_name(name, "c.json")
    assert plain_name("model.safetensors", "c.json") == "model.safetensors"
