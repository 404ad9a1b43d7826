"""How a stage reads replies with scores: rows of one or several replies, their lengths, and validation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.evaluators.encoder.stages import EncoderRegressionStage
from rejoinder.evaluators.encoder.torch_model import TorchModel
from tiny_encoder import write_encoder

PAIRS = [
    ReplyInContext(("one",), (), "two three"),
    ReplyInContext(("hello there", "how are you?"), (), "fine, and you?"),
    ReplyInContext(("hello there", "how are you?"), (), "no"),
]


def stage(model: Any, held_out: tuple[int, ...] = ()) -> EncoderRegressionStage:
    """One reply to the first context, two to the second."""
    return EncoderRegressionStage(model, PAIRS, np.array([1.0, 2.0, 4.0]), [[0], [1, 2]], held_out, 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TorchModel:
    folder = write_encoder(tmp_path_factory.mktemp("scored") / "encoder")
    return TorchModel.start(
        str(folder), max_length=48, max_response=16, speaker_marks=False, pooling="match", towers=True, seed=1
    )


def test_rows_of_one_and_of_two_replies_are_read_together(model: TorchModel) -> None:
    one = stage(model)
    with torch.inference_mode():
        read = one.read(one.network, [1, 0])
    assert (read.numbers, read.sizes.tolist()) == ([1, 2, 0], [2, 1])
    expected = torch.from_numpy(model.score([PAIRS[number] for number in read.numbers]))
    torch.testing.assert_close(read.scores.double(), expected, atol=1e-5, rtol=0)
    assert read.vectors is not None
    assert [len(each) for each in read.vectors] == [2, 2, 3]


def test_the_length_of_a_row_with_towers_counts_each_reply_twice(model: TorchModel) -> None:
    brancher = model.tokeniser.brancher
    (first, second), replies = (
        [len(context.ids) for context in brancher.contexts([PAIRS[0].context, PAIRS[1].context])],
        [len(reply) for reply in brancher.replies([pair.response for pair in PAIRS])],
    )
    assert stage(model)._lengths == [first + 2 * replies[0], second + 2 * (replies[1] + replies[2])]


def test_the_length_of_a_row_without_towers_is_that_of_its_longest_pair() -> None:
    encoded = [SimpleNamespace(ids=range(length)) for length in (9, 5, 7)]
    tokeniser = SimpleNamespace(encode=lambda _: encoded)
    assert stage(SimpleNamespace(settings=SimpleNamespace(towers=False), tokeniser=tokeniser))._lengths == [9, 7]


def test_validation_is_the_correlation_with_the_wanted_scores() -> None:
    scores = {"two three": 1.5, "fine, and you?": 3.0, "no": 2.5}
    judge = SimpleNamespace(score=lambda pairs: np.array([scores[pair.response] for pair in pairs]))
    expected = np.corrcoef([1.5, 3.0, 2.5], [1.0, 2.0, 4.0])[0, 1]
    assert stage(judge, (0, 1, 2)).validate() == pytest.approx(expected)
    same = SimpleNamespace(score=lambda pairs: np.full(len(pairs), 3.0))
    assert stage(same, (0, 1, 2)).validate() == -1
    assert stage(judge, (1,)).validate() is None
