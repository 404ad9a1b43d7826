"""The encoder as two towers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.reading import ContextIds
from rejoinder.evaluators.encoder.torch_model import TorchModel, padded_contexts, padded_replies, tower_vectors
from rejoinder.evaluators.encoder.training import start_model
from tiny_encoder import write_encoder

CONTEXTS = [["tell me about tea"], ["hello", "i like chess", "why do you like it so much"]]
REPLIES = ["tea makes me happy all day", "well", "because", "well"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TorchModel:
    folder = write_encoder(tmp_path_factory.mktemp("towers") / "encoder")
    return start_model(Encoder(encoder=str(folder), max_length=48, max_response=16, towers=True), 0)


def test_padding_is_in_no_mask() -> None:
    contexts = padded_contexts([ContextIds((1, 4, 2, 5, 2), 3), ContextIds((1, 4, 2), 1)], pad=0)
    assert contexts["context"].tolist() == [[1, 4, 2, 5, 2], [1, 4, 2, 0, 0]]
    assert contexts["context_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert contexts["last_turn"].tolist() == [[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]]
    assert padded_replies([(1, 2), (1, 4, 2)], pad=0)["reply_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]


def test_vectors_are_in_order_and_have_length_one(model: TorchModel) -> None:
    found = tower_vectors([model], CONTEXTS, REPLIES)
    for vectors, count in zip(found, (2, 2, 4), strict=True):
        torch.testing.assert_close(vectors.norm(dim=1), torch.ones(count))
    torch.testing.assert_close(found.replies[1], found.replies[3])
    alone = tower_vectors([model], CONTEXTS[1:], REPLIES[:1])
    torch.testing.assert_close(alone.contexts[0], found.contexts[1])
    torch.testing.assert_close(alone.last_turns[0], found.last_turns[1])
    torch.testing.assert_close(alone.replies[0], found.replies[0])


def test_a_cosine_of_two_models_is_the_mean_of_theirs(model: TorchModel, tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "other", token_types=1)
    other = start_model(Encoder(encoder=str(folder), max_length=48, max_response=16, towers=True), 0)
    with torch.no_grad():
        for weight in other.network.encoder.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    both, one, two = (tower_vectors(models, CONTEXTS, REPLIES) for models in ([model, other], [model], [other]))
    cosines = [found.contexts @ found.replies.T for found in (both, one, two)]
    torch.testing.assert_close(cosines[0], (cosines[1] + cosines[2]) / 2)
    assert not torch.allclose(cosines[1], cosines[2])
