"""The probability of whole texts, by a causal language model with a few thousand random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what training needs")
pytest.importorskip("transformers", reason="needs what training needs")

from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast  # noqa: E402

from rejoinder.errors import CallError  # noqa: E402
from rejoinder.evaluators.am_fm_parts import Fm  # noqa: E402
from rejoinder.folders.foreign import checked_source  # noqa: E402
from rejoinder.models.causal import CausalModel  # noqa: E402
from rejoinder.types import Example  # noqa: E402

WORDS = ["<unk>", "<start>", *"we send you the order number thank and wait a long time".split()]
TEXTS = ["we send you the order", "thank you", "", "wait a long time and send the order number", "you"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lm")
    tokeniser = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokeniser.pre_tokenizer = pre_tokenizers.Whitespace()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokeniser, unk_token="<unk>", bos_token="<start>")
    wrapped.save_pretrained(home)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(WORDS), n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=1)
    network = GPT2LMHeadModel(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.5)  # far from uniform, so that a wrong place shows
    network.save_pretrained(home)
    return home


def test_log_probs_are_sums_over_tokens(folder: Path) -> None:
    model = CausalModel.load(str(folder))
    expected = []
    for text in TEXTS:
        ids = [1, *(WORDS.index(word) for word in text.split())]
        with torch.no_grad():
            logs = model.network(torch.tensor([ids])).logits[0].log_softmax(-1)
        expected.append(sum(float(logs[place, word]) for place, word in enumerate(ids[1:])))
    np.testing.assert_allclose(model.log_probs(TEXTS), expected, atol=1e-4)
    np.testing.assert_allclose(model.log_probs(TEXTS[::-1]), model.log_probs(TEXTS)[::-1], atol=1e-4)
    assert model.log_probs(TEXTS)[2] == 0
    assert model.log_probs([]).shape == (0,)


def test_fluency_by_a_causal_model(folder: Path, tmp_path: Path) -> None:
    fm = Fm(lm=str(folder)).fit()
    logs = dict(zip(TEXTS, CausalModel.load(str(folder)).log_probs(TEXTS), strict=True))
    example = Example("1", (), TEXTS[0], (TEXTS[1], TEXTS[3]))
    own, *theirs = (logs[text] / len(text.split()) for text in (TEXTS[0], TEXTS[1], TEXTS[3]))
    expected = np.exp(-min(abs(own - each) for each in theirs))
    assert fm.score([example])[0] == pytest.approx(expected, abs=1e-5)
    assert f"|lm:{folder.name}@{fm.model_.digest}|" in fm.signature
    fm.save(tmp_path / "model")
    assert Fm.load(tmp_path / "model").score([example])[0] == pytest.approx(expected, abs=1e-5)


def test_models_that_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"no language model .*there is no such file or folder"):
        CausalModel.load(str(tmp_path / "nowhere"))


def test_gguf_files_are_found(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").touch()
    expected = (str(tmp_path), {"gguf_file": "a.gguf"})
    assert checked_source(tmp_path) == checked_source(tmp_path / "a.gguf") == expected
    assert checked_source(folder) == (str(folder), {})
    (tmp_path / "b.gguf").touch()
    with pytest.raises(CallError, match="contains 2 GGUF files: expected the path of one of them"):
        checked_source(tmp_path)


@pytest.mark.parametrize(
    "content", [b"GGUF", b"", b"GGUF\x03\x00\x00\x00", b"GGUF\x03\x00\x00\x00" + b"\xff" * 16, b"text" * 9]
)
def test_a_damaged_gguf_file_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(CallError, match=r"^the language model \S*m\.gguf cannot be loaded \([^\n]+\)$"):
        CausalModel.load(str(tmp_path / "m.gguf"))
