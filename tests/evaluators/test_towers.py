"""Context and reply read apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_encoder import write_encoder
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rejoinder.models.onnx_export import to_int8, to_onnx
from rejoinder.models.pairs import Pair
from rejoinder.models.torch_model import TorchModel
from rejoinder.models.towers import MOST_CONTEXT, MOST_REPLY, Towered, padded_towers, towered

WORDS = {word: number for number, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "b", "c", "d", "e"])}
PAIRS = [
    Pair(("hello there", "how are you?"), (), "fine, and you?"),
    Pair(("one",), (), "two three four five six seven eight"),
    Pair(("where is it", "over there", "which one do you mean"), (), "that"),
]


@pytest.fixture(scope="module")
def tokeniser() -> Tokenizer:
    made = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return made


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> TorchModel:
    folder = write_encoder(tmp_path_factory.mktemp("towers") / "encoder")
    return TorchModel.start(
        str(folder), max_length=48, max_response=16, speaker_marks=True, pooling="match", towers=True, seed=1
    )


def test_turns_stand_apart_and_the_last_is_known(tokeniser: Tokenizer) -> None:
    [made] = towered(tokeniser, [["a b", "c"]], ["d e"])
    assert made == Towered((1, 4, 5, 2, 6, 2), 4, (1, 7, 8, 2))


def test_only_the_last_four_turns_are_read(tokeniser: Tokenizer) -> None:
    [made] = towered(tokeniser, [["a", "b", "c", "d", "e"]], ["a"])
    assert made.context == (1, 5, 2, 6, 2, 7, 2, 8, 2)
    assert made.last_turn == 7


def test_a_long_context_loses_its_beginning_and_a_long_reply_its_end(tokeniser: Tokenizer) -> None:
    [made] = towered(tokeniser, [["a " * 50 + "b", "c " * 20 + "d"]], ["e " * 99])
    assert len(made.context) == MOST_CONTEXT
    assert made.context[0] == 1
    assert made.context[made.last_turn - 2 : made.last_turn] == (5, 2)
    assert made.context[made.last_turn :] == (*[6] * 20, 7, 2)
    assert made.reply == (1, *[8] * (MOST_REPLY - 2), 2)
    [made] = towered(tokeniser, [["b", "a " * 99]], ["e"])
    assert made.context == (1, *[4] * (MOST_CONTEXT - 2), 2)
    assert made.last_turn == 1


def test_padding_is_in_no_mask() -> None:
    arrays = padded_towers([Towered((1, 4, 2, 5, 2), 3, (1, 2)), Towered((1, 4, 2), 1, (1, 4, 2))], pad=0)
    assert arrays["context"].tolist() == [[1, 4, 2, 5, 2], [1, 4, 2, 0, 0]]
    assert arrays["context_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert arrays["last_turn"].tolist() == [[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]]
    assert arrays["reply_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]


def test_the_score_blends_the_head_with_both_cosines(model: TorchModel) -> None:
    network = model.network
    encoded = model.tokeniser.encode(PAIRS[:1])
    tensors = model.tensors(encoded)
    with torch.inference_mode():
        score = float(network(**tensors)[0])
        encoder = network.encoder
        before = encoder(input_ids=tensors["context"], attention_mask=tensors["context_mask"]).last_hidden_state[0]
        after = encoder(input_ids=tensors["reply"], attention_mask=tensors["reply_mask"]).last_hidden_state[0]
        start = encoded[0].apart.last_turn if encoded[0].apart else 0
        answer = after.mean(0)
        cosines = torch.stack(
            [torch.cosine_similarity(part.mean(0), answer, dim=0) for part in (before, before[start:])]
        )
        network.towers = False
        head = torch.logit((network(**{name: tensors[name] for name in list(tensors)[:3]})[0] - 1) / 4)
        network.towers = True
        said = torch.cat([head[None], torch.tanh(network.level(cosines))])
        wanted = 4 * torch.sigmoid(network.blend(said)) + 1
    assert score == pytest.approx(float(wanted), abs=1e-5)


def test_onnx_with_towers_is_torch(model: TorchModel) -> None:
    scores = model.score(PAIRS)
    exported = to_onnx(model)
    assert exported.score(PAIRS) == pytest.approx(scores, abs=1e-5)
    small = to_int8(exported)
    assert np.abs(small.score(PAIRS) - scores).max() < 0.05
    assert len(small.weights) < 0.5 * len(exported.weights)  # the three readings share one set of weights


def test_saved_and_loaded(model: TorchModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    assert TorchModel.load(tmp_path, model.settings).score(PAIRS) == pytest.approx(model.score(PAIRS))
