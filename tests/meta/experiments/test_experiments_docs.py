"""The code in docs/reference/experiments.md runs as it stands."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from places import DOCS

PAGE = DOCS / "reference" / "experiments.md"


def write_judged(path: Path, dimension: str, contexts: int, name: str) -> None:
    """Longer replies are rated higher; the split is by reply, as in zhao2020."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        for row in range(3 * contexts):
            length = int(rng.integers(1, 12))
            record = {
                "id": f"{name}-{row}",
                "context": [f"{name} number {row // 3}"],
                "response": " ".join(["word"] * length),
                "system": "abc"[row % 3],
                "scores": {dimension: [round(1 + length / 4 + rng.normal(0, 0.5), 2) for _ in range(2)]},
                "split": ["train", "valid", "test"][row % 3],
            }
            file.write(json.dumps(record) + "\n")


@pytest.mark.slow
def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_judged(tmp_path / "judged.jsonl", "overall", 20, "ours")
    write_judged(tmp_path / "other.jsonl", "coherence", 15, "theirs")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 10
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path("page.py")
    printed = capsys.readouterr().out
    for words in ("60 of 60 test replies", "all folds", "at random", "30 labels", "theirs", "split is by reply"):
        assert words in printed
    assert len((tmp_path / "experiment" / "cells.jsonl").read_text().splitlines()) == 5
