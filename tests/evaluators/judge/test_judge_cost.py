"""What a judge would cost, and the limit on it; reasons in the report."""

from __future__ import annotations

import io
import json
import math
import threading
from pathlib import Path
from typing import Any

import pytest

from judge_server import Reply, completion, refusal, serving, token
from rejoinder.judge.cost import AskingPlan, Budget, Charge, CostLimitError, Meter, Prices
from rejoinder.judge.judge import Judge
from rejoinder.judge.prompt import TokenUsage, token_usage
from rejoinder.types import Example
from running import Run, WriteLines

RECORDS: list[dict[str, Any]] = [{"id": str(n), "context": ["Hi"], "response": f"Reply {n}."} for n in range(12)]
BLANK = [{"id": "blank", "context": ["Hi"], "response": " "}, {"id": "alone", "context": [], "response": "Yes."}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def respond(body: dict[str, Any], number: int) -> Reply:
    return completion("4", [token("4", {"4": 0.9, "5": 0.1})])


def spec(url: str, extra: str = "") -> str:
    return f'judge(model=m, url="{url}"{extra})'


def test_a_dry_run_sends_nothing_and_writes_nothing(run: Run, write_lines: WriteLines, folder: Path) -> None:
    replies = write_lines([*RECORDS, *BLANK])
    with serving(respond) as server:
        judge = spec(server.url, ", price_read=1, price_written=10")
        first = run("score", replies, "-m", judge, "-m", "length", "--dry-run", "-o", "scores.jsonl", "--json")
        assert first.code == 0, first.err
        assert not server.requests
        assert not (folder / "cache").exists()
        plan = json.loads(first.out)
        assert (plan["requests"], plan["cached"]) == (12, 0)  # an empty reply and one without context are not sent
        assert plan["written"] == 12 * 4
        assert plan["cost"] == pytest.approx((plan["read"] + 10 * plan["written"]) / 1e6)
        assert plan["if_sampled"] == 12 * 4 + 1
        run("score", write_lines(RECORDS[:5], "some.jsonl"), "-m", judge)
        assert len(server.requests) == 5
        again = run("score", replies, "-m", judge, "--dry-run")
        assert "7 requests to send, 5 answers in the cache" in again.out
        assert "not known yet" not in again.out
        assert len(server.requests) == 5


def test_a_dry_run_of_a_jury_counts_every_judge(run: Run, write_lines: WriteLines) -> None:
    members = ["judge(model=a, url='http://localhost:1/v1')", "judge(model=b, url='http://localhost:1/v1')"]
    ran = run("score", write_lines(RECORDS), "-m", f"jury(members=[{', '.join(members)}])", "--dry-run")
    assert ran.code == 0, ran.err
    assert "a at localhost:1: 12 requests" in ran.out
    assert "together: 24 requests" in ran.out


def test_a_dry_run_of_a_comparison_counts_all_files(run: Run, write_lines: WriteLines) -> None:
    files = [write_lines(RECORDS, "a.jsonl"), write_lines(RECORDS[:3], "b.jsonl")]
    ran = run("compare", *files, "-m", spec("http://localhost:1/v1"), "--dry-run")
    assert ran.code == 0, ran.err
    assert "12 requests to send" in ran.out  # equal requests are sent once
    assert "no judge among the metrics" in run("compare", *files, "-m", "length", "--dry-run").out


def test_the_limit_on_the_command_line_reaches_all_judges(run: Run, write_lines: WriteLines) -> None:
    with serving(respond) as server:
        judge = spec(server.url, ", price_read=1000, concurrency=4")  # 0.1 per request
        ran = run("score", write_lines(RECORDS), "-m", judge, "--max-cost", "0.55")
        assert ran.code != 0
        assert "stopped before the cost would exceed 0.55" in ran.err
        assert 1 <= len(server.requests) <= 5
        assert run("score", write_lines(RECORDS), "-m", judge, "--max-cost", "5").code == 0
        assert len(server.requests) == 12


@pytest.mark.parametrize(
    ("metric", "cost", "message"),
    [
        ("length", "1", "none of the metrics is one"),
        ("judge(model=m, url='http://localhost:1/v1')", "1", "needs price_read or price_written"),
        ("judge(model=m, url='http://localhost:1/v1', price_read=1)", "-1", "must be a number above 0"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(
    run: Run, write_lines: WriteLines, metric: str, cost: str, message: str
) -> None:
    ran = run("score", write_lines(RECORDS), "-m", metric, "--max-cost", cost)
    assert ran.code == 2
    assert message in ran.err


def charge(meter: Meter, budgets: list[Budget], read: int) -> Charge:
    return Charge(meter, budgets, read, 0)


def test_what_is_under_way_counts_towards_the_limit() -> None:
    meter = Meter(Prices(read=1e6))
    budget = Budget(3.0, [meter])
    first, second = charge(meter, [budget], 1), charge(meter, [budget], 1)
    first.reserve()
    second.reserve()
    third, reserved = charge(meter, [budget], 2), threading.Event()

    def wait_for_room() -> None:
        third.reserve()
        reserved.set()

    thread = threading.Thread(target=wait_for_room)
    thread.start()
    first.settle({"usage": {"prompt_tokens": 1, "completion_tokens": 0}})
    assert not reserved.is_set()  # 1 was spent, and 1 is under way
    second.settle(None)  # it failed, and was not charged
    assert reserved.wait(60)
    thread.join()
    with pytest.raises(CostLimitError, match=r"1 so far; the next request may cost up to 4;.*at least that"):
        charge(meter, [budget], 4).reserve()


def test_a_request_stays_within_every_limit_that_applies_to_it() -> None:
    meter = Meter(Prices(read=1e6))
    own, together = Budget(1.0, [meter]), Budget(3.0, [meter])
    with pytest.raises(CostLimitError, match="would exceed 1:"):
        charge(meter, [together, own], 2).reserve()
    assert (own.reserved, together.reserved) == (0, 0)


UNREPORTED: dict[str, Any] = {
    "missing": ...,
    "null": None,
    "empty": {},
    "text": "100 tokens",
    "list": [100, 1],
    "zero": {"prompt_tokens": 0, "completion_tokens": 0},
    "negative": {"prompt_tokens": -100, "completion_tokens": -1},
    "beyond any context": {"prompt_tokens": 2**63, "completion_tokens": 2**63},
    "too few for the prompt": {"prompt_tokens": 1, "completion_tokens": 0},
    "infinite": {"prompt_tokens": math.inf, "completion_tokens": -math.inf},
    "no number": {"prompt_tokens": math.nan, "completion_tokens": math.nan},
    "numbers as text": {"prompt_tokens": "100", "completion_tokens": "1"},
    "truth values": {"prompt_tokens": True, "completion_tokens": True},
    "fractions": {"prompt_tokens": 0.5, "completion_tokens": 0.5},
    "other names": {"input_tokens": 100, "output_tokens": 1},
}


def with_usage(usage: Any) -> Reply:
    found = json.loads(respond({}, 0).body)
    del found["usage"]
    return Reply(json.dumps(found if usage is ... else found | {"usage": usage}).encode())


@pytest.mark.parametrize("usage", UNREPORTED.values(), ids=UNREPORTED)
def test_what_an_endpoint_does_not_report_is_estimated_and_stops_at_the_limit(
    run: Run, write_lines: WriteLines, folder: Path, usage: Any
) -> None:
    replies = write_lines(RECORDS)
    with serving(lambda body, number: with_usage(usage)) as server:
        judge = spec(server.url, ", price_read=1000, price_written=1000, concurrency=4")
        planned = run("score", replies, "-m", judge, "--dry-run", "--json").json
        each = planned["cost"] / 12
        stopped = run("score", replies, "-m", judge, "--max-cost", 5.5 * each, "-o", "scores.jsonl")
        assert stopped.code == 1
        assert len(server.requests) == 5
        spent = f"{5 * each:.4g} so far (estimated: {5 * (planned['read'] + planned['written']) // 12} tokens, cost "
        assert f"{spent}{5 * each:.4g}; no usable token counts came with 5 of 5 answers)" in stopped.err
        assert "the same command resumes without paying for it again" in stopped.err
        done = run("score", replies, "-m", judge, "--max-cost", 7 * each * 1.001, "-o", "scores.jsonl", "--json")
        assert done.code == 0, done.err
        assert len(server.requests) == 12  # no answer is paid for twice
    for text in (done.out, done.err, (folder / "scores.meta.json").read_text()):
        assert "no usable token counts came with 7 of 7 answers" in text


def test_one_of_two_counts_is_enough_for_that_one(folder: Path) -> None:
    with serving(lambda body, number: with_usage({"prompt_tokens": 100, "completion_tokens": 0})) as server:
        judge = Judge(model="m", url=server.url, price_read=1000)
        judge.score([Example("1", ("Hi",), "Reply.")])
    assert judge.asker.meter.usage == TokenUsage(100, 4, 0, 4, 1)
    assert "cost 0.1 (estimated: 4 tokens, cost 0;" in judge.notes()[0]


def test_no_tokens_are_believed_of_an_answer_without_text() -> None:
    usage = {"prompt_tokens": 70, "completion_tokens": 0}
    empty = {"choices": [{"message": {"role": "assistant", "content": ""}}], "usage": usage}
    assert token_usage(empty, 1000, 4) == TokenUsage(1000, 0, 1000, 0, 1), "too few for such a prompt"
    assert token_usage(empty, 100, 4) == TokenUsage(70, 0)
    thought = {"choices": [{"message": {"content": "", "reasoning_content": "Hm."}}], "usage": usage}
    assert token_usage(thought, 100, 4) == TokenUsage(70, 4, 0, 4, 1)


def test_an_endpoint_that_reports_now_and_then_is_estimated_where_it_does_not(folder: Path) -> None:
    def sometimes(body: dict[str, Any], number: int) -> Reply:
        return with_usage({"prompt_tokens": 100, "completion_tokens": 1} if number % 3 else None)

    with serving(sometimes) as server:
        judge = Judge(model="m", url=server.url)
        judge.score([Example(str(n), ("Hi",), f"Reply {n}.") for n in range(9)])
    usage = judge.asker.meter.usage
    assert (usage.estimates, usage.written, usage.written_estimated) == (3, 6 * 1 + 3 * 4, 3 * 4)
    assert usage.read == 6 * 100 + usage.read_estimated


def test_answers_that_were_lost_are_counted_and_refusals_are_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.judge.wire.random.uniform", lambda low, high: 0.01)
    whole = with_usage({"prompt_tokens": 100, "completion_tokens": 1})
    faults = [Reply(b"<html>"), Reply(b"[]"), Reply(whole.body, cut=20), refusal(503, "down"), refusal(429, "busy")]
    with serving(lambda body, number: faults[number] if number < len(faults) else whole) as server:
        judge = Judge(model="m", url=server.url, price_written=1e6)
        judge.score([Example("1", ("Hi",), "Reply.")])
    meter = judge.asker.meter
    assert (len(server.requests), meter.requests, meter.usage.estimates, meter.cost) == (6, 4, 3, 3 * 4 + 1)


def test_lost_answers_stop_at_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.judge.wire.random.uniform", lambda low, high: 0.01)
    with serving(lambda body, number: Reply(b"<html>")) as server:
        judge = Judge(model="m", url=server.url, price_written=1e6, max_cost=9.0)
        with pytest.raises(CostLimitError, match="8 so far"):
            judge.score([Example("1", ("Hi",), "Reply.")])
    assert len(server.requests) == 2


def test_requests_under_way_do_not_pass_the_limit_together(folder: Path) -> None:
    def slow(body: dict[str, Any], number: int) -> Reply:
        return Reply(with_usage(None).body, delay=0.02)

    examples = [Example(str(n), ("Hi",), f"Reply {n}.") for n in range(40)]
    with serving(slow) as server:
        judge = Judge(model="m", url=server.url, price_written=1e6 / 4, max_cost=10.0, concurrency=8)  # 1 per request
        with pytest.raises(CostLimitError) as caught:
            judge.score(examples)
        assert len(server.requests) == 10 == judge.asker.meter.cost
        assert "10 so far" in str(caught.value)  # those that were under way when it stopped are counted too
        again = Judge(model="m", url=server.url, price_written=1e6 / 4, max_cost=30.0)
        again.score(examples)
        assert (len(server.requests), again.asker.meter.cost, again.asker.meter.cached) == (40, 30.0, 10)


def test_samples_and_a_jury_share_one_limit(run: Run, write_lines: WriteLines) -> None:
    def sampled(body: dict[str, Any], number: int) -> Reply:
        return Reply(json.dumps({"choices": [{"message": {"content": "4"}}]}).encode())

    prices = "price_written=250000"  # 1 per request where nothing is reported
    with serving(sampled) as silent, serving(respond) as reporting:
        members = [f"judge(model=a, url='{silent.url}', samples=3, {prices})"]
        members += [f"judge(model=b, url='{reporting.url}', {prices})"]  # .25 per request
        jury = f"jury(members=[{', '.join(members)}])"
        first = run("score", write_lines(RECORDS), "-m", jury, "--max-cost", 20)
        assert (first.code, len(silent.requests), len(reporting.requests)) == (1, 20, 0)
        # 17 further samples, and then 2.25 in reported tokens; the next one could cost 1.
        second = run("score", write_lines(RECORDS), "-m", jury, "--max-cost", 20)
        assert (second.code, len(silent.requests), len(reporting.requests)) == (1, 1 + 3 * 12, 9)
        assert "19.25 so far (estimated:" in second.err
        assert "came with 17 of 26 answers" in second.err
        assert run("score", write_lines(RECORDS), "-m", jury, "--max-cost", 20).code == 0


def test_the_limit_of_one_judge_holds_beside_that_of_the_run(run: Run, write_lines: WriteLines) -> None:
    with serving(lambda body, number: with_usage(None)) as server:
        judge = spec(server.url, ", price_written=250000, max_cost=3")
        assert "would exceed 3:" in run("score", write_lines(RECORDS), "-m", judge, "--max-cost", 100).err
    assert len(server.requests) == 3


def test_a_limit_below_one_request_says_how_high_it_must_be(run: Run, write_lines: WriteLines) -> None:
    ran = run(
        "score", write_lines(RECORDS), "-m", spec("http://localhost:1/v1", ", price_written=250000, max_cost=0.5")
    )
    assert "0 so far; the next request may cost up to 1; what was answered is kept" in ran.err
    assert "resumes with a limit of at least that" in ran.err


def test_pairs_and_cards_say_that_the_cost_is_estimated(run: Run, write_lines: WriteLines) -> None:
    def silent(body: dict[str, Any], number: int) -> Reply:
        chosen = "A" if "reply A" in body["messages"][-1]["content"] else "4"
        return Reply(json.dumps({"choices": [{"message": {"content": chosen}}]}).encode())

    other = [record | {"response": f"Another {record['id']}."} for record in RECORDS]
    rated = [record | {"scores": {"overall": [int(record["id"]) % 5 + 1]}} for record in RECORDS]
    with serving(silent) as server:
        judge = spec(server.url, ", samples=1, price_written=250000")
        files = (write_lines(RECORDS, "a.jsonl"), write_lines(other, "b.jsonl"))
        stopped = run("compare", *files, "--pairwise", judge, "--max-cost", 2)
        assert "2 so far (estimated: " in stopped.err
        paired = run("compare", *files, "--pairwise", judge, "--json")
        assert "cost 23 (estimated: " in " ".join(paired.json["warnings"]), paired.err
        card = run("trust", write_lines(rated, "rated.jsonl"), "-m", judge, "--max-cost", 1000)
        assert "(estimated)" in card.out, card.err


def test_progress_shows_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm

    from rejoinder.judge import asking

    shown = io.StringIO()

    def visible(doing: str, *, total: int, unit: str, quiet: bool) -> Any:
        return tqdm.tqdm(desc=doing, total=total, unit=f" {unit}", file=shown, mininterval=0, miniters=1)

    monkeypatch.setattr(asking, "bar", visible)
    with serving(respond) as server:
        judge = Judge(model="m", url=server.url, price_read=1000, concurrency=1)
        judge.score([Example(str(n), ("Hi",), f"Reply {n}.") for n in range(4)])
    last = shown.getvalue().split("\r")[-1]
    assert "3/3" in last  # the first one was asked alone, to see what the endpoint can do
    assert "requests/s" in last
    assert "cost=0.4" in last


def test_plans_add_up() -> None:
    assert AskingPlan.total([AskingPlan(1, 2, 3, 4, 0.5, 6), AskingPlan(1, 1, 1, 1, 0.5, 1)]) == AskingPlan(
        2, 3, 4, 5, 1.0, 7
    )


def test_the_report_shows_the_reason_beside_the_reply(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    said = "It <b>follows</b> </script>."

    def reasoned(body: dict[str, Any], number: int) -> Reply:
        return completion(json.dumps({"score": 4, "reason": said}))

    with serving(reasoned) as server:
        judge = spec(server.url, ", reason=true, samples=1")
        ran = run("score", write_lines(RECORDS[:3]), "-m", judge, "--report", tmp_path / "report.html")
        assert ran.code == 0, ran.err
        assert len(server.requests) == 1 + 3  # the report asks for nothing again
    page = (tmp_path / "report.html").read_text()
    assert page.count('<dd dir="auto">It &lt;b&gt;follows&lt;/b&gt; &lt;/script&gt;.</dd>') == 3
    assert page.count('"reasons":') == 3
    assert said not in page
