"""The network with towers before training, and one reply per row."""

from __future__ import annotations

import pytest
import torch

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.evaluators.encoder import torch_model
from rejoinder.evaluators.encoder.networks import BranchEncoder
from rejoinder.evaluators.encoder.reading import FEATURES, padded_rows
from rejoinder.evaluators.encoder.torch_model import TorchModel
from tiny_encoder import write_encoder

PAIRS = [
    ReplyInContext(("hello there", "how are you?"), (), "fine, and you?"),
    ReplyInContext(("one",), (), "two three four five six seven eight"),
    ReplyInContext(("where is it", "over there"), (), "that"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TorchModel:
    folder = write_encoder(tmp_path_factory.mktemp("start") / "encoder")
    return TorchModel.start(
        str(folder), max_length=48, max_response=16, speaker_marks=False, pooling="match", towers=True, seed=1
    )


def test_features_are_first_levelled_as_cosines_of_neighbouring_turns(model: TorchModel) -> None:
    network = model.network
    assert isinstance(network, BranchEncoder)
    usual = torch.full((len(FEATURES),), 0.3)
    with torch.no_grad():
        torch.testing.assert_close(network.level(usual), torch.zeros(len(FEATURES)))
        moved = network.level(usual + 0.2 * torch.arange(len(FEATURES)))
    torch.testing.assert_close(moved, torch.arange(len(FEATURES), dtype=torch.float32))


def test_the_last_layer_starts_with_a_tenth_of_the_usual_weights(model: TorchModel) -> None:
    *_, last = model.network.head
    assert isinstance(last, torch.nn.Linear)
    usual = last.in_features**-0.5  # torch draws from -usual to usual
    largest = float(last.weight.detach().abs().max())
    assert 0.05 * usual < largest <= 0.1 * usual
    assert last.bias.tolist() == [0]


def test_rows_of_one_reply_have_the_scores_of_shared_rows(model: TorchModel) -> None:
    made = model.tokeniser.brancher.rows([pair.context for pair in PAIRS], [[pair.response] for pair in PAIRS])
    arrays = padded_rows(made, model.settings.pad)
    with torch.inference_mode():
        scores = model.network(**{name: torch.from_numpy(arrays[name]) for name in ("input_ids", "positions", "parts")})
    assert scores.shape == (len(PAIRS),)
    torch.testing.assert_close(scores.double(), torch.from_numpy(model.score(PAIRS)), atol=1e-5, rtol=0)


def test_a_reading_has_one_vector_per_context_last_turn_and_reply(model: TorchModel) -> None:
    network = model.network
    assert isinstance(network, BranchEncoder)
    made = model.tokeniser.brancher.rows([pair.context for pair in PAIRS], [[pair.response] for pair in PAIRS])
    arrays = model.on_device(padded_rows(made, model.settings.pad))
    with torch.inference_mode():
        reading = network.read(**arrays, replies=torch.zeros(1, dtype=torch.int64))
    width = int(network.config.hidden_size)
    assert reading.context.shape == reading.last_turn.shape == (len(PAIRS), width)
    assert reading.alone.shape == (len(PAIRS), 1, width)


@pytest.mark.parametrize("at_once", [1, 2])
def test_vectors_of_contexts_read_in_parts_are_in_order(
    model: TorchModel, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts, replies = [pair.context for pair in PAIRS], [pair.response for pair in PAIRS]
    whole = torch_model.tower_vectors([model], contexts, replies)
    monkeypatch.setattr(torch_model, "_AT_ONCE", at_once)
    for found, expected in zip(torch_model.tower_vectors([model], contexts, replies), whole, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
