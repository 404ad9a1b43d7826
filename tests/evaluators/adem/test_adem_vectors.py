"""The texts whose vectors ADEM reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from rejoinder.evaluators.adem.vectors import ExampleVectors
from rejoinder.types import Example


def test_each_text_is_read_once_and_a_blank_reference_not_at_all() -> None:
    class Numbered:
        """Gives the n-th text the vector [n]."""

        texts: tuple[Any, ...] = ()

        def encode(self, texts: list[Any]) -> np.ndarray[Any, Any]:
            self.texts = tuple(texts)
            return np.arange(len(texts), dtype=np.float32)[:, None]

    items = [
        Example("1", ("hi", "you ?"), "yes", ("no", " ", "yes")),
        Example("2", (), "no", ()),
        Example("3", ("yes",), "hi", ("hi",)),
    ]
    encoder: Any = Numbered()
    read = ExampleVectors.of(items, encoder)
    assert encoder.texts == ("yes", "no", "hi", ("hi", "you ?")), "a context of one turn is that text"
    assert read.responses.tolist() == [0, 1, 2]
    assert read.contexts.tolist() == [3, -1, 0]
    assert read.references.tolist() == [1, 0, 2]
    assert read.owner.tolist() == [0, 0, 2]
    ExampleVectors.of(items, encoder, context=False, references=False)
    assert encoder.texts == ("yes", "no", "hi")
