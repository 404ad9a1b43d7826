"""The ranges of RUBER's scores, and the word vectors behind s_R."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rejoinder.evaluators.ruber.ruber import MinMaxRange, Ruber
from rejoinder.evaluators.ruber.unref import RuberRef, cosines
from rejoinder.metrics.batch import Batch
from rejoinder.models.sentence_encoders import CORPUS
from rejoinder.text.vectors import WordVectors
from rejoinder.types import Example, Scores

KNOWN = WordVectors.of(["red", "blue"], np.array([[1, -2], [3, 0]], np.float32), name="two")


def test_without_references_the_range_of_the_first_score_is_from_0_to_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def parts(_: Ruber, batch: Batch, *__: object) -> tuple[Scores, Scores]:
        return np.full(len(batch), np.nan), np.linspace(0.2, 0.6, len(batch))

    monkeypatch.setattr(Ruber, "_parts", parts)
    examples = [Example(str(row), ("red",), "blue") for row in range(3)]
    ranges = Ruber()._ranges(examples, KNOWN, None)  # type: ignore[arg-type]
    assert ranges == (MinMaxRange(0.0, 1.0), MinMaxRange(0.2, 0.6))


def test_a_cosine_can_be_negative() -> None:
    left, right = np.array([[1, 0], [1, 0], [2, 0]], np.float32), np.array([[-3, 0], [-1, 1], [1, 0]], np.float32)
    assert cosines(left, right) == pytest.approx([-1, -1 / np.sqrt(2), 1])


def test_a_blank_reply_has_the_lowest_possible_cosine() -> None:
    assert RuberRef().range == (-1, 1)
    assert RuberRef().worst == -1


def test_capital_letters_make_no_difference_unless_wanted() -> None:
    assert RuberRef(min_count=2).frequent_words(["Red", "red"], 9)[0] == ("red",)
    assert set(RuberRef(min_count=1, lowercase=False).frequent_words(["Red", "red"], 9)[0]) == {"Red", "red"}


def test_saved_vectors_have_the_name_of_their_file(tmp_path: Path) -> None:
    given = RuberRef(vectors="/anywhere/two.txt")
    given.write_vectors(KNOWN, tmp_path)
    assert given.read_vectors(tmp_path).name == "two"
    assert RuberRef(vectors=CORPUS).read_vectors(tmp_path).name == CORPUS
