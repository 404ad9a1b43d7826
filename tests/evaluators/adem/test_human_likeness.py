"""The judge that tells people's replies from those of models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.adem.baselines import HumanLikeness, people_and_models, pooled
from rejoinder.models.sentence_encoders import StoredVectors
from rejoinder.types import Example
from tiny_vectors import tiny_characters

GENERIC = "i do not know"


def pool(count: int = 60) -> list[Example]:
    """People say something of their own, a model says the same to every third context, and random replies are both."""
    items = []
    for row in range(count):
        context = (f"question {row}",)
        items.append(Example(f"h{row}", context, f"answer of {row}", (), "true"))
        items.append(Example(f"m{row}", context, GENERIC if row % 3 else f"reply {row}", (), "hred"))
        items.append(Example(f"r{row}", context, f"other {row}", (), "random"))
    return items


def encoder(folder: Path) -> str:
    """Random vectors: nothing but what is said again and again tells a model."""
    rng = np.random.default_rng(0)
    texts = dict.fromkeys(text for item in pool() for text in (item.context, item.response))
    StoredVectors.of({text: rng.normal(size=20) for text in texts}, "random|1").save(folder)
    return str(folder)


def test_a_generic_reply_scores_low(tmp_path: Path) -> None:
    evaluator = HumanLikeness(encoder=encoder(tmp_path / "vectors")).fit((), pooled(pool()))
    by_system = {
        name: evaluator.score([item for item in pool() if item.system == name and item.response != GENERIC])
        for name in ("true", "hred")
    }
    generic = evaluator.score([Example("0", ("question 7",), GENERIC), Example("1", ("question 9",), GENERIC)])
    assert generic.max() < 0.1 < by_system["hred"].mean() < by_system["true"].mean()


def test_what_it_learns_from(tmp_path: Path) -> None:
    assert people_and_models(pool()) == (60, 60)
    folder = encoder(tmp_path / "vectors")
    with pytest.raises(NeedsError, match=r"replies of people \(true, human, ground-truth\) and of others"):
        HumanLikeness(encoder=folder).fit((), pooled(item for item in pool() if item.system != "true"))
    nameless = [*pool(), Example("?", ("question 1",), GENERIC)]
    with pytest.raises(NeedsError, match="1 replies do not say who wrote them"):
        HumanLikeness(encoder=folder).fit((), pooled(nameless))
    without = HumanLikeness(encoder=folder).fit((), pooled(item for item in pool() if item.system != "random"))
    whole = HumanLikeness(encoder=folder).fit((), pooled(pool()))
    np.testing.assert_array_equal(without.weights_, whole.weights_)
    other_way = HumanLikeness(encoder=folder, human=("hred",)).fit((), pooled(pool()))
    assert other_way.score([Example("0", ("question 7",), GENERIC)])[0] > 0.9


@pytest.mark.parametrize("given", [{"components": 0}, {"strength": 0.0}, {"human": ()}, {"human": ("random",)}])
def test_wrong_parameters(given: dict[str, object]) -> None:
    with pytest.raises(CallError, match="human-likeness"):
        HumanLikeness(encoder=tiny_characters(), **given)  # type: ignore[arg-type]
