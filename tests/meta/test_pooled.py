"""Several judged sets: correlations pooled over them, as text, JSON, LaTeX and a report."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.cli import main
from rejoinder.show.document import Document
from rejoinder.show.figures import IntervalPanel
from rejoinder.show.forms import terminal_text
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.pooled import forest


def judged(slope: float, seed: int, dimensions: tuple[str, ...] = ("overall",), n: int = 60) -> list[dict[str, Any]]:
    """Replies whose rating rises with their length by `slope`, plus noise."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, n)
    ratings = slope * (lengths - 15) / 9 + rng.normal(size=(len(dimensions), n))
    return [
        {
            "id": str(row),
            "context": [f"{seed}.{row // 2}"],
            "response": "word " * int(lengths[row]),
            "system": f"s{row % 2}",
            "scores": {name: float(ratings[place, row]) for place, name in enumerate(dimensions)},
        }
        for row in range(n)
    ]


def files(folder: Path) -> list[str]:
    for name, slope, seed in (("one", 0.4, 1), ("two", 0.6, 2), ("three <b>", 0.9, 3)):
        lines = "".join(json.dumps(record) + "\n" for record in judged(slope, seed))
        (folder / f"{name}.jsonl").write_text(lines)
    return [str(folder / f"{name}.jsonl") for name in ("one", "two", "three <b>")]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> rejoinder.PooledTrust:
    folder = tmp_path_factory.mktemp("sets")
    return rejoinder.trust(*files(folder), metrics=["length", "distinct-1"], resamples=50)


def test_the_mean_lies_between_the_sets(analysis: rejoinder.PooledTrust) -> None:
    row = analysis.rows[0]
    estimates = [interval.estimate for interval in row.sets.values()]
    assert list(row.sets) == ["one", "two", "three <b>"]
    assert min(estimates) < row.pooled.mean.estimate < max(estimates)
    assert row.pooled.prediction.low < row.pooled.mean.low
    own = analysis.reports["two"].dimensions[0].utterance.rows[0].measured["spearman"].interval
    assert row.sets["two"] == own


def test_the_forms_agree(analysis: rejoinder.PooledTrust) -> None:
    values = analysis.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert str(analysis).startswith(values["verdict"])
    assert values["verdict"].startswith("length has the highest mean correlation with people over 3 judged sets")
    mean = values["metrics"]["length"]["mean"]["estimate"]
    assert f"{mean:.3f}" in str(analysis)
    assert f"{mean:.3f}" in analysis.to_latex()


def test_the_report_has_a_forest_plot_per_metric(analysis: rejoinder.PooledTrust) -> None:
    html = analysis.page()
    assert "Forest plots" in html
    assert html.count("a new set</text>") == 2
    assert "three &lt;b&gt;" in html
    assert "three <b>" not in html


def test_sets_without_an_overall_dimension_use_their_first() -> None:
    analysis = rejoinder.trust(
        judged(0.5, 1), judged(0.5, 2, ("relevance", "fluency")), metrics=["length"], resamples=50
    )
    assert "B: uses the dimension relevance, the first of relevance, fluency" in analysis.notes
    assert math.isnan(analysis.rows[0].pooled.prediction.low)  # two sets say nothing about a third
    assert "new set is expected" not in analysis.verdict


def test_the_verb_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert main(["trust", *files(tmp_path)[:2], "-m", "length", "--resamples", "50", "--report", str(page)]) == 0
    assert "mean of all sets" in capsys.readouterr().out
    assert "Forest plots" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--probe", "noise"], "scores and probes need a single set of judged replies, found 3"),
        (["--scores", "x"], "scores and probes need a single set of judged replies, found 3"),
        (["--dimension", "wit"], "unknown dimension of"),
    ],
)
def test_wrong_calls(extra: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", *files(tmp_path), "-m", "length", *extra]) == 2
    assert message in capsys.readouterr().err


def test_wrong_calls_from_python(tmp_path: Path) -> None:
    one, two, _ = files(tmp_path)
    with pytest.raises(rejoinder.CallError, match="expected at least one set"):
        rejoinder.trust()  # type: ignore[call-overload]
    with pytest.raises(rejoinder.CallError, match="a judged set is given twice"):
        rejoinder.trust(one, one)
    with pytest.raises(rejoinder.CallError, match="kind must be 'pearson', 'spearman' or 'kendall', not 'r'"):
        rejoinder.trust(one, two, kind="r")


def test_a_forest_plot_as_text() -> None:
    panel = IntervalPanel("m", (("a", Interval(0.5, 0.0, 1.0)), ("b", Interval(1.0, math.nan, math.nan))))
    lines = terminal_text(Document("", [forest(panel, width=11)]), 80).splitlines()
    assert lines[0].startswith("m  0.00   1.00")
    assert "─────●─────" in lines[2]
    assert "┊         ●" in lines[3]
