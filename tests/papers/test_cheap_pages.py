"""The pages that take seconds are made again, and those that take minutes are checked for stale signatures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from papers.__main__ import main
from papers.am_fm.table_1 import METRICS, metric_of
from places import DOCS, JUDGED

RESULTS = DOCS / "results"


@pytest.mark.slow
@pytest.mark.skipif(not JUDGED.exists(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", ["rater-figures", "metric-figures"])
def test_a_page_and_the_code_agree(name: str, tmp_path: Path) -> None:
    made = tmp_path / f"{name}.md"
    where = ["--data", str(JUDGED.parent), "--cache", str(tmp_path / "cache")]
    assert main([name, *where, "-o", str(made)]) == 0
    for path in [made, *tmp_path.glob("*.svg")]:
        assert path.read_text(encoding="utf-8") == (RESULTS / path.name).read_text(encoding="utf-8"), path.name


@pytest.mark.skipif(not JUDGED.exists(), reason="needs ../shared/data")
def test_the_page_of_roberta_eval_and_the_code_agree(tmp_path: Path) -> None:
    """It is made from the learning curves next to it, without any model."""
    recorded = json.loads((RESULTS / "roberta-eval.json").read_text(encoding="utf-8"))
    home = tmp_path / "models" / "roberta-eval"
    for encoder, rows in recorded["curves"].items():
        (home / encoder).mkdir(parents=True)
        (home / encoder / "curve.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (home / "note.md").write_text(recorded["note"], encoding="utf-8")
    where = ["--data", str(JUDGED.parent), "--models", str(tmp_path / "models")]
    assert main(["roberta-eval", *where, "-o", str(tmp_path / "roberta-eval.md")]) == 0
    for name in ("roberta-eval.md", "roberta-eval.json", "roberta-eval-ranking.svg", "roberta-eval-labels.svg"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (RESULTS / name).read_text(encoding="utf-8"), name


def test_the_signatures_of_am_fm_table_1_are_todays() -> None:
    page = (RESULTS / "am-fm-table1.md").read_text(encoding="utf-8")
    found = re.findall(r"^- `(.*)`$", page, re.MULTILINE)
    untrained = [signature for signature in found if not signature.startswith("skip-thought|")]
    assert untrained == [metric_of(name).signature for name in METRICS.values()]
