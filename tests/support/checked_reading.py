"""What holds of everything that is read, whatever the input: valid examples, or an error with a short message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple

from rejoinder.errors import LONGEST_MESSAGE, RejoinderError
from rejoinder.types import Example


@contextmanager
def only_our_errors() -> Iterator[None]:
    """Let RejoinderErrors pass; they must be short."""
    try:
        yield
    except RejoinderError as error:
        if error.exit_code != 2 or not 0 < len(str(error)) <= LONGEST_MESSAGE:
            raise


def check_example(example: Example) -> None:
    """Every field is text that can be written."""
    identifier, context, response, references, system, speakers, context_id, dialogue_id, slices = astuple(example)
    assert identifier
    for text in (identifier, response, system, context_id, dialogue_id, *context, *references, *speakers, *slices):
        assert isinstance(text, str)
        assert "\0" not in text
        text.encode()
