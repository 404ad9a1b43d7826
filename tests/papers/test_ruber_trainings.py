"""What a page of RUBER says about the training of its models: what all share, and what differs from row to row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from papers.documents import Document
from papers.ruber import trainings as page
from papers.ruber.models import CORPORA
from places import DOCS
from rejoinder.evaluators.ruber.network import PairShape
from rejoinder.evaluators.ruber.ruber import Ruber

SAME: dict[str, Any] = {"speaker": 30, "units": 64, "dropout": 0.2}
SHAPES = {
    "GRU": PairShape(words=9, dims=50, hidden=64, context_hidden=64, **SAME),
    "hierarchical": PairShape(words=9, dims=256, hidden=160, layers=2, context_hidden=320, hierarchical=True, **SAME),
    "MiniLM": PairShape(dims=384, hidden=64, context_hidden=64, **SAME),
}
STARTED = {"hierarchical": "hred/"}


class Fitted(SimpleNamespace):
    """Something that looks like a fitted Ruber to the page."""

    @classmethod
    def of(cls, encoder: str, **parameters: Any) -> Fitted:
        unfitted = Ruber(encoder=encoder.lower(), start=STARTED.get(encoder, "none"), **parameters)
        return cls(
            **unfitted.parameters,
            turns_read=unfitted.turns_read,
            fitted=SimpleNamespace(dialogues=1000),
            scorer_=SimpleNamespace(network=SimpleNamespace(shape=SHAPES[encoder])),
        )


def made(name: str, **differing: Any) -> list[str]:
    """The blocks of a page; `differing`: encoder -> its learning rate."""
    models = {encoder: Fitted.of(encoder, learning_rate=differing.get(encoder, 2e-3)) for encoder in SHAPES}
    study: Any = SimpleNamespace(
        encoders=tuple(SHAPES), replies={}, models=SimpleNamespace(model=lambda _, encoder: models[encoder])
    )
    document = Document(name)
    page.trainings(study, document)
    return document.blocks


def cells(table: str) -> list[dict[str, str]]:
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_sizes_are_those_of_the_fitted_network() -> None:
    rows = cells(made("ruber-transfer")[0])
    assert len(rows) == len(CORPORA) * len(SHAPES)
    assert {row["encoder"]: [row[name] for name in page.SIZES] for row in rows} == {
        "GRU": ["50", "1 x 64", "-"],
        "hierarchical": ["256", "2 x 160", "2 x 320"],
        "MiniLM": ["-", "-", "-"],
    }
    assert {row["encoder"]: row["started from"] for row in rows}["hierarchical"] == "a trained `hred`"


def test_only_what_all_models_share_is_called_shared() -> None:
    shared = made("ruber-transfer")[1]
    assert shared.startswith("Settings of all: `vectors=")
    assert "`learning_rate=0.002`" in shared
    assert "hidden" not in shared
    assert "learning_rate" not in made("ruber-transfer", MiniLM=1e-3)[1]


def test_the_page_with_tuned_models_says_how_they_are_tuned() -> None:
    tuning = "Tuning on ratings: `label_epochs=30`, `label_rate=0.0003`, batches of 30."
    assert made("ruber-figures")[2] == tuning
    assert not any("Tuning" in block for block in made("ruber-transfer"))
    assert tuning in (DOCS / "results" / "ruber-figures.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoder", ["GRU", "MiniLM"])
def test_the_committed_page_has_the_columns_of_the_code(encoder: str) -> None:
    blocks = (DOCS / "results" / "ruber-figures.md").read_text(encoding="utf-8").split("\n\n")
    (table,) = (block for block in blocks if block.startswith("| corpus | encoder | dialogues |"))
    expected = cells(made("ruber-figures")[0])
    assert list(cells(table)[0]) == list(expected[0])
    found = [[row[name] for name in page.SIZES] for row in cells(table) if row["encoder"] == encoder]
    assert found == [[row[name] for name in page.SIZES] for row in expected if row["encoder"] == encoder]
