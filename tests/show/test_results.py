"""What every result can do, whatever it is about, also where names and texts are hostile."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rejoinder
from rejoinder.comparing.history import History
from rejoinder.comparing.pairwise import Flips, PairwisePreferences
from rejoinder.comparing.release import Release
from rejoinder.data.convert import Conversion
from rejoinder.evaluators.calibration import Calibration, CalibrationCurve
from rejoinder.judge.cost import AskingPlan as JudgePlan
from rejoinder.judge.cost import CostPlan
from rejoinder.replies.pool import PoolSummary, Replies
from rejoinder.scoring.doctor import Installation
from rejoinder.scoring.table import ScoreTable
from rejoinder.show.document import ALL_FORMS, Document, Figures, Result, Say, Section, Table, VerdictText
from rejoinder.show.forms import terminal_text
from rejoinder.show.text import latex_safe, width
from rejoinder.stats.intervals import Interval
from rejoinder.training.calibrate import Calibrated
from rejoinder.trusting.cross_validation import Experiment
from rejoinder.trusting.probing import PROBES, TableResult
from rejoinder.types import Example

BAD = "<script>bad()</script>"
BOT = "my_bot 100% & {c} ~^$#"
RED = "\x1b[31mred | `x` *b*"
NAMES = (BAD, BOT, RED)
WORDS = "cat dog tree house river cloud stone bread chair lamp road field".split()


def records(systems: tuple[str, ...] = NAMES, dimension: str = "overall", seed: int = 0) -> list[dict[str, Any]]:
    """Systems that answered the same contexts, the later ones at more length, with two ratings each."""
    rng = np.random.default_rng(seed)
    return [
        {
            "id": f"{context} {place}",
            "context": [f"what of {context}? {BAD}"],
            "response": " ".join([f"secret{context}", RED, *rng.choice(WORDS, 3 + 5 * place)]),
            "references": [" ".join(rng.choice(WORDS, 8))],
            "system": system,
            "topic": BAD if context % 2 else BOT,
            "scores": {dimension: np.clip(rng.normal(2 + place, 0.7, 2), 1, 5).round().tolist()},
        }
        for context in range(14)
        for place, system in enumerate(systems)
    ]


def made_release(name: str, mean: float, day: int) -> Release:
    scores = mean + 0.3 * np.sin(np.arange(40) * (1 + 0.1 * day))
    ids = [str(row) for row in range(40)]
    table = ScoreTable({BOT: scores}, {BOT: "m|v:1"}, (name,), np.zeros(40, np.int32), ids)
    return Release(name, f"2026-01-{day:02}T10:00:00.000+00:00", table, ids, [""] * 40)


@cache
def preferences() -> rejoinder.Preferences:
    pairs = [(BAD, BOT), (BOT, RED), (BAD, RED)]
    judged = [
        {"context": [str(n)], "a": a, "b": b, "winner": (a, b, "tie")[n % 5 % 3], "rater": BAD}
        for n in range(30)
        for a, b in pairs
    ]
    return rejoinder.prefer(judged, resamples=50)


def calibrated() -> Calibrated:
    calibration = Calibration(CalibrationCurve((0.0, 1.0), (2.0, 4.0), (0.5, 0.5)), 2.0, 0.9, 100, 25, (1.0, 5.0))
    known, unknown = Interval(0.3, 0.1, 0.5), Interval(0.3, np.nan, np.nan)
    evaluator: Any = None
    return Calibrated(evaluator, BAD, calibration, {"pearson": (known, unknown)}, known, 2.0, 0.7, (BOT,))


def study(cls: type[TableResult] = TableResult) -> TableResult:
    rows: tuple[Any, ...] = ((BAD, 10, Interval(0.5, 0.1, 0.9)), (BOT, 20, Interval(np.nan, np.nan, np.nan)))
    return cls("x", BOT, RED, ("metric", BAD, "r"), rows, (f"{BAD} is {RED}.",))


ROOMS = {"comparing", "trusting", "people", "scoring", "training", "data", "replies", "faulting"}
MAKERS: dict[str, Callable[[], Result]] = {
    "comparison of two": lambda: rejoinder.compare(
        records(NAMES[:2]), metrics=["length", "distinct-1"], by="topic", resamples=50
    ),
    "comparison of three": lambda: rejoinder.compare(
        records(), metrics=["distinct-1", "length"], labels=records(), resamples=50
    ),
    "scores": lambda: rejoinder.score(records(), ["length", "distinct-1"], resamples=50),
    "scores of one": lambda: rejoinder.score(records(NAMES[:1]), ["length", "bleu"], resamples=50),
    "faults": lambda: rejoinder.faults(
        [{**each, "context": ["Tea?"], "response": f"Yes, secret please, {{{{name}}}} {BAD}"} for each in records()]
    ),
    "trust": lambda: rejoinder.trust(
        records(dimension=BOT), metrics=["length", "distinct-1"], probes=tuple(PROBES), resamples=20
    ),
    "pooled": lambda: rejoinder.trust(records(), records(seed=1), metrics=["length", "distinct-1"], resamples=20),
    "history": lambda: History.of([made_release("1.0", 2.0, 1), made_release("1.1", 3.0, 2)]),
    "preferences": preferences,
    "pairwise": lambda: PairwisePreferences(
        preferences(), BAD, "judge|m:x", Flips(Interval(0.4, 0.2, 0.6), 0.1, 0.5, 30), 1, (RED,)
    ),
    "a metric": lambda: rejoinder.describe("bleu"),
    "all metrics": rejoinder.describe,
    "plan": lambda: rejoinder.plan(records(dimension=BAD), difference=0.3, systems=3),
    "plan of too few": lambda: rejoinder.plan(difference=0.1, sd=1.0, contexts=4),
    "precision of agreement": lambda: rejoinder.plan(agreement=0.7),
    "precision of a correlation": lambda: rejoinder.plan(correlation=0.4),
    "sample": lambda: rejoinder.sample(records(), 9),
    "agreement": lambda: rejoinder.agree(records(dimension=BAD), resamples=20),
    "calibrated": calibrated,
    "check": lambda: rejoinder.check(records()),
    "conversion": lambda: Conversion(f"{BAD}.jsonl", 10, 8, 1),
    "installation": lambda: Installation(
        "1", "3", BOT, {"numpy": "missing"}, {"train": ("torch",), "web": ()}, (), {RED: BAD}, None
    ),
    "replies": lambda: Replies([], PoolSummary(3, (BAD, RED), _tally(), {BOT: 2})),
    "cost": lambda: CostPlan({BAD: JudgePlan(3, 1, 200, 100, 0.5), BOT: JudgePlan(1)}),
    "no cost": lambda: CostPlan({}),
    "study": study,
    "experiment": lambda: study(Experiment),
}


def _tally() -> Any:
    from collections import Counter

    return Counter({f"replies:{BAD}": 3})


@cache
def made(name: str) -> Result:
    return MAKERS[name]()


every_result = pytest.mark.parametrize("name", MAKERS)


def subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for one in cls.__subclasses__():
        yield from (one, *subclasses(one))


def test_every_class_is_here() -> None:
    for module in pkgutil.walk_packages(rejoinder.__path__, "rejoinder."):
        if module.name.split(".")[1] in {
            "comparing",
            "trusting",
            "people",
            "scoring",
            "training",
            "data",
            "replies",
            "faulting",
        }:
            importlib.import_module(module.name)
    assert {type(made(name)) for name in MAKERS} == {*subclasses(Result)}


@every_result
def test_the_verdict_is_text_and_in_every_form_that_has_one(name: str) -> None:
    result = made(name)
    assert isinstance(result.verdict, str)
    assert isinstance(result.decided, bool)
    assert result.verdict == " ".join(result.sentences)
    assert isinstance(result.notes, tuple)
    told = result.to_dict()
    if "verdict" in told:
        assert told["verdict"] == result.verdict
        assert told["decided"] == result.decided
        assert told["notes"] == [*result.notes]
    else:
        assert result.decided


@every_result
def test_the_dictionary_is_json(name: str) -> None:
    told = made(name).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == json.loads(json.dumps(told))


@every_result
def test_the_text_is_safe_and_ends_with_the_notes(name: str) -> None:
    result = made(name)
    text = result.text()
    assert text.strip()
    assert str(result).startswith(text)
    assert str(result).count("Note: ") == len(result.notes)
    for shown in (str(result), result.text(details=True), result.to_markdown(), result.to_latex(), repr(result)):
        assert "\x1b" not in shown
    assert result.text(120, details=True).count("\n") >= text.count("\n") // 4


@every_result
@pytest.mark.parametrize("columns", [80, 120])
def test_what_is_fitted_keeps_to_the_width(name: str, columns: int) -> None:
    for block in made(name).document().shown_in("text"):
        if isinstance(block, VerdictText | Say | Table) and block.fit:
            text = terminal_text(Document("", [block]), columns, details=True)
            # One column of numbers stands beside the first columns even where names leave no room for it.
            left = block.left if isinstance(block, Table) else 0
            alone = left and len(re.split(r" {2,}", text.splitlines()[0].strip())) <= left + 1
            for line in text.splitlines():
                assert alone or width(line) <= columns, line


@pytest.mark.parametrize("columns", [80, 120])
def test_a_comparison_of_plain_names_keeps_to_the_width(columns: int) -> None:
    for systems in (("old", "new"), ("one", "two", "three", "four")):
        compared = rejoinder.compare(records(systems), metrics=["length", "distinct-1"], resamples=50)
        assert max(map(width, compared.text(columns, details=True).splitlines())) <= columns


@every_result
def test_the_name_for_a_debugger_is_short(name: str) -> None:
    shown = repr(made(name))
    assert shown.startswith(f"<{type(made(name)).__name__}")
    assert len(shown) < 180
    assert "\n" not in shown


@every_result
def test_a_notebook_shows_the_text(name: str) -> None:
    html: str = made(name)._repr_html_()
    assert html.startswith("<pre")
    assert "<script" not in html
    assert "\x1b" not in html


@every_result
def test_markdown_escapes_what_it_did_not_write(name: str) -> None:
    text = made(name).to_markdown()
    assert text.startswith("# ")
    assert "<script" not in text
    for part in text.split("\n\n"):
        if part.startswith("| "):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in part.splitlines()}) == 1, part


@every_result
def test_latex_is_balanced_and_escaped(name: str) -> None:
    latex = made(name).to_latex()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}")
    parts = latex.split("\n\n") if latex else []
    if not made(name).decided:
        assert parts.pop(0) == rf"\noindent\emph{{{latex_safe(made(name).sentences[0])}}}"
    for table in parts:
        columns = len(re.search(r"\\begin\{tabular\}\{([lr]+)\}", table)[1])  # type: ignore[index]
        inside = [line for line in table.splitlines() if line.endswith(r"\\")]
        for line in inside:
            bare = re.sub(r"\\[&%_#${}]|\\text(?:ascii\w+|backslash)\{\}|\\ldots\{\}|\$[^$&]{1,14}\$", "", line[:-2])
            assert bare.count("&") == columns - 1, line
            bare = re.sub(r"\\textbf\{([^{}]*)\}", r"\1", bare)
            assert not set(bare) & set("%_#${}~^\\→↓"), line


@every_result
def test_the_report_is_the_same_twice_and_escaped(name: str, tmp_path: Path) -> None:
    result = made(name)
    if isinstance(result, ScoreTable | rejoinder.Comparison):
        assert "secret1" in result.page()
    first, second = result.report(tmp_path / "a.html"), result.report(str(tmp_path / "b.html"), texts=False)
    page = first.read_text(encoding="utf-8")
    assert page == result.page()
    assert page.startswith("<!DOCTYPE html>")
    assert BAD not in page
    assert "\x1b" not in page
    assert "secret1" not in second.read_text(encoding="utf-8")
    shown = unescape(re.sub("<[^>]+>", "", re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)))
    for sentence in result.sentences if '<p class="answer"' in page else ():
        assert sentence.replace("\x1b", "\N{SYMBOL FOR ESCAPE}")[:600] in shown


@every_result
def test_a_report_goes_into_html_files_only(name: str, tmp_path: Path) -> None:
    with pytest.raises(rejoinder.CallError, match=r"cannot write \.txt"):
        made(name).report(tmp_path / "a.txt")


@every_result
def test_the_data_frame_has_numbers(name: str) -> None:
    frame = made(name).to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert bool(len(frame)) == any(table.rows for table in made(name).document().tables[:1])
    floats = frame.select(pl.col(pl.Float64))
    assert not any(floats[column].is_nan().any() for column in floats.columns)


@every_result
def test_a_figure_can_be_had_where_the_report_has_one(name: str) -> None:
    result = made(name)
    if result.document().panels:
        assert result.plot().svg.startswith("<svg")
        assert BAD not in result.plot().svg
    else:
        with pytest.raises(rejoinder.CallError, match="has no figure"):
            result.plot()


@every_result
def test_sections_are_shown_by_one_form_at_least(name: str) -> None:
    def check(blocks: Any) -> None:
        for block in blocks:
            if isinstance(block, Section | Table | Say | Figures):
                assert set(block.only) <= set(ALL_FORMS)
                assert block.only
            if isinstance(block, Section):
                check(block.blocks)

    check(made(name).document().blocks)


def test_undecided_results_say_so() -> None:
    assert not made("plan of too few").decided
    assert not made("pairwise").decided  # the judge contradicts itself
    assert made("plan").decided


def test_the_names_before_this_version_work_with_a_warning() -> None:
    for old, (new, _) in rejoinder._FORMER.items():
        with pytest.warns(FutureWarning, match=f"rejoinder.{old} is now rejoinder.{new}"):
            former = getattr(rejoinder, old)
        assert old == "meta_evaluate" or former is getattr(rejoinder, new)
    for name, old_method in (("comparison of two", "headline"), ("trust", "headline"), ("history", "headline")):
        with pytest.warns(FutureWarning, match=r"headline\(\) is now"):
            told = getattr(made(name), old_method)()
        assert (told if isinstance(told, str) else " ".join(told)) == made(name).verdict
    for name in ("plan", "precision of agreement"):
        with pytest.warns(FutureWarning, match=r"recommendation\(\) is now verdict"):
            assert made(name).recommendation() == made(name).verdict  # type: ignore[attr-defined]


def test_scores_of_several_systems_are_compared_in_their_report() -> None:
    page = made("scores").page()
    assert "Which of the 3 systems is best?" in page
    assert made("scores").to_polars().columns[:2] == ["id", "system"]
    assert page == rejoinder.compare(scores=made("scores")).page(title="Reply scores")


def test_the_examples_of_a_check_are_texts() -> None:
    found = made("check")
    assert isinstance(found, rejoinder.DataCheck)
    assert isinstance(found.first[0], Example)
    assert "secret0" in found.page()
    assert "secret0" not in found.page(texts=False)
