"""AM-FM's language models and the weights of its parts, by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rejoinder.arrays import Ragged
from rejoinder.errors import DataError, NeedsError
from rejoinder.evaluators.am_fm import AmFm, fitted_weights
from rejoinder.evaluators.am_fm_parts import NGRAM, CausalFluency, NgramFluency, learned_fluency, with_digest


def test_pruning_drops_pairs_of_words_only_if_it_is_wanted() -> None:
    sentences = Ragged.of([[0, 1, 2], [0, 1], [1, 2, 0]])
    options: dict[str, Any] = {"order": 2, "smoothing": "good-turing", "unknown": "open"}
    models = [learned_fluency(NGRAM, ["a", "b", "c"], sentences, pruning=by, **options) for by in (0.0, 0.9)]
    pairs = [len(model.model.levels[1]) for model in models if isinstance(model, NgramFluency)]
    # <s> a, a b, b c, c </s>, b </s>, <s> b, c a, a </s>
    assert pairs == [8, 0]


def test_the_signature_names_the_hash_of_a_causal_model() -> None:
    model = CausalFluency(SimpleNamespace(digest="0af3"))
    assert with_digest("fm|lm:/models/small|x:1", "lm", "/models/small", model) == "fm|lm:small@0af3|x:1"


def test_weights_are_those_of_the_highest_correlation() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(3, 1, 50)
    parts = np.stack([0.5 + 0.05 * human + rng.normal(0, 0.05, 50), 0.05 * human + rng.normal(0, 0.2, 50)], axis=1)
    grid = np.arange(101) / 100
    found = [np.corrcoef(weight * parts[:, 0] + (1 - weight) * parts[:, 1], human)[0, 1] for weight in grid]
    best = grid[int(np.argmax(found))]
    assert 0 < best < 1
    np.testing.assert_allclose(fitted_weights(parts, human, None, "arithmetic"), [best, 1 - best])


@pytest.mark.parametrize(("systems", "what"), [(None, "replies"), (np.array(["a", "b"]), "systems")])
def test_two_replies_or_systems_are_too_few(systems: Any, what: str) -> None:
    with pytest.raises(NeedsError, match=f"to 2 judged {what}: expected at least 3"):
        fitted_weights(np.ones((2, 2)), np.array([1.0, 2.0]), systems, "arithmetic")


@pytest.mark.parametrize("weights", [[-0.1, 1.1], [0.0, 0.0], [0.8], [0.5, 0.3, 0.2]])
def test_saved_weights_that_make_no_sense(weights: list[float], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be 2 weights that are not negative"):
        AmFm().load_learned(tmp_path, {"weights_": weights})


def test_a_saved_pragmatic_component_is_read_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "pm").mkdir()
    found = AmFm.saved_parameters({"pm": "/elsewhere", "weight": 0.5}, tmp_path)
    assert found == {"pm": str(tmp_path / "pm"), "weight": 0.5}
