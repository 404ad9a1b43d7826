"""Messages between this process and one that it started, over the other's standard input and output.

Messages are pickled: they come from a process that runs this same program, started by this one or the one that started
it, over a pipe that no other process can open. Nothing else is unpickled anywhere.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from operator import attrgetter
from typing import IO, Any

from rejoinder.types import Example

_FIELDS = tuple(Example.__dataclass_fields__)
_values = attrgetter(*_FIELDS)


def send(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    pickle.dump(message, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def received(stream: IO[bytes]) -> Any:
    """The next message; EOFError if the other process has ended."""
    try:
        return pickle.load(stream)
    except pickle.UnpicklingError:  # cut off in the middle
        raise EOFError from None


def packed(examples: Sequence[Example]) -> list[tuple[Any, ...]]:
    """Examples as tuples, which are faster to send."""
    return list(map(_values, examples))


def unpacked(rows: Sequence[tuple[Any, ...]]) -> list[Example]:
    """The examples of such tuples."""
    return [Example(*row) for row in rows]
