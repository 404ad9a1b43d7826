"""`plan`: from a pilot, from a stated spread, and for an interval; the forms agree; wrong calls are one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from places import JUDGED
from rejoinder.cli import main
from rejoinder.stats.planning import contexts_needed


def pilot(contexts: int = 200, raters: int = 3, seed: int = 0, *, shared: bool = True) -> list[dict[str, Any]]:
    """Two systems whose true difference has a variance of .5 over contexts; ratings have a noise of variance 1."""
    rng = np.random.default_rng(seed)
    records = []
    for context in range(contexts):
        for place, system in enumerate(("A", "B")):
            true = 3 + 0.5 * rng.normal() + 0.2 * place
            records.append(
                {
                    "id": f"{context}-{system}",
                    "context": [str(context) if shared else f"{context}-{system}"],
                    "response": "word " * int(rng.integers(1, 20) + place),
                    "system": system,
                    "scores": {"overall": (true + rng.normal(size=raters)).tolist()},
                }
            )
    return records


def test_a_pilot_and_its_spread_stated_give_the_same_plan() -> None:
    planned = rejoinder.plan(pilot(), difference=0.3)
    spread = planned.pilot.spread
    assert spread.between == pytest.approx(0.5, rel=0.35)
    assert spread.rating == pytest.approx(1.0, rel=0.1)
    stated = rejoinder.plan(difference=0.3, sd=spread.between**0.5, rater_sd=spread.rating**0.5)
    assert stated.needed(3) == planned.needed(3)
    assert planned.needed(1) == contexts_needed(0.3, (spread.between + 2 * spread.rating) ** 0.5)
    by_icc = rejoinder.plan(difference=0.3, sd=1.0, icc=0.25)
    assert by_icc.pilot.spread.rating == pytest.approx(1.5)


def test_the_recommendation_comes_first_and_says_all() -> None:
    text = str(rejoinder.plan(difference=0.25, sd=1.0, icc=0.4))
    assert text.startswith(
        "Collect 316 contexts with 1 rating per reply (632 labels) to detect a difference of 0.25 "
        "with 80% power at the 5% level.\n"
    )
    assert "uncertain: between" in rejoinder.plan(pilot(), difference=0.3).verdict


def test_few_contexts_need_more_raters() -> None:
    free = rejoinder.plan(difference=0.25, sd=1.0, icc=0.4)
    few = rejoinder.plan(difference=0.25, sd=1.0, icc=0.4, contexts=200)
    assert (free.recommended, few.recommended) == (1, 3)
    assert free.labels(1) < few.labels(3)
    too_few = rejoinder.plan(difference=0.25, sd=1.0, icc=0.4, contexts=50)
    assert too_few.recommended is None
    found = too_few.detectable(50, 10)
    assert f"with 10 ratings per reply is {found:.3g}." in too_few.verdict
    assert too_few.to_dict()["contexts"] is None


def test_more_systems_need_more_contexts() -> None:
    two, eight = (rejoinder.plan(difference=0.25, sd=1.0, systems=k) for k in (2, 8))
    assert eight.level == pytest.approx(0.05 / 28)
    assert eight.needed(1) > 1.5 * two.needed(1)
    assert "any two of 8 systems (28 comparisons, Holm)" in eight.verdict


def test_a_metric_has_no_raters() -> None:
    planned = rejoinder.plan(pilot(), difference=0.5, metric="length")
    assert planned.measured == "length"
    assert planned.raters == (1,)
    assert "label" not in str(planned)
    assert planned.to_dict()["labels"] is None


def test_what_the_pilot_cannot_say_is_a_note() -> None:
    once = rejoinder.plan(pilot(raters=1), difference=0.5)
    assert once.raters == (1,)
    assert "the effect of more raters is unknown" in once.notes[0]
    apart = rejoinder.plan(pilot(shared=False), difference=0.5)
    assert "counted per system" in apart.notes[0]
    assert " contexts per system with " in apart.verdict


def test_the_forms_agree() -> None:
    planned = rejoinder.plan(pilot(), difference=0.3)
    values = planned.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert f"Collect {values['contexts']:,.0f} contexts" in values["recommendation"]
    assert values["contexts_low"] < values["contexts"] < values["contexts_high"]
    assert values["labels"] == 2 * values["contexts"]
    row = next(row for row in values["table"] if row["raters"] == 3 and row["difference"] == 0.3)
    assert f" {row['contexts']:,.0f} " in planned.to_latex()
    assert f"{row['contexts']:,.0f}" in str(planned)
    half = [point["difference"] for point in values["curve"] if point["raters"] == 1]
    assert half == sorted(half, reverse=True)


def test_intervals_of_agreement_and_correlation() -> None:
    agreement = rejoinder.plan(agreement=0.7, raters=(3,))
    assert agreement.rows == ((3, 68.0),)  # as statpsych's size.ci.icc documents
    assert agreement.verdict.startswith("Collect 68 items with 3 raters each (204 labels)")
    correlation = rejoinder.plan(correlation=0.3, kind="pearson")
    assert correlation.to_dict()["table"] == [{"items": correlation.rows[0][1]}]
    assert r"pearson & 320 \\" in correlation.to_latex()


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "pilot.jsonl", tmp_path / "plan.html"
    file.write_text("".join(json.dumps(record) + "\n" for record in pilot(40)))
    assert main(["plan", str(file), "--difference", "0.4", "--report", str(page)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Collect ")
    assert shown.err == f"report: {page}\n"
    assert "Smallest difference that is detected" in page.read_text(encoding="utf-8")
    assert main(["plan", "--sd", "1", "--difference", "0.4", "--latex"]) == 0
    assert capsys.readouterr().out.startswith(r"\begin{tabular}")
    assert main(["plan", "--agreement", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "agreement"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["--sd", "1"], "plan needs the smallest difference that would matter"),
        (["--difference", "1"], "a plan needs a pilot, or the standard deviation of the differences: sd"),
        (["--difference", "-1", "--sd", "1"], "difference must be a number above 0, not -1"),
        (["--difference", "1", "--sd", "nan"], "sd must be a number of at least 0, not nan"),
        (["--difference", "1", "--sd", "0"], "sd and rater_sd are both 0"),
        (["--difference", "1", "--sd", "1", "--icc", "0"], "icc must be a number above 0 and of at most 1, not 0"),
        (["--difference", "1", "--sd", "1", "--icc", ".5", "--rater-sd", "1"], "expected one of them"),
        (["--difference", "1", "--sd", "1", "--power", "1"], "power must be a number between 0 and 1, not 1"),
        (["--difference", "1", "--sd", "1", "--systems", "1"], "systems must be a whole number of at least 2, not 1"),
        (["x.jsonl", "--difference", "1", "--sd", "1"], "give either a pilot or these"),
        (["a.jsonl", "b.jsonl", "--difference", "1"], "several pilot files need a metric"),
        (["--agreement", "0.5", "--correlation", "0.5"], "expected either an agreement or a correlation"),
        (["--agreement", "0.5", "--width", "3"], "width must be a number between 0 and 2, not 3"),
        (["--correlation", "1"], "correlation must be a number between -1 and 1, not 1"),
        (["--agreement", "0.5", "--difference", "1"], "a pilot and a difference are for comparing systems"),
    ],
)
def test_wrong_calls(call: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *call]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_pilot_that_says_nothing() -> None:
    with pytest.raises(rejoinder.CallError, match="has 2 contexts with scores: expected at least 3"):
        rejoinder.plan(pilot(2), difference=1.0)
    flat = [{**record, "scores": {"overall": [3, 3]}} for record in pilot(20)]
    with pytest.raises(rejoinder.CallError, match="does not say how much they vary"):
        rejoinder.plan(flat, difference=1.0)


@pytest.mark.shared_data
@pytest.mark.skipif(not JUDGED.exists(), reason="needs ../shared/data")
def test_a_real_pilot() -> None:
    planned = rejoinder.plan(JUDGED / "zhao2020_dailydialog.jsonl.gz", difference=0.3)
    assert planned.pilot.contexts == 100
    assert planned.pilot.rated_twice
    assert 100 < planned.needed(3) < planned.needed(1) < 1000
