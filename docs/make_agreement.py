"""Writes src/rejoinder/resources/agreement.json, which `rejoinder metrics NAME` shows, from the figures in results/:

    python docs/make_agreement.py

A test compares the file with `agreement()`, so that it cannot become outdated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FIGURES = DOCS / "results" / "evaluator-figures.json"
RESOURCE = DOCS.parent / "src" / "rejoinder" / "resources" / "agreement.json"

MEASURED = {
    "default, as it ships": ("default", "default"),
    "default-fast, as it ships": ("default-fast", "default-fast"),
    "BLEU-2": ("bleu", "bleu-2"),
    "ROUGE-L": ("rouge-l", "rouge-l"),
    "METEOR": ("meteor", "meteor"),
    "embedding average": ("embedding-average", "embedding-average"),
    "cosine, minilm": ("encoder-cosine", "encoder-cosine with all-MiniLM-L6-v2"),
    "mpnet, zero labels": ("encoder", "encoder from all-mpnet-base-v2, trained without ratings"),
    "mpnet, with labels": ("encoder", "encoder from all-mpnet-base-v2, trained with ratings of the same set"),
}
"""Column of the figures -> registered name, and the setting that was measured."""

BY_CONSTRUCTION = {"dailydialogpp_dev"}
"""Sets whose labels are not ratings by people."""


def agreement() -> dict[str, list[dict[str, Any]]]:
    """Registered name -> its agreement with people on each set."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in MEASURED.values()}
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for row in (row for rows in figures.values() for row in rows if row["judged"] not in BY_CONSTRUCTION):
        for cell in row["cells"]:
            if cell["scorer"] in MEASURED and "spearman" in cell:
                name, setting = MEASURED[cell["scorer"]]
                if not _is_part(row["judged"], setting, found[name]):
                    found[name].append(_figure(setting, row, cell))
    return found


def _is_part(judged: str, setting: str, before: list[dict[str, Any]]) -> bool:
    """Whether a published test split belongs to a set that was measured as a whole."""
    whole = judged.removesuffix("/test")
    return whole != judged and any((each["measured"], each["judged"]) == (setting, whole) for each in before)


def _figure(setting: str, row: dict[str, Any], cell: dict[str, Any]) -> dict[str, Any]:
    return {
        "measured": setting,
        "judged": row["judged"],
        "dimension": row["dimension"],
        "replies": cell["scored"],
        "spearman": [round(cell["spearman"][key], 3) for key in ("estimate", "low", "high")],
    }


if __name__ == "__main__":
    RESOURCE.write_text(json.dumps(agreement(), indent=1) + "\n", encoding="utf-8")
