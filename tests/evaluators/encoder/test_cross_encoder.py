"""The network over encoders of several families, each tiny and random."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.networks import CrossEncoder
from rejoinder.folders.foreign import definition_of, quiet_transformers, shaped
from rejoinder.learning.data import EncodedPair, padded
from rejoinder.models.text_encoder import longest_input, pretrained

# The DeBERTa of transformers uses it; none of our own code does.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

SHAPE: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
# Family -> what differs in its shape, whether it is told segments, how many tokens it reads (RoBERTa and MPNet give
# up the positions up to that of their padding token).
FAMILIES: dict[str, tuple[dict[str, Any], bool, int]] = {
    "bert": ({}, True, 40),
    "roberta": ({"type_vocab_size": 1, "pad_token_id": 1}, False, 38),
    "mpnet": ({"pad_token_id": 1}, False, 38),
    "electra": ({"embedding_size": 16}, True, 40),
    "deberta-v2": ({"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}, False, 40),
}
POOLINGS = ["mean", "cls", "match"]
ROWS = [EncodedPair((5, 6, 7, 8, 9, 10), (0, 0, 0, 1, 1, 1)), EncodedPair((11, 12, 13), (0, 1, 1))]


def network(family: str, pooling: str = "mean") -> CrossEncoder:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(family, **{**SHAPE, **FAMILIES[family][0]})
    return CrossEncoder(transformers.AutoModel.from_config(config), pooling).eval()


def scores(made: CrossEncoder, rows: list[EncodedPair]) -> torch.Tensor:
    arrays = padded(rows, int(made.config.pad_token_id or 0))
    with torch.inference_mode():
        found: torch.Tensor = made(**{name: torch.from_numpy(array) for name, array in arrays.items()})
    return found


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_scores_and_padding_does_not_matter(family: str, pooling: str) -> None:
    made = network(family, pooling)
    together = scores(made, ROWS)
    assert together.shape == (2,)
    assert ((together > 1) & (together < 5)).all()
    assert scores(made, ROWS[1:]) == pytest.approx(together[1:], abs=1e-5)
    assert made.takes_types == FAMILIES[family][1]
    assert made.needs_types == (FAMILIES[family][1] or pooling == "match")
    assert longest_input(made.encoder) == FAMILIES[family][2]


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_shape_is_enough_to_load_weights_into(family: str, pooling: str) -> None:
    made = network(family, pooling)
    other = CrossEncoder(shaped("AutoModel", definition_of(made), "encoder.json", 0)(), pooling).eval()
    other.load_state_dict(made.state_dict())
    assert torch.equal(scores(other, ROWS), scores(made, ROWS))


def test_the_formula_of_a_match() -> None:
    made = network("roberta", "match")
    arrays = {name: torch.from_numpy(array) for name, array in padded(ROWS[:1], 1).items()}
    del arrays["token_type_ids"]
    with torch.inference_mode():
        vectors = made.encoder(**arrays).last_hidden_state[0]
        context, reply = vectors[:3].mean(0), vectors[3:].mean(0)
        cosine = (context @ reply / context.norm() / reply.norm())[None]
        first, _, _, last = made.head
        features = torch.cat([context, reply, context * reply, (context - reply).abs(), cosine])
        expected = 4 * torch.sigmoid(last(torch.tanh(first(features)))) + 1
    assert features.shape == (4 * 16 + 1,)
    assert scores(made, ROWS[:1]) == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match="needs token_type_ids"):
        made(**arrays)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_match_sees_which_tokens_are_the_reply(family: str) -> None:
    turned = [EncodedPair(row.ids, tuple(1 - each for each in row.types)) for row in ROWS]
    assert not torch.equal(scores(network(family, "match"), turned), scores(network(family, "match"), ROWS))


def test_a_name_that_is_neither_folder_nor_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CallError) as caught:
        pretrained("mistyped-encoder")
    assert str(caught.value).startswith("no encoder 'mistyped-encoder': there is no such file or folder, nor in the ")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CallError, match="empty cannot be loaded") as caught:
        pretrained(str(tmp_path / "empty"))
    assert "no such file or folder" not in str(caught.value)


def test_retries_of_a_download_are_not_shown() -> None:
    shown: list[str] = []
    retries = logging.getLogger("huggingface_hub.utils._http")  # its lines go to the handlers of huggingface_hub
    handler = logging.Handler()
    handler.emit = lambda record: shown.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("huggingface_hub").addHandler(handler)
    try:
        retries.warning("before")
        with quiet_transformers():
            retries.warning("Retrying in 8s [Retry 5/5].")
        retries.warning("after")
    finally:
        logging.getLogger("huggingface_hub").removeHandler(handler)
    assert shown == ["before", "after"]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_formula(pooling: str) -> None:
    made = network("bert", pooling)
    arrays = {name: torch.from_numpy(array) for name, array in padded(ROWS[:1], 0).items()}
    with torch.inference_mode():
        vectors = made.encoder(**arrays).last_hidden_state[0]
        pooled = vectors.mean(0) if pooling == "mean" else vectors[0]
        first, _, _, last = made.head
        expected = 4 * torch.sigmoid(last(torch.tanh(first(pooled)))) + 1
    assert scores(made, ROWS[:1]) == pytest.approx(expected, abs=1e-5)
