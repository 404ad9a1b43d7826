"""What a number means: the scale, reference points and metrics that hardly agree with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.scoring.meaning import _caution, _scale, meaning
from rejoinder.scoring.table import ScoreTable


@dataclass
class Point:
    name: str
    mean: float


@dataclass
class Agreement:
    spearman: tuple[float, float, float]


def table(*labels: str) -> ScoreTable:
    scores = {label: np.array([1.0, 2.0]) for label in labels}
    signatures = {label: f"{label.split('-')[0]}|n:2|v:0" for label in labels}
    ranges = dict.fromkeys(labels, (1.0, 5.0))
    return ScoreTable(scores, signatures, ("x",), np.zeros(2, np.int32), ranges=ranges)


def test_the_scale_comes_with_reference_points() -> None:
    points = [Point("human replies", 3.456), Point("random replies", 1.2)]
    (said,) = _scale(table("default"), lambda _: points)
    assert said.startswith("default is on a scale from 1 to 5; ")
    assert said.endswith("human replies 3.46, random replies 1.20.")
    assert list(_scale(table("default"), lambda _: ())) == ["default is on a scale from 1 to 5."]
    assert list(_scale(table("bleu-2"), lambda _: points)) == []


def test_only_metrics_with_little_agreement_are_named() -> None:
    def measured(name: str) -> Sequence[Any]:
        known = {"bleu": [0.05, 0.1, 0.4], "meteor": [0.3]}.get(name, [])
        return [Agreement((estimate, 0.0, 1.0)) for estimate in known]

    (said,) = _caution(table("bleu-2", "meteor", "unknown"), measured)
    assert "bleu-2. " in said
    assert "meteor" not in said
    assert "unknown" not in said
    assert list(_caution(table("meteor"), measured)) == []


def test_a_table_without_known_metrics_needs_no_words() -> None:
    assert meaning(table("other")) == []
