"""Skip-thought: it memorises neighbouring turns, its score is the cosine of its vectors, its folder is an encoder."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs what training needs")

import rejoinder  # noqa: E402
from rejoinder.errors import CallError, NeedsError  # noqa: E402
from rejoinder.evaluators.simple import SkipThought  # noqa: E402
from rejoinder.learning.run import TrainingRun  # noqa: E402
from rejoinder.models.recurrent import NetworkSizes, SkipThoughtNetwork  # noqa: E402
from rejoinder.models.sentence_encoders import sentence_encoder  # noqa: E402
from rejoinder.models.token_dialogues import TokenDialogue, token_dialogues  # noqa: E402
from rejoinder.replies.neural_training import likelihood  # noqa: E402
from rejoinder.text.vocabulary import END  # noqa: E402
from rejoinder.types import Dialogue, Example  # noqa: E402

THINGS = "tea rain chess bread music paper water stone river cloud".split()
DIALOGUES = [
    Dialogue(str(n), (f"Do you like {one}?", f"I like {THINGS[(3 * n + 1) % 10]}.", f"Thanks for {THINGS[n - 4]}."))
    for n, one in enumerate(THINGS)
]
EXAMPLES = [
    Example("1", ("hello",), "I like tea.", ("I like rain.", "Do you like tea?")),
    Example("2", ("hello",), "Thanks for paper.", ("Thanks for paper.",)),
    Example("3", ("hello",), "Is it?", ("I like water.",)),
]


def small(**parameters: Any) -> SkipThought:
    sizes = {"vocabulary": 400, "embedding": 24, "hidden": 40, "dropout": 0.0}
    return SkipThought(**{**sizes, "batch": 10, "learning_rate": 0.01, **parameters})


@cache
def fitted() -> SkipThought:
    return small(epochs=150).fit(DIALOGUES, seed=1)


@pytest.mark.slow
def test_neighbours_are_learned_by_heart() -> None:
    model = fitted()
    tokens = token_dialogues(DIALOGUES, model.vocabulary_, turns=40, longest=60)
    found = likelihood(model.network_, tokens)
    assert found.perplexity < 2
    assert found.replies == 40  # ten dialogues of three turns: two that come after, two that came before
    assert likelihood(model.network_, [TokenDialogue(one.turns[::-1], (1,)) for one in tokens]).perplexity > 10


def test_both_neighbours_are_predicted_from_the_turn_between() -> None:
    torch.manual_seed(0)
    network = SkipThoughtNetwork(NetworkSizes(tokens=12, embedding=6, hidden=8), longest=5).eval()
    one, two = (((5, 6, END), (7, END), (8, 9, END)), ((4, END), (10, 11, END)))
    with torch.no_grad():
        nats = network([TokenDialogue(one, (1, 2)), TokenDialogue(two, (1,))])
        cost = 0.0
        for turns in (one, two):
            for place, turn in enumerate(turns):
                vector = network.encode([(turn,)])
                if place + 1 < len(turns):
                    cost += float(network.decoder([turns[place + 1]], vector).sum())
                if place:
                    cost += float(network.previous([turns[place - 1]], vector).sum())
    assert float(nats.words) == pytest.approx(cost, rel=1e-5)
    assert (nats.tokens, nats.replies) == (2 + 3 + 3 + 2 + 3 + 2, 6)


def test_the_cosine_of_reply_and_nearest_reference() -> None:
    model = fitted()
    scores = model.score(EXAMPLES)
    for example, score in zip(EXAMPLES, scores, strict=True):
        own, *others = model.encode([example.response, *example.references]).astype(np.float64)
        cosines = [own @ other / np.linalg.norm(own) / np.linalg.norm(other) for other in others]
        assert score == pytest.approx(max(cosines), abs=1e-6)
    assert scores[1] == pytest.approx(1)
    assert np.ptp(scores) > 0.01
    odd = [replace(EXAMPLES[0], references=()), replace(EXAMPLES[0], references=(" ",))]
    assert np.isnan(model.score(odd)).all()


def test_the_folder_is_evaluator_and_encoder(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path / "skip")
    assert rejoinder.load(tmp_path / "skip") == model
    encoder = sentence_encoder(str(tmp_path / "skip"))
    texts = ["I like tea.", ("hello", "I like tea."), ""]
    np.testing.assert_array_equal(encoder.encode(texts), model.encode(texts))
    assert encoder.signature == model.signature
    np.testing.assert_array_equal(encoder.trained_contexts.keys, model.trained_contexts.keys)


def test_held_out_dialogues_decide_when_to_stop(capsys: pytest.CaptureFixture[str]) -> None:
    many = [replace(one, id=f"{one.id}-{n}") for n in range(4) for one in DIALOGUES]
    for count, held_out in ((19, False), (40, True)):
        small(epochs=1).fit(many[:count], seed=1, run=TrainingRun(quiet=False))
        assert ("log-likelihood per token" in capsys.readouterr().err) == held_out


def test_wrong_parameters_and_data() -> None:
    with pytest.raises(CallError, match="skip-thought: hidden must be even"):
        SkipThought(hidden=7)
    with pytest.raises(NeedsError, match="at least two turns"):
        small(epochs=1).fit([Dialogue("1", ("alone",))])
    with pytest.raises(CallError, match="is not fitted"):
        SkipThought().encode(["a"])
