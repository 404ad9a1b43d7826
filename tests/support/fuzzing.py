"""Fuzzing within a time budget: files are mutated until the time is up, and a failure is shrunk by hypothesis.

REJOINDER_FUZZ_SECONDS is the time per target, 2 by default. The seeds are 0, 1, 2, ..., so a slower machine runs the
beginning of what a faster one runs; REJOINDER_FUZZ_SEED sets another first seed, for long runs (`make fuzz`).
"""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")
Edit = tuple[int, int, bytes]
"""Where, how many bytes are removed, what is inserted."""

SECONDS = float(os.environ.get("REJOINDER_FUZZ_SECONDS", "2"))
FIRST_SEED = int(os.environ.get("REJOINDER_FUZZ_SEED", "0"))
_EXAMPLES_PER_SEED = 20


def fuzz(values: st.SearchStrategy[T], target: Callable[[T], object], *, times: int = 1) -> None:
    """Call the target with values until the time is up, which is `times` that of a single target."""
    until = time.monotonic() + times * SECONDS
    number = FIRST_SEED
    while number == FIRST_SEED or time.monotonic() < until:
        _round(values, target, number)
        number += 1


def _round(values: st.SearchStrategy[T], target: Callable[[T], object], number: int) -> None:
    @seed(number)
    @settings(
        max_examples=_EXAMPLES_PER_SEED,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(values)
    def check(value: T) -> None:
        target(value)

    check()


def mutated(files: Sequence[bytes], tokens: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """One of the files with a few edits: bytes removed, and bytes or tokens of the format inserted."""
    edit = st.tuples(
        st.integers(0, 1 << 20),
        st.integers(0, 30),
        st.one_of(st.sampled_from([b"", *tokens, *HOSTILE]), st.binary(max_size=6)),
    )
    return st.builds(_edited, st.sampled_from(files), st.lists(edit, max_size=6))


HOSTILE = [
    b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", "\u202e\u2028".encode(), b"\n", b"\r",
    b"\t", b" ", b"-1", b"0", b"1e400", b"-1e400", b"nan", b"1" + b"0" * 400, b"9" * 5000, b"[" * 5000, b"{" * 5000,
    b"a" * 3000,
]  # fmt: skip


def _edited(file: bytes, edits: list[Edit]) -> bytes:
    for where, removed, inserted in edits:
        at = where % (len(file) + 1)
        file = file[:at] + inserted + file[at + removed :]
    return file


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**4000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def repeating(draw: st.DrawFn, documents: Sequence[Any]) -> str:
    """One of the documents as JSON, in which one object at any depth has one of its keys twice."""
    document = copy.deepcopy(draw(st.sampled_from(documents)))
    places = [place for place in _objects(document) if place]
    place = draw(st.sampled_from(places))
    key = draw(st.sampled_from(sorted(place)))
    again = json.dumps(draw(st.just(place[key]) | VALUES.filter(lambda value: len(repr(value)) < 1000)))
    marked = {**place, "\0": 0} if draw(st.booleans()) else {"\0": 0, **place}
    place.clear()
    place.update(marked)
    return json.dumps(document).replace('"\\u0000": 0', f"{json.dumps(key)}: {again}")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


@st.composite
def damaged(draw: st.DrawFn, documents: Sequence[Any], names: Sequence[str]) -> Any:
    """One of the documents of JSON, some of whose values are replaced, renamed or removed at any depth."""
    document: Any = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 4))):
        place: Any = document
        while isinstance(place, dict | list) and place:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], dict | list) or draw(st.booleans()):
                break
            place = place[key]
        if not place or not isinstance(place, dict | list):
            continue
        change = draw(st.sampled_from(["replace", "remove", "rename"]))
        old = place.pop(key)
        if change != "remove" and isinstance(place, dict):
            place[draw(st.sampled_from(names)) if change == "rename" else key] = (
                old if change == "rename" else draw(VALUES)
            )
        elif change == "replace" and isinstance(place, list):
            place.insert(key, draw(VALUES))
    return document
