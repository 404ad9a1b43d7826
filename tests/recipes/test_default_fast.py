"""The recipe of the fast evaluator, with a few dialogues."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import rejoinder
from recipes import default_fast
from rejoinder.types import Example
from tiny_encoder import dialogues


def test_a_fast_evaluator_is_trained(tmp_path: Path) -> None:
    file = tmp_path / "dialogues.jsonl"
    file.write_text("".join(json.dumps({"turns": dialogue.turns}) + "\n" for dialogue in dialogues()))
    folder = str(tmp_path / "fast")
    default_fast.main(["train", "default-fast", "--dialogues", str(file), "--contexts", "10", "-o", folder])
    [score] = rejoinder.load(folder).score([Example("", ("tell me about tea",), "well tea is what i like")])
    assert 1 <= score <= 5


def test_principal_components_are_in_order_of_variance() -> None:
    drawn = np.random.default_rng(0).normal(size=(200, 4)) * [1, 5, 3, 0.1]
    reduced = default_fast.principal(drawn.astype(np.float32), 2)
    np.testing.assert_allclose(reduced.std(axis=0), [5, 3], rtol=0.2)
