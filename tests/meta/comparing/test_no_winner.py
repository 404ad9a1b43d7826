"""Every surface that shows a comparison: none names a winner by a metric that cannot judge the replies.

The same surfaces show one where the metric can judge them, so that each of these tests can fail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

import rejoinder
from rejoinder.adapters.reply_checks import ReplyChecks
from rejoinder.comparing.comparison import Comparison
from rejoinder.service.app import scoring_app

if TYPE_CHECKING:
    from running import Ran, Run, WriteLines

QUESTIONS = ("How do I reset my password?", "Where is my parcel?", "Can I pay by card?", "When do you open?")
GOOD = ("Go to your page and ask for a new one.", "It is in Lyon.", "Yes, by any card.", "At nine, on Sunday at ten.")
BAD = ("I don't know.", "Maybe.", "That is nice.", "I am not sure.")
LISTS = tuple(f"Here is what to know:\n\n- {reply}\n- Call us." for reply in GOOD)
METRIC = ("-m", "default-fast")
N = 24

CLAIMS = re.compile(
    r"\b(?:better|best|worse|worst|ahead|winner|wins|leads|equivalent|significantly|group [1-9])\b|no worse",
    re.IGNORECASE,
)
HARMLESS = re.compile(
    "|".join(
        (
            r"Which is better: \w+ or \w+\?",
            r"not-better",
            r"(?:Neither h|H)igher(?: nor lower)? is better",
            r"A mean [^.]* significantly better [^.]*\.",
            r"\b(?:B|A|p) +\|? *better\b",  # names of columns
            r"[^.]*\bbetter, tied, A better:[^.]*\.",
        )
    )
)
"""What surfaces say without a claim: questions, names of columns, directions of metrics."""


def records(texts: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        {"id": str(row), "context": [f"Ticket {row}.", QUESTIONS[row % 4]], "response": texts[row % 4]}
        for row in range(N)
    ]


class Place:
    """Two files of replies, and how commands run there."""

    def __init__(self, run: Run, write_lines: WriteLines, new: tuple[str, ...]) -> None:
        self.run, self.new = run, new
        self.files = (write_lines(records(BAD), "alpha.jsonl"), write_lines(records(new), "beta.jsonl"))

    def command(self, *arguments: Any) -> Ran:
        ran = self.run(*arguments, "--quiet")
        assert ran.code == 0, ran.err
        return ran

    @property
    def compared(self) -> Comparison:
        return rejoinder.compare(*self.files, metrics="default-fast", resamples=20)


def visible(page: str) -> str:
    """The text of a page without its explanations of terms; a mark of a winner becomes a word."""
    page = re.sub(r'<(?:strong|span|b)[^>]*class="best"[^>]*>', " WINNER ", page)
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL).partition('<dl class="terms"')[0]
    return " ".join(unescape(re.sub("<[^>]+>", " ", body)).split())


def starred(text: str) -> str:
    """The text of a terminal; a star at a number becomes a word."""
    return " ".join(re.sub(r"(?<=\d)\*", " WINNER", text).split())


def claims_of(told: Any) -> str:
    """The claims of a JSON object: its texts, and the fields that name a system."""
    found = []

    def walk(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                walk(each, key)
        elif isinstance(value, list):
            for each in value:
                walk(each, name)
        elif (name in ("better", "no_worse") and value is not None) or (name == "significant" and value):
            found.append(f"WINNER {name}")
        elif isinstance(value, str) and name not in ("metric", "higher_is_better"):
            found.append(value)

    walk(told, "")
    return " ".join(found)


def latex(text: str) -> str:
    return " ".join(text.replace(r"\textbf", " WINNER ").split())


def gate(place: Place) -> str:
    ran = place.run("compare", *place.files, *METRIC, "--fail-if", "not-better")
    assert ran.code == (4 if place.new == LISTS else 0)
    return starred(ran.out + ran.err)


def fail_under(place: Place) -> str:
    ran = place.run("score", place.files[1], *METRIC, "--fail-under", "default-fast=2")
    assert ran.code == (4 if place.new == LISTS else 0)
    return ran.err if ran.code else "beta is better"  # a threshold names no winner: there is nothing to see


def report(place: Place) -> str:
    place.command("compare", *place.files, *METRIC, "--report", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    ranked = json.loads(re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[0])["ranks"]
    return visible(page) + (" best first" if ranked else "")


def report_of_scores(place: Place) -> str:
    place.command("score", *place.files, *METRIC, "-o", "scores.jsonl")
    place.command("report", "scores.jsonl", "-o", "report.html")
    return visible(Path("report.html").read_text(encoding="utf-8"))


def scores(place: Place) -> str:
    place.command("score", *place.files, *METRIC, "-o", "scores.jsonl")
    return starred(place.command("compare", "--scores", "scores.jsonl", *METRIC).out)


def history(*options: str, read: Callable[[str], str] = starred) -> Callable[[Place], str]:
    def show(place: Place) -> str:
        for file in place.files:
            name = file.stem
            if not Path("runs", f"{name}.jsonl").exists():
                place.command("history", "runs", "--add", file, "--name", name, *METRIC)
        return read(place.command("history", "runs", *options).out)

    return show


def history_page(place: Place) -> str:
    history("--report", "history.html")(place)
    return visible(Path("history.html").read_text(encoding="utf-8"))


def baseline(place: Place) -> str:
    place.command("history", "runs", "--add", place.files[0], "--name", "alpha", *METRIC)
    return starred(place.command("compare", place.files[1], "--baseline", "runs").out)


def plug_in(place: Place) -> str:
    checks = ReplyChecks()
    try:
        told = str(checks.assert_not_worse(*place.files, "default-fast", margin=0.1))
    except AssertionError as error:
        told = str(error)
    return f"{starred(told)} {visible(checks.report())}"


@contextmanager
def service() -> Iterator[TestClient]:
    with TestClient(scoring_app({"default-fast": rejoinder.load("default-fast")})) as client:
        yield client


def served(place: Place) -> str:
    with service() as client:
        systems = {"alpha": records(BAD), "beta": records(place.new)}
        answer = client.post("/compare", json={"systems": systems, "fail_if": "not-better"})
    assert answer.status_code == 200
    return claims_of(answer.json())


def plotted(place: Place) -> str:
    found = place.compared
    figure = found.plot()._repr_svg_()
    ordered = figure.find(">beta<") < figure.find(">alpha<")  # the first row is that of the best mean
    return f"{found.sentences[0]}{' best first' if ordered else ''}"


SURFACES: dict[str, Callable[[Place], str]] = {
    "terminal, 80 columns": lambda place: starred(place.compared.text(80)),
    "terminal, 120 columns": lambda place: starred(place.compared.text(120)),
    "terminal, details": lambda place: starred(place.compared.text(80, details=True)),
    "command": lambda place: starred(place.command("compare", *place.files, *METRIC).out),
    "print": lambda place: starred(str(place.compared)),
    "repr": lambda place: repr(place.compared),
    "notebook": lambda place: starred(unescape(re.sub("<[^>]+>", "", place.compared._repr_html_()))),
    "figure": plotted,
    "markdown": lambda place: re.sub(r"\*\*[\d.]+\*\*", "WINNER", place.compared.to_markdown()),
    "json": lambda place: claims_of(place.command("compare", *place.files, *METRIC, "--json").json),
    "latex": lambda place: latex(place.command("compare", *place.files, *METRIC, "--latex").out),
    "report": report,
    "report of scores": report_of_scores,
    "table of scores": scores,
    "slices": lambda place: starred(place.command("compare", *place.files, *METRIC, "--by", "turns").out),
    "history": history(),
    "history, json": history("--json", read=lambda out: claims_of(json.loads(out))),
    "history, report": history_page,
    "baseline": baseline,
    "pytest plug-in": plug_in,
    "service": served,
    "gate": gate,
    "threshold": fail_under,
}


@pytest.mark.parametrize("surface", SURFACES)
def test_no_surface_names_a_winner_that_is_not_decided(surface: str, run: Run, write_lines: WriteLines) -> None:
    shown = SURFACES[surface](Place(run, write_lines, LISTS))
    assert re.search("not decided: default-fast cannot judge", shown, re.IGNORECASE), shown
    assert "WINNER" not in shown
    assert not (found := CLAIMS.findall(HARMLESS.sub("", shown))), (found, shown)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_names_the_winner_that_is_decided(surface: str, run: Run, write_lines: WriteLines) -> None:
    shown = SURFACES[surface](Place(run, write_lines, GOOD))
    assert "not decided" not in shown.lower()
    assert "WINNER" in shown or CLAIMS.search(HARMLESS.sub("", shown)), shown


@pytest.mark.parametrize("surface", ["command", "json", "latex", "report", "slices", "table of scores", "baseline"])
def test_a_doubtful_metric_decides_where_that_is_asked_for(surface: str, run: Run, write_lines: WriteLines) -> None:
    class Allowing(Place):
        def command(self, *arguments: Any) -> Ran:
            allowed = ["--allow-doubtful"] if arguments[0] == "compare" else []
            return super().command(*arguments, *allowed)

    shown = SURFACES[surface](Allowing(run, write_lines, LISTS))
    assert "WINNER" in shown or CLAIMS.search(HARMLESS.sub("", shown)), shown


def test_the_service_says_which_replies_are_doubtful_and_why() -> None:
    with service() as client:
        body = {"context": [QUESTIONS[0]], "response": LISTS[0], "id": "7"}
        told = client.post("/score", json=body).json()["results"][0]["reliability"]["default-fast"]
        assert told == {"status": "doubtful", "reasons": ["with lists, headings, tables or code"]}
        fine = client.post("/score", json={**body, "response": GOOD[0]}).json()["results"][0]["reliability"]
        assert fine == {"default-fast": {"status": "reliable", "reasons": []}}
        systems = {"alpha": records(BAD), "beta": records(LISTS)}
        answer = client.post("/compare", json={"systems": systems, "fail_if": "worse"}).json()
        assert {(one["system"], one["metric"], *one["reasons"]) for one in answer["doubtful_replies"]} == {
            ("beta", "default-fast", "with lists, headings, tables or code")
        }
        assert len(answer["doubtful_replies"]) == N
        assert (answer["check"]["passed"], answer["check"]["decided"]) == (False, False)
        allowed = client.post("/compare", json={"systems": systems, "allow_doubtful": True}).json()
        assert allowed["decided"]
        why = client.post("/explain", json=body).json()["scores"]["default-fast"]
        assert why["reliability"]["status"] == "doubtful"
        assert why["why"][0].startswith("default-fast is not known to judge such replies as people do: with lists")


def test_the_plug_in_can_decide_all_the_same(run: Run, write_lines: WriteLines) -> None:
    place = Place(run, write_lines, LISTS)
    checks = ReplyChecks()
    with pytest.raises(AssertionError, match=r"^not decided: "):
        checks.assert_not_worse(*place.files, "default-fast", margin=5)
    assert checks.assert_not_worse(*place.files, "default-fast", margin=5, allow_doubtful=True).decided
