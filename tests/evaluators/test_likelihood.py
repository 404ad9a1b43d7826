"""The likelihood of replies to a tiny language model: equal to the plain computation, whatever is shared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

import rejoinder
from rejoinder.data.dialogues import ReplyInContext
from rejoinder.errors import CallError
from rejoinder.evaluators.simple import Likelihood
from rejoinder.folders.foreign import quiet_transformers
from rejoinder.metrics.base import ScoreWarning
from rejoinder.metrics.batch import Batch
from rejoinder.models import causal
from rejoinder.models.causal import prefix_text
from rejoinder.types import Example
from tolerance import assert_same_scores

WORDS = ["<unk>", "A", "B", ":", "Ċ", *(f"{first}{last}" for first in "bcdfg" for last in "aeiouxyz")]
RNG = np.random.default_rng(0)


def words(most: int) -> str:
    return " ".join(WORDS[n] for n in RNG.integers(5, len(WORDS), RNG.integers(1, most)))


CONTEXTS = [tuple(words(12) for _ in range(turns)) for turns in (1, 2, 3, 5, 5)]
EXAMPLES = [Example(str(n), CONTEXTS[n % 5], words(9)) for n in range(25)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lm") / "tiny"
    torch.set_num_threads(1)
    torch.manual_seed(0)
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    # As byte-level tokenisers have it, a line break is a token of its own.
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Split("Ġ", "removed")]
    )
    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2
    )
    with quiet_transformers():
        network = LlamaForCausalLM(config)
        for weight in network.parameters():
            torch.nn.init.normal_(weight, std=0.5)
        network.save_pretrained(home)
    made.save(str(home / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}
    (home / "tokenizer_config.json").write_text(json.dumps(settings))
    return home


def plain_log(evaluator: Likelihood, prefix: str, reply: str) -> tuple[float, int]:
    """Without sharing, batches or cache: all in one pass; and how many tokens were counted."""
    tokeniser, network = evaluator.model_.tokeniser, evaluator.model_.network
    before = tokeniser(prefix, add_special_tokens=False)["input_ids"][-evaluator.max_context :]
    after = tokeniser(f" {reply}", add_special_tokens=False)["input_ids"][: evaluator.max_response]
    after += tokeniser("\n", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logs = network(input_ids=torch.tensor([before + after])).logits[0].log_softmax(-1)
    return sum(float(logs[len(before) + place - 1, token]) for place, token in enumerate(after)), len(after)


def expected(evaluator: Likelihood, example: Example) -> float:
    pair = ReplyInContext(example.context, example.speakers, example.response)
    given, tokens = plain_log(evaluator, prefix_text(pair, evaluator.turns), example.response)
    alone, _ = plain_log(evaluator, "A:", example.response)
    forms = {"conditional": given / tokens, "pmi": (given - alone) / tokens, "pmi-share": (given - alone) / -alone}
    lowest, highest = evaluator.range
    return min(max(forms[evaluator.form], lowest), highest)


def test_the_context_as_a_script() -> None:
    pair = ReplyInContext(("zero", "first  turn", "second", "third", "last\nof all"), (), "reply")
    assert prefix_text(pair, 4) == "A: first turn\nB: second\nA: third\nB: last of all\nA:"
    assert (
        prefix_text(pair._replace(speakers=("x", "y", "y", "x", "y")), 3) == "B: second\nA: third\nB: last of all\nA:"
    )


@pytest.mark.parametrize("form", ["conditional", "pmi", "pmi-share"])
def test_equal_to_the_plain_computation(folder: Path, form: str) -> None:
    evaluator = Likelihood(model=str(folder), form=form).fit()
    scores = evaluator.score(EXAMPLES)
    np.testing.assert_allclose(scores, [expected(evaluator, example) for example in EXAMPLES], atol=1e-4)
    assert np.ptp(scores) > 0.01


def test_long_contexts_and_replies_are_cut(folder: Path) -> None:
    evaluator = Likelihood(model=str(folder), form="conditional", max_context=7, max_response=3).fit()
    scores = evaluator.score(EXAMPLES)
    np.testing.assert_allclose(scores, [expected(evaluator, example) for example in EXAMPLES], atol=1e-4)
    assert len(evaluator.model_.tokeniser("A:\nB:", add_special_tokens=False)["input_ids"]) == 5


def test_neither_order_nor_company_matters(folder: Path) -> None:
    evaluator = Likelihood(model=str(folder)).fit()
    together = evaluator.score(EXAMPLES)
    assert_same_scores(evaluator.score(EXAMPLES[::-1])[::-1], together)
    assert_same_scores([evaluator.score([each])[0] for each in EXAMPLES], together)


def test_a_network_that_ignores_the_mask_reads_one_row_per_reply(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = Likelihood(model=str(folder), form="conditional").fit()
    usual = evaluator.score(EXAMPLES)
    rows: list[int] = []
    network = Likelihood(model=str(folder), form="conditional").fit().model_.network
    true_forward = type(network).forward

    def forward(self, input_ids=None, attention_mask=None, position_ids=None, logits_to_keep=0, **_):  # type: ignore[no-untyped-def]
        rows.append(len(input_ids))
        return true_forward(self, input_ids=input_ids, logits_to_keep=logits_to_keep)

    monkeypatch.setattr(type(network), "forward", forward)
    monkeypatch.delattr(network, "_reads_packed_rows", raising=False)
    np.testing.assert_allclose(evaluator.score(EXAMPLES), usual, atol=1e-4)
    assert max(rows) == len(EXAMPLES), "not packed"
    del network._reads_packed_rows


def test_two_forms_share_a_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = [Likelihood(model=str(folder), form=form).fit() for form in ("conditional", "pmi")]
    alone = [each.score_batch(Batch(EXAMPLES)) for each in forms]
    true_sums, calls = causal.log_likelihoods, []

    def counted(*arguments):  # type: ignore[no-untyped-def]
        calls.append(arguments)
        return true_sums(*arguments)

    monkeypatch.setattr(causal, "log_likelihoods", counted)
    shared = Batch(EXAMPLES)
    np.testing.assert_array_equal([each.score_batch(shared) for each in forms], alone)
    assert len(calls) == 2, "with the context once, and without it"


def test_empty_replies_and_missing_contexts(folder: Path) -> None:
    evaluator = Likelihood(model=str(folder), form="pmi").fit()
    odd = [replace(EXAMPLES[0], response=" "), EXAMPLES[1], replace(EXAMPLES[2], context=())]
    with pytest.warns(ScoreWarning, match="1 empty replies"):
        scores = evaluator.score(odd)
    assert scores[0] == -20
    assert np.isnan(scores).tolist() == [False, False, True]
    assert evaluator.score([]).shape == (0,)


def test_saved_and_loaded(folder: Path, tmp_path: Path) -> None:
    evaluator = Likelihood(model=str(folder), form="pmi").fit()
    evaluator.save(tmp_path / "saved")
    loaded = rejoinder.load(tmp_path / "saved")
    assert loaded == evaluator
    assert loaded.signature == evaluator.signature
    assert loaded.range == (-20.0, 20.0)
    np.testing.assert_array_equal(loaded.score(EXAMPLES), evaluator.score(EXAMPLES))
    config = tmp_path / "saved" / "config.json"
    config.write_text(config.read_text().replace(evaluator.model_.digest, "another"))
    with pytest.raises(CallError, match="is not the model that"):
        rejoinder.load(tmp_path / "saved")


def test_wrong_parameters(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="form must be one of conditional, unconditional, pmi, pmi-share"):
        Likelihood(model="any", form="ratio")
    with pytest.raises(CallError, match="turns must be at least 1"):
        Likelihood(model="any", turns=0)
    with pytest.raises(CallError, match="no language model"):
        Likelihood(model=str(tmp_path / "nowhere")).fit()
