"""Systems compared by a judge that sees replies in pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge_server import Reply, completion, serving, token
from rejoinder.comparing.pairwise import prefer, preferred
from rejoinder.errors import CallError, NeedsError
from rejoinder.judge.judge import Judge
from rejoinder.judge.prompt import letter_masses
from rejoinder.types import Example
from running import Run, WriteLines

N = 30


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def shown(body: dict[str, Any]) -> tuple[str, str]:
    """The two replies, in the order in which the judge reads them."""
    found = json.loads(body["messages"][-1]["content"])
    return found["reply A"], found["reply B"]


def letter(choose: Callable[[str, str], str]) -> Callable[[dict[str, Any], int], Reply]:
    """A server that answers with the letter that the function chooses."""

    def respond(body: dict[str, Any], number: int) -> Reply:
        chosen = choose(*shown(body))
        return completion(chosen, [token(chosen, {chosen: 0.9, "A": 0.04, "B": 0.03} | {chosen: 0.9})])

    return respond


def judge(url: str) -> Judge:
    return Judge(model="m", url=url, retries=0)


def replies(word: str, n: int = N) -> list[Example]:
    return [Example(str(i), (f"Question {i}?",), f"{word} {i}") for i in range(n)]


def by_word(order: str) -> Callable[[str, str], str]:
    """Prefers the reply whose first word comes first in `order`."""
    rank = order.split().index
    return lambda a, b: "A" if rank(a.split()[0]) < rank(b.split()[0]) else "B"


def test_a_judge_that_holds_its_opinion_prefers_the_better_system() -> None:
    with serving(letter(by_word("good bad"))) as server:
        report = prefer(replies("bad"), replies("good"), judge=judge(server.url))
        assert len(server.requests) == 2 * N
    assert report.better == "B"
    assert report.gate("not-better", baseline="A").passed
    assert not report.gate("worse", baseline="B").passed
    assert report.flips is not None
    assert report.flips.rate.estimate == 0
    assert report.flips.first == 0.5
    [pair] = report.ranked.pairs
    assert (pair.a, pair.b, pair.wins, pair.ties, pair.losses) == ("A", "B", N, 0, 0)
    assert pair.controlled is not None
    text = str(report)
    assert text.startswith("The judge m prefers B to A")
    assert "At equal lengths of the replies:" in text
    assert report.to_dict()["flips"]["rate"]["estimate"] == 0


def test_a_judge_that_prefers_what_it_reads_first_ties_everything() -> None:
    with serving(letter(lambda a, b: "A")) as server:
        report = prefer(replies("bad"), replies("good"), judge=judge(server.url))
    assert report.better is None
    assert report.flips is not None
    assert (report.flips.rate.estimate, report.flips.first) == (1.0, 1.0)
    assert report.ranked.ties == N
    assert "contradicts itself in 100% of pairs" in report.verdict
    checked = report.gate("worse", baseline="A")
    assert (checked.passed, checked.decided) == (False, False)
    assert "contradicts itself" in checked.reason


def test_a_preference_in_one_order_only_is_a_tie_but_no_flip() -> None:
    with serving(letter(lambda a, b: "A" if a.startswith("good") else "C")) as server:
        [verdict] = preferred(judge(server.url), [(replies("good")[0], replies("bad")[0])])
    assert (verdict.outcome, verdict.flipped, verdict.half_flipped) == ("tie", False, True)


def test_flips_are_counted_by_hand() -> None:
    def choose(a: str, b: str) -> str:
        number = int(a.split()[1])
        if number < 6:  # prefers the first in both orders
            return "A"
        return "C" if number < 10 else by_word("good bad")(a, b)

    with serving(letter(choose)) as server:
        report = prefer(replies("bad"), replies("good"), judge=judge(server.url))
    assert report.flips is not None
    assert report.flips.rate.estimate == pytest.approx(6 / N)
    assert report.flips.rate.low < 6 / N < report.flips.rate.high
    assert report.ranked.ties == 10
    assert report.ranked.pairs[0].win_rate.estimate == pytest.approx((N - 10 + 5) / N)


def test_three_systems_are_ranked() -> None:
    origins = [replies("worst", 12), replies("best", 12), replies("middle", 12)]
    with serving(letter(by_word("best middle worst"))) as server:
        report = prefer(*origins, judge=judge(server.url))
        assert len(server.requests) == 3 * 12 * 2
    assert [row.system for row in report.ranked.systems] == ["B", "C", "A"]
    assert len(report.ranked.pairs) == 3


def test_equal_and_empty_replies_are_decided_without_asking() -> None:
    a = [Example("1", ("Hi",), "Yes."), Example("2", ("Ho",), " "), Example("3", ("Hey",), "No.")]
    b = [Example("1", ("Hi",), "Yes. "), Example("2", ("Ho",), "Well."), Example("3", ("Hey",), "")]
    with serving(letter(lambda a, b: "A")) as server:
        report = prefer(a, b, judge=judge(server.url))
        assert not server.requests
    assert report.flips is None
    assert [(row.wins, row.ties, row.losses) for row in report.ranked.systems] == [(1, 1, 1), (1, 1, 1)]


def test_pairs_without_a_usable_answer_are_left_out_and_counted() -> None:
    def respond(body: dict[str, Any], number: int) -> Reply:
        return completion("?" if "4" in shown(body)[0] else by_word("good bad")(*shown(body)))

    with serving(respond) as server:
        report = prefer(replies("bad", 10), replies("good", 10), judge=judge(server.url))
    assert report.unusable == 1
    assert "1 pair left out" in str(report)
    with serving(lambda body, number: completion("?")) as server, pytest.raises(NeedsError, match="no answer"):
        prefer(replies("bad", 3), replies("good", 3), judge=judge(server.url))


@pytest.mark.parametrize(
    ("text", "chosen"),
    [("A", 0), (" (B) is better", 1), ('"C"', 2), ("**A**", 0), ("A reply", None), ("Both", None), ("As I said", None)],
)
def test_without_log_probabilities_only_a_letter_by_itself_counts(text: str, chosen: int | None) -> None:
    masses = letter_masses(json.loads(completion(text).body), "ABC")
    assert (None if masses is None else masses.index(1.0)) == chosen


def test_a_sampled_letter_that_is_improbable_is_no_answer() -> None:
    answer = completion("A", [token("A", {"The": 0.8, "A": 0.1, "B": 0.05})])
    assert letter_masses(json.loads(answer.body), "ABC") is None
    likely = completion("A", [token("A", {"The": 0.6, "A": 0.3, "B": 0.1})])
    assert letter_masses(json.loads(likely.body), "ABC") == pytest.approx([0.75, 0.25, 0.0])


def test_the_command_line(run: Run, write_lines: WriteLines) -> None:
    files = []
    for word in ("bad", "good"):
        records = [{"id": one.id, "context": list(one.context), "response": one.response} for one in replies(word, 12)]
        files.append(write_lines(records, f"{word}.jsonl"))
    with serving(letter(by_word("good bad"))) as server:
        spec = f'judge(model=m, url="{server.url}", price_read=1000)'
        plan = run("compare", *files, "--pairwise", spec, "--dry-run")
        assert "24 requests to send" in plan.out, plan.err
        assert not server.requests
        stopped = run("compare", *files, "--pairwise", spec, "--max-cost", "0.3")
        assert "stopped before the cost" in stopped.err
        ran = run("compare", *files, "--pairwise", spec, "--json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["better"] == "good"
        again = run("compare", *files, "--pairwise", spec, "--latex")
        assert r"\toprule" in again.out
        assert len(server.requests) == 24
    wrong = run("compare", *files, "--pairwise", "length")
    assert wrong.code == 2
    assert "does not compare replies in pairs" in wrong.err
    for option in (["-m", "length"], ["--labels", files[0]], ["--dimension", "overall"]):
        refused = run("compare", *files, "--pairwise", spec, *option)
        assert refused.code == 2
        assert "expected it without --pairwise" in refused.err


def test_systems_without_common_contexts_are_refused() -> None:
    other = [Example("1", ("Something else?",), "Yes.")]
    with pytest.raises(NeedsError, match="same context"):
        prefer(replies("bad"), other, judge=judge("http://localhost:1/v1"))
    with pytest.raises(CallError, match="at least two systems"):
        prefer(replies("bad"), judge=judge("http://localhost:1/v1"))
