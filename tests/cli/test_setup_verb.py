"""`rejoinder setup`: wrong calls. What it writes is tested in tests/training/test_setup.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rejoinder.registry import TEMPLATES, template_folder

if TYPE_CHECKING:
    from running import Run


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("default-larg",), "did you mean default-large"),
        (("default-large", "--mpnet", "nowhere", "--smollm2", "nowhere"), "no model 'nowhere'"),
    ],
)
def test_wrong_calls(run: Run, tmp_path: Path, call: tuple[str, ...], message: str) -> None:
    ran = run("setup", *call, "-o", "large")
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "large").exists()


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_small_and_has_a_card(name: str) -> None:
    folder = template_folder(name)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 200_000
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["digests"].keys() == TEMPLATES[name].keys()
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert all(part in card for part in ("Licence", "Trained on", "Known failures", "How to make it"))
