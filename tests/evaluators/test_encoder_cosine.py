"""The cosine of sentence vectors: equal to the plain computation over a tiny encoder, with references and without."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import AutoModel

import rejoinder
from rejoinder.errors import CallError
from rejoinder.evaluators.simple import EncoderCosine
from rejoinder.folders.foreign import quiet_transformers
from rejoinder.metrics.base import ScoreWarning
from rejoinder.types import Example
from tiny_encoder import write_encoder
from tolerance import assert_same_scores

EXAMPLES = [
    Example("1", ("hello", "tell me about tea"), "well tea is what i like", ("i like tea", "tea makes me happy")),
    Example("2", ("why do you like snow so much",), "because snow makes me happy all day", ("snow is what i like",)),
    Example(
        "3", ("tell me about owls",), "jazz", ("tell me about jazz", "owls", "because owls makes me happy all day")
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


def fitted(folder: Path, against: str = "references", refs: str = "max") -> EncoderCosine:
    return EncoderCosine(encoder=str(folder), against=against, refs=refs, max_length=32).fit()


def plain_cosine(folder: Path, left: str, right: str) -> float:
    """One text at a time, without padding: the mean over all tokens, special ones too."""
    tokeniser = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with quiet_transformers():
        network = AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        a, b = (
            network(input_ids=torch.tensor([tokeniser.encode(text).ids])).last_hidden_state[0].mean(0)
            for text in (left, right)
        )
    return float(torch.cosine_similarity(a, b, dim=0))


def test_against_the_last_turn(folder: Path) -> None:
    scores = fitted(folder, "last-turn").score(EXAMPLES)
    expected = [plain_cosine(folder, example.response, example.context[-1]) for example in EXAMPLES]
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert np.ptp(scores) > 0.01


@pytest.mark.parametrize(("refs", "over"), [("max", np.max), ("mean", np.mean)])
def test_against_references(folder: Path, refs: str, over: Callable[[list[float]], float]) -> None:
    scores = fitted(folder, refs=refs).score(EXAMPLES)
    expected = [over([plain_cosine(folder, e.response, text) for text in e.references]) for e in EXAMPLES]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_an_identical_reference_scores_1(folder: Path) -> None:
    same = [replace(example, references=("soup", example.response)) for example in EXAMPLES]
    np.testing.assert_allclose(fitted(folder).score(same), 1, atol=1e-6)


def test_neither_order_nor_company_matters(folder: Path) -> None:
    for against in ("references", "last-turn"):
        evaluator = fitted(folder, against)
        together = evaluator.score(EXAMPLES)
        assert_same_scores(evaluator.score(EXAMPLES[::-1])[::-1], together)
        assert_same_scores([evaluator.score([each])[0] for each in EXAMPLES], together)


def test_what_is_missing_makes_a_score_unknown(folder: Path) -> None:
    odd = [replace(EXAMPLES[0], references=(), context=()), replace(EXAMPLES[1], references=(" ",), context=(" ",))]
    for against, need in (("references", "references"), ("last-turn", "context")):
        evaluator = fitted(folder, against)
        assert evaluator.needs == {need}
        assert np.isnan(evaluator.score([*odd, EXAMPLES[2]])).tolist() == [True, True, False]
    assert fitted(folder).score([]).shape == (0,)
    # A blank reference beside another is passed over.
    beside = replace(EXAMPLES[1], references=(" ", *EXAMPLES[1].references))
    np.testing.assert_allclose(fitted(folder, refs="mean").score([beside]), fitted(folder).score(EXAMPLES[1:2]))


def test_an_empty_reply_scores_the_lowest(folder: Path) -> None:
    with pytest.warns(ScoreWarning, match="1 empty replies"):
        scores = fitted(folder, "last-turn").score([replace(EXAMPLES[0], response=" "), EXAMPLES[1]])
    assert scores[0] == -1
    assert scores[1] > -1


def test_hostile_text_never_raises(folder: Path) -> None:
    texts = ["a" * 5000, "\u200b", "﷽" * 50, "<script>", "lone \ud800", "?!", "tea " * 500]
    examples = [Example(str(n), (other,), text, (other,)) for n, text in enumerate(texts) for other in texts]
    for against in ("references", "last-turn"):
        assert np.isfinite(fitted(folder, against).score(examples)).all()


def test_saved_and_loaded_without_the_encoder(tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "tiny")
    evaluator = fitted(encoder, "last-turn")
    evaluator.save(tmp_path / "saved")
    for path in encoder.iterdir():
        path.unlink()
    loaded = EncoderCosine.load(tmp_path / "saved")
    np.testing.assert_array_equal(loaded.score(EXAMPLES), evaluator.score(EXAMPLES))
    assert loaded.signature == evaluator.signature
    assert loaded.needs == evaluator.needs
    assert not len(loaded.trained_contexts)


def test_a_folder_is_loaded_by_its_name(folder: Path, tmp_path: Path) -> None:
    fitted(folder).save(tmp_path / "saved")
    assert isinstance(rejoinder.load(tmp_path / "saved"), EncoderCosine)


def test_the_signature_knows_the_weights(folder: Path, tmp_path: Path) -> None:
    first = fitted(folder).signature
    assert "encoder:tiny@" in first
    assert str(folder) not in first
    other = shutil.copytree(folder, tmp_path / "tiny")
    assert fitted(other).signature == first
    weights = load_file(other / "model.safetensors")
    weights["embeddings.LayerNorm.bias"][0] += 1
    save_file(weights, other / "model.safetensors", {"format": "pt"})
    assert fitted(other).signature != first


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"against": "context"}, "against must be one of references, last-turn"),
        ({"refs": "centroid"}, "refs must be one of max, mean"),
        ({"max_length": 2}, "max_length must be at least 4"),
    ],
)
def test_wrong_parameters(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(CallError, match=message):
        EncoderCosine(encoder="any", **parameters)  # type: ignore[arg-type]


def test_by_name_it_can_be_used_at_once(folder: Path) -> None:
    """Nothing is learned, so it need not be trained and saved first."""
    expected = fitted(folder).score(EXAMPLES)
    spec = f"encoder-cosine(encoder='{folder}', max_length=32)"
    np.testing.assert_array_equal(rejoinder.score(EXAMPLES, {"cosine": spec})["cosine"], expected)
    ensemble = rejoinder.load(f"ensemble(members=[length, {spec}])")
    assert ensemble.members == ("length", f"encoder-cosine(encoder={folder}, max_length=32)")
