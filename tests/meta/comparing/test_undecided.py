"""Where the metric that decides cannot judge the replies, no surface names a winner, and each says why."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from rejoinder.adapters.reply_checks import assert_not_worse
from rejoinder.comparing.comparison import Comparison
from rejoinder.comparing.verdict import gate
from rejoinder.types import Example
from scored_replies import render_report

if TYPE_CHECKING:
    from running import Run, WriteLines

QUESTIONS = ("How do I reset my password?", "Where is my parcel?", "Can I pay by card?", "When do you open?")
GOOD = ("Go to your page and ask for a new one.", "It is in Lyon.", "Yes, by any card.", "At nine, on Sunday at ten.")
BAD = ("I don't know.", "Maybe.", "That is nice.", "I am not sure.")
LISTS = tuple(f"Here is what to know:\n\n- {reply}\n- Call us." for reply in GOOD)
WINNER = re.compile(r"\bv\d is (?:significantly )?(?:better|no worse|worse)\b|\bv\d and v\d are equivalent")


def replies(system: str, texts: tuple[str, ...], n: int = 24) -> list[Example]:
    return [
        Example(str(row), (f"Ticket {row}.", QUESTIONS[row % 4]), texts[row % 4], (GOOD[row % 4],), system=system)
        for row in range(n)
    ]


def compared(*texts: tuple[str, ...], **options: Any) -> Comparison:
    systems = [replies(f"v{number}", each) for number, each in enumerate(texts, start=1)]
    options = {"metrics": ["default-fast", "rouge-l"], "resamples": 20, **options}
    return rejoinder.compare(*systems, **options)


@pytest.fixture(scope="module")
def undecided() -> Comparison:
    return compared(BAD, LISTS, margin=0.1)


def test_plain_replies_are_decided() -> None:
    found = compared(BAD, GOOD)
    assert found.decided
    assert found.better == "v2"
    assert not found.table.doubts


def test_the_first_line_says_why_and_what_to_do(undecided: Comparison) -> None:
    first, second, *_ = undecided.sentences
    kinds = "24 of 24 replies of v2 (with lists, headings, tables or code)"
    assert first == (
        f"Not decided: default-fast cannot judge {kinds}: it is not known to order such replies as people do."
    )
    assert second == (
        "What to do: let people rate 50 replies (`rejoinder sample old.jsonl new.jsonl --labels 50 -o to_label.csv`) "
        "and decide (`rejoinder compare old.jsonl new.jsonl --labels to_label.csv`), ask a judge (-m 'judge(...)'), or "
        "choose a metric that applies to such replies (-m)."
    )


def test_no_form_names_a_winner(undecided: Comparison) -> None:
    told = undecided.to_dict()
    assert (told["decided"], told["better"], told["unbeaten"]) == (False, None, ["v1", "v2"])
    assert told["doubts"]["default-fast"]["v2"]["doubtful"] == 24
    own = [pair for pair in told["comparisons"] if pair["metric"] == "default-fast"]
    assert [(pair["outcome"], pair["better"], pair["no_worse"], pair["significant"]) for pair in own] == [
        ("doubtful", None, None, False)
    ]
    assert own[0]["difference"] != 0, "the numbers stay"
    forms = [undecided.text(80, details=True), undecided.text(120), str(undecided), undecided._repr_html_()]
    for form in forms:
        assert "Not decided: default-fast cannot" in " ".join(form.split())
    for form in (*forms, undecided.to_latex(), json.dumps(told)):
        assert not [found for found in WINNER.findall(form) if "default-fast" in found]
    [row] = [line for line in undecided.text(120).splitlines() if line.startswith("default-fast")]
    assert "*" not in row
    assert not re.search(r"default-fast &[^\n]*textbf", undecided.to_latex())


def test_other_metrics_remain_evidence(undecided: Comparison) -> None:
    assert "Other metrics, as secondary evidence: v2 is better on rouge-l." in undecided.sentences
    turned = compared(BAD, LISTS, metrics=["rouge-l", "default-fast"])
    assert turned.decided
    assert turned.sentences[0].startswith("v2 is better than v1 ")
    assert turned.sentences[-1].endswith("not decided by default-fast, unfit for such replies.")


def test_python_shows_the_notes_too(undecided: Comparison) -> None:
    stock = compared(("I don't know.",) * 4, GOOD)
    for found in (stock, replace(undecided, notes=(*undecided.table.notes, "a note of the comparison"))):
        shown = " ".join(str(found).split())
        for note in (*found.table.notes, *found.notes):
            assert f"Note: {' '.join(note.split())}" in shown


def test_the_gate_is_not_decided(undecided: Comparison) -> None:
    for fail_if in ("worse", "not-better"):
        found = gate(undecided, fail_if)
        assert (found.passed, found.decided) == (False, False)
        assert found.reason.startswith("default-fast cannot judge 24 of 24 replies of v2")
    with pytest.raises(AssertionError, match=r"^not decided: default-fast cannot judge"):
        assert_not_worse(replies("v1", BAD), replies("v2", LISTS), "default-fast", margin=0.5)


def test_an_unchanged_version_passes_all_the_same() -> None:
    same = compared(LISTS, LISTS)
    assert same.decided
    assert gate(same, "worse").passed


def test_one_doubtful_system_of_three() -> None:
    found = compared(BAD, GOOD, LISTS)
    assert (found.decided, found.better) == (False, None)
    assert [verdict.better for verdict in found.decisive_verdicts] == ["v2", None, None]
    assert "default-fast" not in [ranking.metric for ranking in found.rankings]
    assert not any("no ranking by default-fast" in note for note in found.notes), "the reason is another one"


def test_slices_are_not_decided_either() -> None:
    found = compared(BAD, LISTS, by="turns")
    [[verdict]] = found.slices["turns"].values()
    assert (verdict.outcome, verdict.better) == ("doubtful", None)


def test_people_decide_whatever_the_metric() -> None:
    labels = [
        {"id": str(row), "system": system, "scores": {"overall": [rating + (row + rating // 2) % 3 / 2]}}
        for system, rating in (("v1", 1), ("v2", 4))
        for row in range(24)
    ]
    found = compared(BAD, LISTS, labels=labels)
    assert (found.decided, found.better) == (True, "v2")
    assert "The metric default-fast alone does not decide it." in found.sentences
    assert gate(found, "worse").passed


def test_the_page_of_the_report(undecided: Comparison) -> None:
    page = render_report(undecided.table, None, comparison=undecided)
    answer = page[page.index('<p class="answer"') :][:400]
    assert "Not decided: " in answer
    assert 'class="best"' not in page[page.index("The comparison</h2>") :].split("</section>")[0].split("rouge-l")[0]
    assert "default-fast decides" not in page


def test_the_first_screen_of_a_page_has_the_verdict_why_and_what_to_do_next(undecided: Comparison) -> None:
    for found, then in (
        (undecided, "What to do: let people rate 50 replies"),
        (compared(BAD, GOOD), "What to do next: read"),
    ):
        first_screen, folded = found.page().split('<p class="answer"')[1].split("<details>", 1)
        assert found.sentences[0].split(" on ")[0].split(":")[0] in first_screen
        assert then in first_screen
        assert "power" not in first_screen
        assert "secondary evidence" not in first_screen
        assert "secondary evidence" in folded.split("</details>")[0]
    assert "<code>rejoinder sample old.jsonl new.jsonl --labels 50 -o to_label.csv</code>" in undecided.page()


def lines(examples: list[Example], *, named: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "id": example.id,
            "context": list(example.context),
            "response": example.response,
            "references": list(example.references),
            **({"system": example.system} if named else {}),
        }
        for example in examples
    ]


@pytest.fixture
def files(write_lines: WriteLines) -> tuple[Path, Path]:
    return write_lines(lines(replies("v1", BAD)), "old.jsonl"), write_lines(lines(replies("v2", LISTS)), "new.jsonl")


def test_exit_codes_of_the_command_line(run: Run, files: tuple[Path, Path]) -> None:
    ran = run("compare", *files, "-m", "default-fast", "--fail-if", "worse")
    assert ran.code == 4
    assert f"rejoinder sample {files[0]} {files[1]} --labels 50 -o to_label.csv" in ran.err
    assert ran.out.startswith("Not decided: default-fast cannot judge ")
    assert "rejoinder: check not decided: default-fast cannot judge" in ran.err
    assert run("compare", *files, "-m", "default-fast").code == 0
    told = run("compare", *files, "-m", "default-fast", "--fail-if", "not-better", "--json")
    assert (told.code, told.json["decided"], told.json["check"]["decided"]) == (4, False, False)
    assert run("compare", files[0], "-m", "default-fast", "--fail-if", "worse").code == 2


def test_a_check_that_fails_outweighs_one_that_is_not_decided(run: Run, files: tuple[Path, Path]) -> None:
    both = ("-m", "default-fast", "-m", "rouge-l")
    ran = run("score", files[1], *both, "--fail-under", "default-fast=1", "--fail-under", "rouge-l=0", "--json")
    assert (ran.code, ran.json["failed_checks"]) == (4, [])
    assert ran.json["undecided_checks"][0].startswith("default-fast cannot judge ")
    assert run("score", files[1], *both, "--fail-under", "default-fast=1", "--fail-under", "rouge-l=1").code == 3
    assert run("score", files[0], *both, "--fail-under", "default-fast=1", "--fail-under", "rouge-l=0").code == 0


def test_a_score_file_keeps_the_doubts(run: Run, files: tuple[Path, Path], write_lines: WriteLines) -> None:
    both = write_lines([*lines(replies("v1", BAD)), *lines(replies("v2", LISTS))])
    for scores in ("scores.jsonl", "scores.parquet"):
        assert run("score", both, "-m", "default-fast", "-o", scores, "--quiet").code == 0
        assert run("report", scores, "-o", "report.html", "--quiet").code == 0
        page = Path("report.html").read_text(encoding="utf-8")
        assert "Not decided: default-fast" in re.sub("<[^>]+>", "", page)
    meta = Path("scores.meta.json")
    meta.write_text(meta.read_text().replace('"doubtful": 24', '"doubtful": -1'))
    ran = run("report", "scores.jsonl")
    assert (ran.code, "doubts" in ran.err) == (2, True)


@pytest.mark.parametrize("scores", ["scores.jsonl", "scores.csv", "scores.parquet"])
def test_scores_that_are_compared_keep_the_doubts(
    scores: str, run: Run, files: tuple[Path, Path], write_lines: WriteLines
) -> None:
    both = write_lines([*lines(replies("v1", BAD)), *lines(replies("v2", LISTS))])
    assert run("score", both, "-m", "default-fast", "-m", "rouge-l", "-o", scores, "--quiet").code == 0
    ran = run("compare", "--scores", scores, "-m", "default-fast", "--fail-if", "worse")
    assert ran.code == 4
    assert ran.out.startswith("Not decided: default-fast cannot judge 24 of 24 replies of v2 ")
    assert run("compare", "--scores", scores, "-m", "rouge-l", "--fail-if", "worse").code in {0, 3}, "another metric"


def test_releases_keep_them_too(run: Run, write_lines: WriteLines) -> None:
    old = write_lines(lines(replies("v1", BAD), named=False), "old.jsonl")
    new = write_lines(lines(replies("v2", LISTS), named=False), "new.jsonl")
    assert run("history", "runs", "--add", old, "--name", "1.0", "-m", "default-fast", "--quiet").code == 0
    ran = run("compare", new, "--baseline", "runs", "--fail-if", "worse")
    assert ran.code == 4
    assert ran.out.startswith("Not decided: ")
    assert run("history", "runs", "--add", new, "--name", "1.1", "-m", "default-fast", "--quiet").code == 0
    told = run("history", "runs", "--json").json
    assert told["headline"].startswith("default-fast: not decided: default-fast cannot judge")
    assert [entry["outcome"] for entry in told["metrics"]["default-fast"]] == ["", "not decided"]
