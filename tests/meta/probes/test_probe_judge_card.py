"""The card of a judge against a server whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judge_server import Reply, asked_reply, completion, serving, token
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probing import TableResult
from rejoinder.trusting.trust import trust
from running import Run, WriteLines

CONTEXTS = 20
LANGUAGES = ("de", "en")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def records() -> list[dict[str, Any]]:
    """Two systems with the words 'good' and 'bad'; people like a reply the more, the higher its number."""
    return [
        {
            "id": f"{word}-{n}",
            "system": word,
            "context": [f"Question {n}?"],
            "response": f"{word} {n}" + " longer" * (n % 4),
            "scores": {"overall": [1 + n % 5]},
            "language": LANGUAGES[n % 2],
        }
        for n in range(CONTEXTS)
        for word in ("good", "bad")
    ]


def respond(body: dict[str, Any], number: int) -> Reply:
    """The number of the reply decides its score; asked again, it is half a point higher; A is always better."""
    if "reply A" in body["messages"][-1]["content"]:
        return completion("A", [token("A", {"A": 0.9, "B": 0.1})])
    score = 1 + int(asked_reply(body).split()[1]) % 5
    if asked_reply(body) == "bad 0":
        return completion("no", [token("no", {"no": 0.99})], tokens=(200, 2))
    near = str(score + 1 if score < 5 else 4)
    shares = {str(score): 0.5, near: 0.5} if body["seed"] else {str(score): 1.0}
    return completion(str(score), [token(str(score), shares)], tokens=(200, 2))


def studies(url: str, spec: str = "") -> dict[str, TableResult]:
    metric = spec or f'judge(model=m, url="{url}", price_read=5, price_written=10)'
    report = trust(records(), metrics={"j": metric}, resamples=200)
    return {study.name: study for study in report.dimensions[0].probes}


def test_the_card_has_every_figure() -> None:
    with serving(respond) as server:
        found = studies(server.url)
        sent = len(server.requests)
        assert sent == 40 + 39 + 2 * 20  # each reply, each scored one again, each pair in both orders
        studies(server.url)
        assert len(server.requests) == sent  # a second card costs nothing
    card = found["judge-card"]
    row = dict(zip(card.header, card.rows[0], strict=True))
    assert row["unscored"] == pytest.approx(1 / 40)
    assert value(row["Spearman with people"]) == pytest.approx(1.0)
    assert value(row["with length"]) == pytest.approx(value(row["people's with length"]))
    assert value(row["change when repeated"]) == pytest.approx(0.5)
    assert value(row["flip rate"]) == 1.0
    assert row["of pairs"] == "20 of 20"
    assert row["tokens per reply"] == "202"
    assert float(str(row["cost per 1,000"])) == pytest.approx(5 * 0.2 + 10 * 0.002)
    assert [one[0] for one in card.rows] == ["j", "j, de", "j, en"]
    calibration = found["judge-calibration"]
    assert [(one[1], value(one[4])) for one in calibration.rows] == [
        (f"{score - 0.5:g} to {score + 0.5:g}", score) for score in range(1, 6)
    ]
    assert "j minus people: 0.00" in calibration.sentences[0].replace("+", "")


def test_the_card_and_the_table_of_correlations_give_the_same_interval() -> None:
    def noisy(body: dict[str, Any], number: int) -> Reply:
        if "reply A" in body["messages"][-1]["content"]:
            return completion("C")
        words = asked_reply(body).split()
        if words[1] in {"0", "3"} and words[0] == "good":  # the first reply to its context is not scored
            return completion("no", [token("no", {"no": 0.99})])
        score = str(1 + (7 * int(words[1]) + len(words[0])) % 5)
        return completion(score, [token(score, {score: 1.0})])

    with serving(noisy) as server:
        report = trust(records(), metrics={"j": f'judge(model=m, url="{server.url}")'}, resamples=200).dimensions[0]
    [row] = report.utterance.rows
    card = next(study for study in report.probes if study.name == "judge-card")
    assert card.rows[0][3] == row.measured["spearman"].interval


def value(cell: object) -> float:
    assert isinstance(cell, Interval)
    return cell.estimate


@pytest.mark.slow
def test_every_member_of_a_jury_has_a_row() -> None:
    with serving(respond) as server:
        members = ", ".join(f'judge(model={name}, url="{server.url}")' for name in "ab")
        card = studies(server.url, f"jury(members=[{members}])")["judge-card"]
    assert [row[0] for row in card.rows if "," not in str(row[0])] == ["j: a", "j: b"]
    assert card.rows[0][-1] == "-"  # no prices


def test_there_is_no_card_without_a_judge() -> None:
    assert not trust(records(), metrics="length", resamples=20).dimensions[0].probes


def test_meta_prints_the_card_and_stops_at_the_limit(run: Run, write_lines: WriteLines) -> None:
    path = write_lines(records())
    with serving(respond) as server:
        judge = f'judge(model=m, url="{server.url}", price_read=1000)'
        stopped = run("trust", path, "-m", judge, "--max-cost", "0.9")
        assert "stopped before the cost" in stopped.err
        ran = run("trust", path, "-m", judge, "--json", "--resamples", "50")
        assert ran.code == 0, ran.err
    study = json.loads(ran.out)["dimensions"]["overall"]["probes"]["judge-card"]
    assert study["rows"][0]["flip rate"]["estimate"] == 1.0
