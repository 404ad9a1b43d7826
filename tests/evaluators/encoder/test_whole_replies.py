"""Long replies are read in parts, as text without Markdown; what is too long is counted and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.reading import MOST_REPLY, PairTokeniser
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.unread import UnreadWatcher
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.batch import Batch
from rejoinder.types import Example
from tiny_encoder import tokeniser, write_encoder

LIMITS: dict[str, Any] = {"max_length": 48, "max_response": 16, "speaker_marks": False, "towers": True}
LONG = " ".join(f"tea{number % 7}" for number in range(100))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


def encoder(tiny: Path, *, whole: bool) -> Encoder:
    model = TorchModel.start(str(tiny), pooling="match", seed=0, whole_replies=whole, **LIMITS)
    return Encoder(encoder=str(tiny), whole_replies=whole, **LIMITS).with_model(model, TrainingData())


def pairs(*replies: str) -> list[ReplyInContext]:
    return [ReplyInContext(("tell me about tea",), (), reply) for reply in replies]


def parts_of(text: str) -> list[str]:
    return PairTokeniser(tokeniser().to_str(), whole_replies=True, **LIMITS).parts(pairs(text))[0]


def test_parts_are_the_whole_text_and_of_nearly_equal_length() -> None:
    parts = parts_of(LONG)
    assert " ".join(parts) == LONG
    sizes = [len(part.split()) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    made = PairTokeniser(tokeniser().to_str(), whole_replies=True, **LIMITS)
    for part in parts:
        assert len(made.tokeniser.encode(part, add_special_tokens=False).ids) <= LIMITS["max_response"] - 2


def test_no_word_is_cut_in_two() -> None:
    parts = parts_of(" ".join(["happiness"] * 30))
    assert len(parts) > 1
    assert {word for part in parts for word in part.split()} == {"happiness"}


def test_a_word_longer_than_a_part_is_read_all_the_same() -> None:
    assert "".join(parts_of("x" * 60)) == "x" * 60


def test_only_the_first_tokens_are_read() -> None:
    read = sum(len(part.split()) for part in parts_of("tea " * (MOST_REPLY + 50)))
    assert read == MOST_REPLY


def test_the_score_is_the_mean_over_the_parts(tiny: Path) -> None:
    evaluator = encoder(tiny, whole=True)
    parts = evaluator.model_.tokeniser.parts(pairs(LONG))[0]
    each = evaluator.model_.score(pairs(*parts))
    words = [len(part.split()) for part in parts]
    [found] = evaluator.model_.score(pairs(LONG))
    assert found == pytest.approx(np.average(each, weights=words), abs=1e-5)


def test_short_replies_have_the_scores_of_before(tiny: Path) -> None:
    replies = pairs("i like tea", "well", "why do you like rain so much")
    whole, beginning = (encoder(tiny, whole=each).model_.score(replies) for each in (True, False))
    np.testing.assert_array_equal(whole, beginning)


def test_markdown_is_read_as_text(tiny: Path) -> None:
    evaluator = encoder(tiny, whole=True)
    scores = evaluator.model_.score(pairs("i like tea", "**i** like `tea`", "# i like tea"))
    np.testing.assert_allclose(scores, scores[0], atol=1e-6)


def test_the_end_of_a_reply_counts_only_where_it_is_read(tiny: Path) -> None:
    one, other = f"{LONG} rain", f"{LONG} chess happy"
    whole, beginning = (encoder(tiny, whole=each).model_.score(pairs(one, other)) for each in (True, False))
    assert whole[0] != whole[1]
    assert beginning[0] == beginning[1]


def test_what_was_not_read_is_said(tiny: Path) -> None:
    evaluator = encoder(tiny, whole=True)
    examples = [
        Example("", ("tell me",), "tea " * (MOST_REPLY + 1)),
        Example("", ("tell me",), "tea " * MOST_REPLY),
        Example("", tuple("abcde"), "tea"),
    ]
    watcher = evaluator.watcher()
    assert isinstance(watcher, UnreadWatcher)
    watcher.add(Batch(examples))
    other = evaluator.watcher()
    assert isinstance(other, UnreadWatcher)
    other.add(Batch(examples[:1]))
    watcher.merge(other.state())
    assert watcher.notes() == [
        "2 replies are too long for the network, which read only the beginning",
        "1 reply has a context of more than four turns, of which the network reads the last four",
    ]


def test_an_older_network_reads_the_beginning(tiny: Path) -> None:
    assert encoder(tiny, whole=False).reads_beginning
    assert not encoder(tiny, whole=True).reads_beginning
