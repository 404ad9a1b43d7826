"""Context and reply read together and apart, in one row."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.networks import BranchEncoder
from rejoinder.evaluators.encoder.onnx import OnnxModel
from rejoinder.evaluators.encoder.onnx_export import to_int8, to_onnx
from rejoinder.evaluators.encoder.reading import AFTER, ALONE, EARLIER, FEATURES, LAST_TURN, padded_rows
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.models.text_encoder import mean_over
from tiny_encoder import write_encoder
from tolerance import assert_same_scores

PAIRS = [
    ReplyInContext(("hello there", "how are you?"), (), "fine, and you?"),
    ReplyInContext(("one",), (), "two three four five six seven eight"),
    ReplyInContext(("where is it", "over there", "which one do you mean"), (), "that"),
]
CONTEXT, REPLIES = ["hello there", "how are you?"], ["fine, and you?", "how are you?", "no no no", "seven"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TorchModel:
    folder = write_encoder(tmp_path_factory.mktemp("branches") / "encoder")
    return TorchModel.start(
        str(folder), max_length=48, max_response=16, speaker_marks=False, pooling="match", towers=True, seed=1
    )


@pytest.fixture(scope="module")
def exported(model: TorchModel) -> OnnxModel:
    return to_onnx(model)


def encoder_of(config: Any) -> torch.nn.Module:
    made: torch.nn.Module = AutoModel.from_config(config)
    return made


def network_of(model: TorchModel) -> BranchEncoder:
    assert isinstance(model.network, BranchEncoder)
    return model.network


def test_a_row_is_the_context_and_each_reply_twice(model: TorchModel) -> None:
    brancher = model.tokeniser.brancher
    [context], [reply] = brancher.contexts([CONTEXT]), brancher.replies(["seven"])
    row = brancher.row(context, [reply, reply])
    after = len(reply) - len(brancher.first)
    assert row.ids == (*context.ids, *2 * (*reply[len(brancher.first) :], *reply))
    assert row.parts.count(EARLIER) == context.last_turn
    assert row.parts.count(EARLIER) + row.parts.count(LAST_TURN) == len(context.ids)
    assert (row.parts.count(AFTER), row.parts.count(ALONE)) == (2 * after, 2 * len(reply))
    assert row.positions[len(context.ids)] == len(context.ids)  # goes on from the context
    assert row.positions[len(context.ids) + after] == 0  # begins anew
    assert set(row.numbers) == {0, 1}


def test_a_long_context_loses_its_beginning_and_a_long_reply_its_end(model: TorchModel) -> None:
    brancher = model.tokeniser.brancher
    [context], [reply] = brancher.contexts([["one " * 99, "two three"]]), brancher.replies(["two " * 99])
    [last_turn] = brancher.contexts([["two three"]])
    assert len(context.ids) == brancher.most_context
    assert context.ids[context.last_turn :] == last_turn.ids[len(brancher.first) :]
    assert len(reply) == brancher.most_reply
    assert reply[-1] == brancher.last[-1]


def test_the_parts_read_apart_are_those_of_plain_passes(model: TorchModel) -> None:
    network, brancher = network_of(model), model.tokeniser.brancher
    [context], replies = brancher.contexts([CONTEXT]), brancher.replies(REPLIES)
    arrays = padded_rows([brancher.row(context, replies)], model.settings.pad)
    with torch.inference_mode():
        reading = network.read(
            **{name: torch.from_numpy(array) for name, array in arrays.items()}, replies=torch.arange(len(REPLIES))
        )
        vectors = network.encoder(input_ids=torch.tensor([context.ids])).last_hidden_state
        whole = torch.nn.functional.normalize(vectors.mean(1), dim=-1)
        last = torch.nn.functional.normalize(vectors[:, context.last_turn :].mean(1), dim=-1)
        alone = [network.encoder(input_ids=torch.tensor([reply])).last_hidden_state.mean(1)[0] for reply in replies]
    answers = torch.nn.functional.normalize(torch.stack(alone), dim=-1)
    assert torch.allclose(reading.context, whole, atol=1e-5)
    assert torch.allclose(reading.last_turn, last, atol=1e-5)
    assert torch.allclose(reading.alone[0], answers, atol=1e-5)
    assert torch.allclose(reading.features[0, :, 0], answers @ whole[0], atol=1e-5)
    assert torch.allclose(reading.features[0, :, 1], answers @ last[0], atol=1e-5)


def test_a_reply_is_read_the_same_beside_others_and_in_a_padded_batch(model: TorchModel) -> None:
    network, brancher = network_of(model), model.tokeniser.brancher
    together = padded_rows(brancher.rows([CONTEXT, ["one"]], [REPLIES, ["two"]]), model.settings.pad)
    alone = padded_rows(brancher.rows([CONTEXT] * 4, [[reply] for reply in REPLIES]), model.settings.pad)
    with torch.inference_mode():
        first = network.read(
            **{name: torch.from_numpy(array) for name, array in together.items()}, replies=torch.arange(4)
        )
        second = network.read(
            **{name: torch.from_numpy(array) for name, array in alone.items()}, replies=torch.arange(1)
        )
    assert torch.allclose(first.logits[0], second.logits[:, 0], atol=1e-5)
    assert torch.allclose(first.features[0], second.features[:, 0], atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "electra", "mpnet", "roberta", "xlm-roberta"])
def test_every_family_reads_replies_the_same_beside_others(model: TorchModel, family: str) -> None:
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes = {"vocab_size": 400, "max_position_embeddings": 64, "embedding_size": 16, "pad_token_id": 1}
    config = AutoConfig.for_model(family, **shape, **sizes)
    network = BranchEncoder(encoder_of(config), (2, 3)).eval()
    brancher = model.tokeniser.brancher
    together = padded_rows(brancher.rows([CONTEXT], [REPLIES]), 1)
    alone = padded_rows(brancher.rows([CONTEXT] * 4, [[reply] for reply in REPLIES]), 1)
    with torch.inference_mode():
        network.head[2].weight.data.normal_()  # type: ignore[operator]
        first = network.read(
            **{name: torch.from_numpy(array) for name, array in together.items()}, replies=torch.arange(4)
        )
        second = network.read(
            **{name: torch.from_numpy(array) for name, array in alone.items()}, replies=torch.arange(1)
        )
    assert torch.allclose(first.logits[0], second.logits[:, 0], atol=1e-5)
    assert first.logits.std() > 1e-3


def test_surface_features_count_tokens(model: TorchModel) -> None:
    network, brancher = network_of(model), model.tokeniser.brancher
    rows = brancher.rows([["one two", "three four"]], [["three two", "five five five six", "four three four three"]])
    with torch.inference_mode():
        arrays = {name: torch.from_numpy(array) for name, array in padded_rows(rows, model.settings.pad).items()}
        features = network.read(**arrays, replies=torch.arange(3)).features[0].numpy()
    values = [dict(zip(FEATURES, row, strict=True)) for row in features]
    first, second, third = values
    assert first["copied"] > first["copied last"] > 0
    assert second["repeated"] > first["repeated"]
    assert third["copied last"] == pytest.approx(1)
    assert third["repeated"] > 0
    # the length is that of the words as they are, special tokens left out
    words = len(brancher.replies(["three two"])[0]) - len(brancher.first) - len(brancher.last)
    assert first["length"] == pytest.approx(np.log1p(words) / 2)


def test_padding_takes_no_part_in_the_pooling(model: TorchModel) -> None:
    vectors, mask = torch.randn(2, 3, 4), torch.tensor([[1, 1, 0], [1, 0, 0]])
    assert torch.allclose(mean_over(vectors, mask)[1], vectors[1, 0])
    scores = model.score(PAIRS)
    assert_same_scores(model.score(PAIRS[:1]), scores[:1])


def test_onnx_is_torch(model: TorchModel, exported: OnnxModel) -> None:
    scores = model.score(PAIRS)
    assert exported.score(PAIRS) == pytest.approx(scores, abs=1e-5)
    small = to_int8(exported)
    assert np.abs(small.score(PAIRS) - scores).max() < 0.05
    assert len(small.weights) < 0.5 * len(exported.weights)


def test_onnx_gives_the_features_with_the_scores(model: TorchModel, exported: OnnxModel) -> None:
    assert exported.has_features
    found = exported.read(PAIRS)
    np.testing.assert_allclose(found[:, 0], model.score(PAIRS), atol=1e-4)
    np.testing.assert_allclose(found[:, 1:], model.features(PAIRS).numpy(), atol=1e-4)


def test_replies_that_share_a_row_in_onnx_score_as_they_do_alone(model: TorchModel, exported: OnnxModel) -> None:
    pairs = [ReplyInContext(("one", "two"), (), text) for text in "a b c d e f g h i j k l".split()]
    mixed = [*pairs[:5], *PAIRS, *pairs[5:]]
    assert_same_scores(exported.score(mixed), [exported.score([pair])[0] for pair in mixed])
    assert_same_scores(exported.score(mixed), model.score(mixed))


def test_saved_and_loaded(model: TorchModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    assert TorchModel.load(tmp_path, model.settings).score(PAIRS) == pytest.approx(model.score(PAIRS))


def test_an_encoder_that_takes_no_such_mask_is_refused() -> None:
    other: Any = torch.nn.Module()
    other.config = SimpleNamespace(model_type="longformer")
    with pytest.raises(CallError, match="towers need one of"):
        BranchEncoder(other, ())
