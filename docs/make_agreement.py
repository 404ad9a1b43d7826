"""Copies measured agreement with people to where it is shown: `python docs/make_agreement.py`.

The figures are those of results/evaluator-figures.json and, for `default` and `default-large`, of
results/default-blend.md.

They go into src/rejoinder/resources/agreement.json, which `rejoinder metrics NAME` shows, and into the tables of the
README and of guide/choosing-a-metric.md. Tests compare these with the figures, so that they cannot become outdated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- agreement -->\n", "<!-- end of agreement -->"

DOCS = Path(__file__).parent
FIGURES = DOCS / "results" / "evaluator-figures.json"
BLEND = DOCS / "results" / "default-blend.md"
RESOURCE = DOCS.parent / "src" / "rejoinder" / "resources" / "agreement.json"

MEASURED = {
    "default, as it ships": ("default@1", "default@1"),
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

BLENDED = {"default": "default@3", "default-large": "default-large"}
"""Evaluators that are fitted on ratings of all sets, so that each set is left out in turn -> their column of BLEND."""

TABLES = (DOCS.parent / "README.md", DOCS / "guide" / "choosing-a-metric.md")
"""Pages with a table of the agreement, between two comments."""

COLUMNS = {
    "zhao2020_dailydialog": "DailyDialog (Zhao et al. 2020)",
    "zhao2020_personachat": "PersonaChat (Zhao et al. 2020)",
    "gupta2019_dailydialog": "DailyDialog (Gupta et al. 2019)",
    "humod": "HUMOD (Merdivan et al. 2020)",
}
"""Sets in these tables."""

ROWS = (
    "default-large",
    "default",
    "default@1",
    "encoder-cosine",
    "default-fast",
    "embedding-average",
    "meteor",
    "rouge-l",
    "bleu",
)
"""Metrics in these tables, each with the setting that was measured first."""

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
    dimensions = {row["judged"]: row["dimension"] for rows in reversed(figures.values()) for row in reversed(rows)}
    return {**{name: list(_blended(name, dimensions)) for name in BLENDED}, **found}


def _blended(name: str, dimensions: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Rows of the table of results/default-blend.md that has the evaluator before the gain."""
    table = BLEND.read_text(encoding="utf-8").partition(f"| `{BLENDED[name]}` | gain |")[2].partition("\n\n")[0]
    row = re.compile(r"^\| (\w+).*? \| ([\d,]+) \|(?: \S+ \|)+ (\S+) \[(\S+), (\S+)\] \|", re.MULTILINE)
    for judged, replies, *spearman in row.findall(table):
        if judged in dimensions and judged not in BY_CONSTRUCTION:
            yield {
                "measured": f"{name} fitted on the other sets",
                "judged": judged,
                "dimension": dimensions[judged],
                "replies": int(replies.replace(",", "")),
                "spearman": [float(number) for number in spearman],
            }


def table() -> str:
    """Metrics and their agreement on some sets, as Markdown."""
    lines = ["| | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---|" * len(COLUMNS)]
    figures = agreement()
    for name in ROWS:
        measured = figures[name][0]["measured"]
        cells = {each["judged"]: each["spearman"] for each in figures[name] if each["measured"] == measured}
        shown = [_shown(cells[key]) if key in cells else "not measured" for key in COLUMNS]
        lines.append(f"| {_in_code(measured)} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def _in_code(measured: str) -> str:
    name, *setting = measured.split(maxsplit=1)
    return " ".join([f"`{name}`", *setting])


def _shown(spearman: list[float]) -> str:
    estimate, low, high = spearman
    return f"{estimate:.2f} [{low:.2f}, {high:.2f}]"


def with_table(page: str) -> str:
    """A page with the table between its two comments."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


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
        "spearman": [round(cell["spearman"][key], 6) for key in ("estimate", "low", "high")],
    }


if __name__ == "__main__":
    RESOURCE.write_text(json.dumps(agreement(), indent=1) + "\n", encoding="utf-8")
    for page in TABLES:
        page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
