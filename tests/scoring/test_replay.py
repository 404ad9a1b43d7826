"""Examples that are read once and given several times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from rejoinder.data import replay
from rejoinder.data.replay import Replay
from rejoinder.types import Example

EXAMPLES = [
    Example("1", ("a\n", "b\u2028"), "ö \ud800", ("x", ""), "S", ("p", "q"), "c"),
    Example("2", (), "", ()),
    Example("3", ("x",), "long " * 1000),
]


class Once:
    """Examples that may be read only once."""

    def __init__(self) -> None:
        self.times = 0

    def __iter__(self) -> Iterator[Example]:
        self.times += 1
        assert self.times == 1
        return iter(EXAMPLES)


@pytest.mark.parametrize("in_memory", [1 << 20, 10])
def test_every_pass_gives_the_same_examples(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_IN_MEMORY", in_memory)
    with closing(Replay(Once())) as examples:
        for _ in range(3):
            assert list(examples) == EXAMPLES
        assert examples.take([2, 0]) == {0: EXAMPLES[0], 2: EXAMPLES[2]}
        assert list(examples) == EXAMPLES, "after single ones were taken"


def test_a_pass_that_was_not_finished_is_repeated() -> None:
    with closing(Replay(EXAMPLES)) as examples:
        assert next(iter(examples)) == EXAMPLES[0]
        assert list(examples) == EXAMPLES
        assert list(examples) == EXAMPLES
