"""All studies: their registry, their plain values, and real data on which they must agree with each other."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from places import DOCS, JUDGED
from probe_sets import cells, example, scored_set, words
from rejoinder.errors import UnknownNameError
from rejoinder.registry import load
from rejoinder.trusting.probing import PROBES, ScoredSet, TableResult, run_probe
from rejoinder.trusting.trust import Trust, trust

PAGE = DOCS / "reference" / "probes.md"
ZHAO = JUDGED / "zhao2020_dailydialog.jsonl.gz"


def small() -> ScoredSet:
    rng = np.random.default_rng(0)
    examples = [
        example(i, words(int(rng.integers(2, 30)), f"w{i % 7}"), [words(9, f"w{i % 7}")], of=i // 3) for i in range(60)
    ]
    examples[::10] = [example(i, words(9, f"w{i % 7}"), [words(9, f"w{i % 7}")], of=i // 3) for i in range(0, 60, 10)]
    metrics = {"rouge-l": load("rouge-l"), "length": load("length")}
    scores = {label: metric.score(examples) for label, metric in metrics.items()}
    return scored_set(examples, rng.integers(1, 6, 60), scores, metrics, resamples=40)


@pytest.mark.parametrize("name", PROBES)
def test_every_study_is_a_table_with_findings_and_a_figure(name: str) -> None:
    result = run_probe(name, small())
    assert result is not None
    assert result.name == name
    assert result.title
    assert result.source
    assert result.sentences
    assert result.panels
    assert len(set(result.header)) == len(result.header)
    assert all(len(row) == len(result.header) for row in result.rows)
    assert str(result).startswith(f"{result.title} (")
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert len(plain["rows"]) == len(result.rows)


@pytest.mark.parametrize("name", PROBES)
def test_a_study_of_too_little_is_none(name: str) -> None:
    scored = small()
    assert run_probe(name, scored.take(np.arange(5))) is None
    nobody = scored_set(scored.judged.examples, scored.human, {"m": np.full(60, np.nan)})
    assert run_probe(name, nobody) is None


def test_an_unknown_study_names_the_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="length-bias"):
        run_probe("lenght-bias", small())


@pytest.fixture(scope="module")
def zhao() -> Trust:
    if not ZHAO.exists():
        pytest.skip("the shared data are not here")
    return trust(ZHAO, metrics=["bleu-2", "rouge-l", "length"], probes=tuple(PROBES), resamples=30)


@pytest.mark.shared_data
def test_studies_of_real_data_agree_with_each_other_and_with_the_tables(zhao: Trust) -> None:
    (report,) = zhao.dimensions
    studies: dict[str, TableResult] = {study.name: study for study in report.probes}
    assert list(studies) == list(PROBES)
    for row in report.utterance.rows:
        linear, ranked = (row.measured[kind].interval.estimate for kind in ("pearson", "spearman"))
        assert cells(studies["scatter"], row.metric)["Pearson"] == pytest.approx(linear)
        assert cells(studies["without-true-replies"], row.metric)["Pearson"] == pytest.approx(linear)
        assert cells(studies["without-true-replies"], row.metric)["Spearman"] == pytest.approx(ranked)
        assert cells(studies["noise"], row.metric, "Spearman")["exact"] == pytest.approx(ranked)
    # The data has one true reply for each of 100 contexts, and it is the reference.
    assert studies["without-true-replies"].sentences[0].startswith("100 replies of 900 are true ones: 100 equal")
    assert "100 replies that equal a reference are left out" in studies["length-bias"].sentences[0]
    assert studies["missed-replies"].sentences[0].startswith("Of 800 replies")


@pytest.mark.shared_data
def test_overlap_metrics_on_real_data_do_what_the_papers_say(zhao: Trust) -> None:
    studies = {study.name: study for study in zhao.dimensions[0].probes}
    # Zhao et al. 2020, Table 1: referenced metrics lose most of their correlation without true replies.
    without = cells(studies["without-true-replies"], "bleu-2")
    assert without["Pearson without"] < without["Pearson"] / 2
    # Liu et al. 2016, Table 5: BLEU favours replies of the reference's length, people hardly do.
    assert any("more than people do: bleu-2" in finding for finding in studies["length-bias"].sentences)
    assert cells(studies["adversarial"], "length", "shuffle")["share unchanged"] == 1


def test_the_page_about_studies_names_all_of_them_and_its_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| \[`([a-z-]+)`\]\(#", page, re.MULTILINE) == list(PROBES)
    assert re.findall(r"^## ([a-z-]+)$", page, re.MULTILINE) == list(PROBES)
    scored = small()
    with (tmp_path / "judged.jsonl").open("w", encoding="utf-8") as file:
        for one, rating in zip(scored.judged.examples, scored.human.tolist(), strict=True):
            record = {"id": one.id, "context": one.context, "response": one.response, "references": one.references}
            file.write(json.dumps({**record, "scores": {"overall": [rating, rating]}}) + "\n")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path("page.py")
    printed = capsys.readouterr().out
    assert "Length bias (" in printed
    assert "adversarial does not apply" in printed
    assert (tmp_path / "trust.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_page_describes_every_column() -> None:
    sections = dict(
        re.findall(r"^## ([a-z-]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )
    for name in ("length-bias", "missed-replies", "spread", "adversarial"):
        result = run_probe(name, small())
        assert result is not None
        for column in result.header[1:]:
            assert column.removeprefix("Pearson ").removeprefix("Spearman ") in sections[name], (name, column)
