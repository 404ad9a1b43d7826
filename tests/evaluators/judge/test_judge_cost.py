"""What a judge would cost, and the limit on it; reasons in the report."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from judge_server import Reply, completion, serving, token
from rejoinder.evaluators.judge.cost import Budget, CostLimitError, Meter, Plan, Prices
from running import Run, WriteLines

RECORDS = [{"id": str(n), "context": ["Hi"], "response": f"Reply {n}."} for n in range(12)]
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
        ("judge(model=m, url='http://localhost:1/v1', price_read=1)", "-1", "must be above 0"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(
    run: Run, write_lines: WriteLines, metric: str, cost: str, message: str
) -> None:
    ran = run("score", write_lines(RECORDS), "-m", metric, "--max-cost", cost)
    assert ran.code == 2
    assert message in ran.err


def test_what_is_under_way_counts_towards_the_limit() -> None:
    meter = Meter(Prices(read=1e6))
    budget = Budget(3.0, [meter])
    budget.reserve(1.0)
    budget.reserve(1.0)
    with pytest.raises(CostLimitError):
        budget.reserve(1.5)
    budget.release(1.0)
    meter.add((1, 0))
    budget.reserve(1.0)
    with pytest.raises(CostLimitError, match="1 so far"):
        budget.reserve(0.1)


def test_progress_shows_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm

    from rejoinder.evaluators.judge import asking
    from rejoinder.evaluators.judge.judge import Judge
    from rejoinder.types import Example

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
    assert Plan.total([Plan(1, 2, 3, 4, 0.5, 6), Plan(1, 1, 1, 1, 0.5, 1)]) == Plan(2, 3, 4, 5, 1.0, 7)


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
