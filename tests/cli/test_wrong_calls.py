"""A call that cannot be carried out is reported on one line with exit code 2, before any work is done."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder.cli
from rejoinder.scoring.run import LocalRun

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.fixture
def replies(write_lines: WriteLines) -> Path:
    return write_lines([{"response": "hi", "references": ["hello"]}])


METRIC_CALLS = {
    "blue": "unknown metric 'blue'; did you mean bleu or ",
    "rougel": "unknown metric 'rougel'; did you mean rouge-l",
    "xyzzy": "unknown metric 'xyzzy'; known: bleu, bleu-1, ",
    "bleu(m=2)": "unknown parameter of bleu: 'm'; known: effective_order, lowercase, n, ",
    "bleu(smoth=exp)": "unknown parameter of bleu: 'smoth'; did you mean smooth",
    "bleu-2(lower=true)": "unknown parameter of bleu-2: 'lower'; did you mean lowercase",
    "bleu(n=two)": "bleu: n must be a whole number, not 'two'",
    "bleu(n=2.5)": "bleu: n must be a whole number, not 2.5",
    "bleu(n=true)": "bleu: n must be a whole number, not True",
    "bleu(lowercase=1)": "bleu: lowercase must be true or false, not 1",
    "bleu(smooth=1)": "bleu: smooth must be text, not 1",
    "bleu(smooth=expo)": "bleu: smooth must be one of none, floor, add-k, exp, ",
    "bleu(n=0)": "bleu: n must be from 1 to 9, not 0",
    "bleu(tokenise=wrds)": "unknown tokeniser 'wrds'; did you mean words?",
    "bleu(strip=stop)": "unknown value of strip: 'stop'; did you mean ",
    "rouge-l(beta=-1)": "rouge-l: beta must be above 0 and at most 1,000,000, not -1",
    "bleu(2)": "cannot read 'bleu(2)' at position 6: expected a parameter such as n=2, found '2'",
    "bleu(n=2": "cannot read 'bleu(n=2' at position 9: expected , or ), found the end",
    "": "cannot read '': expected a name, or a name with parameters such as bleu(n=2)",
    "bleu(n=2,n=3)": "cannot read 'bleu(n=2,n=3)' at position 10: the parameter 'n' is given twice",
    "bleu(n=[2])": "bleu: n must be a whole number, not (2,)",
    "pm(by=bleu(m=2))": "unknown parameter of bleu: 'm'; known: effective_order, ",
    "ruber": "ruber is not trained: train it, save it, and name the folder that it was saved in",
    "hred": "hred is a reply model: expected a metric or an evaluator",
    "x" * 5000: f"unknown metric '{'x' * 79}...; known: bleu, ",
}


@pytest.mark.parametrize(("spec", "message"), METRIC_CALLS.items(), ids=lambda value: value[:20])
def test_wrong_metrics(spec: str, message: str, run: Run, replies: Path, tmp_path: Path) -> None:
    ran = run("score", replies, "-m", spec, "-o", "scores.jsonl")
    assert ran.code == 2
    assert ran.err.startswith(f"rejoinder: {message}")
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["replies.jsonl"]


def test_a_metric_named_twice(run: Run, replies: Path, tmp_path: Path) -> None:
    assert run("score", replies, "-m", "bleu", "-m", "bleu").err == "rejoinder: the metric 'bleu' is named twice\n"
    (tmp_path / "m.toml").write_text("[metrics.bleu]\n")
    ran = run("score", replies, "-m", "bleu", "--config", "m.toml")
    assert (ran.code, ran.err) == (2, "rejoinder: the metric 'bleu' is named twice\n")


def test_a_metric_whose_needs_the_data_do_not_meet(run: Run, write_lines: WriteLines) -> None:
    write_lines([{"response": "hi"}, {"response": "yo", "references": []}], "bare.jsonl")
    ran = run("score", "bare.jsonl", "-m", "length", "-m", "bleu")
    message = "bleu needs references, but none of the 2 examples of bare.jsonl has any"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")


def test_wrong_fields(run: Run, replies: Path) -> None:
    ran = run("score", replies, "--field", "contxt=a")
    assert (ran.code, ran.err) == (2, "rejoinder: unknown field 'contxt'; did you mean context or context_id?\n")
    ran = run("score", "replies.jsonl", "--field", "context=history")
    message = "unknown field in replies.jsonl: 'history'; known: references, response"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")
    ran = run("score", replies, "--separator", "")
    assert (ran.code, ran.err) == (2, "rejoinder: the separator of a context must be text that is not empty, not ''\n")


TARGETS = {
    "scores.txt": "scores.txt: cannot write .txt; expected .jsonl, .csv, .parquet",
    "scores": "scores: cannot write a file without a suffix; expected .jsonl, .csv, .parquet",
    "scores.jsonl.gz": "scores.jsonl.gz: cannot write .gz; expected .jsonl, .csv, .parquet",
    "absent/scores.jsonl": "absent does not exist: expected a folder to write scores.jsonl into",
    "folder.jsonl": "folder.jsonl is a folder: expected the name of a file",
    "replies.jsonl": "replies.jsonl is an input: expected another file to write to",
    "link.jsonl": "link.jsonl is an input: expected another file to write to",
}


@pytest.mark.parametrize(("target", "message"), TARGETS.items())
def test_where_nothing_can_be_written(target: str, message: str, run: Run, replies: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(replies)
    before = replies.read_bytes()
    ran = run("score", replies, "-o", target)
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")
    assert replies.read_bytes() == before


def test_a_folder_that_may_not_be_written_to(
    run: Run, replies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    if os.geteuid() == 0:  # who may write everywhere
        monkeypatch.setattr("os.access", lambda path, mode: "closed" not in str(path))
    ran = run("score", replies, "-o", "closed/scores.jsonl")
    message = "closed is not writable: expected a folder to write scores.jsonl into"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")


def test_a_report_goes_into_html(run: Run, replies: Path) -> None:
    ran = run("score", replies, "--report", "report.pdf")
    assert (ran.code, ran.err) == (2, "rejoinder: report.pdf: cannot write .pdf; expected .html\n")


def test_resume_needs_a_file(run: Run, replies: Path) -> None:
    ran = run("score", replies, "--resume")
    message = "resuming needs an output: without a score file there is nothing to resume"
    assert (ran.code, ran.err) == (2, f"rejoinder: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["scroe", "x"], "rejoinder: unknown verb 'scroe'; did you mean score?"),
        (["frobnicate"], "unknown verb 'frobnicate'; expected demo, check, faults"),
        (["score"], "the following arguments are required: replies"),
        (["score", "x", "--seed", "-1"], "must be a whole number of at least 0, not -1"),
        (["score", "x", "--seed", "1.5"], "must be a whole number of at least 0, not '1.5'"),
        (["score", "x", "--seed", "4294967296"], "must be a whole number of at most 4294967295, not 4294967296"),
        (
            ["train", "bm25", "--dialogues", "x", "-o", "y", "--seed", str(2**64)],
            "--seed must be a whole number of at most 4294967295",
        ),
        (["score", "x", "--resamples", "0"], "must be a whole number of at least 1, not 0"),
        (["score", "x", "--on-error", "ignore"], "argument --on-error: invalid choice: 'ignore'"),
        (["score", "x", "--nonsense"], "rejoinder score: unrecognized arguments: --nonsense"),
        (["score", "x", "--metrc", "bleu"], "unrecognized arguments: --metrc bleu; did you mean --metric"),
        (["train", "encoder"], "the following arguments are required: -o/--output, --encoder"),
    ],
)
def test_what_the_parser_refuses(arguments: list[str], complaint: str, run: Run) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert complaint in ran.err
    assert ran.err.count("\n") == 1  # one line, without the usage
    assert ran.out == ""


def test_the_command_alone_explains_itself(run: Run) -> None:
    ran = run()
    assert (ran.code, ran.err) == (0, "")
    assert "rejoinder demo" in ran.out
    assert all(f"\n  {verb} " in ran.out for verb in rejoinder.cli.VERBS)


def test_a_failure_of_the_machine_is_exit_code_1(run: Run, replies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "scores.jsonl.part")

    monkeypatch.setattr(LocalRun, "score", full)
    ran = run("score", replies, "-m", "length")
    assert (ran.code, ran.err) == (1, "rejoinder: [Errno 28] No space left on device: 'scores.jsonl.part'\n")


def test_a_failure_of_ours_is_exit_code_1_without_a_stack(
    run: Run, replies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(LocalRun, "score", broken)
    monkeypatch.delenv("REJOINDER_DEBUG", raising=False)
    ran = run("score", replies, "-m", "length")
    hint = "set REJOINDER_DEBUG=1 to see where"
    assert (ran.code, ran.err) == (
        1,
        f"rejoinder: this should not have happened: ZeroDivisionError: one two ({hint})\n",
    )
    monkeypatch.setenv("REJOINDER_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("score", replies, "-m", "length")


def test_a_panic_of_native_code_is_one_line(run: Run, replies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a BaseException, which most handlers would let through."""
    from polars.exceptions import PanicException

    def panic(*_: Any, **__: Any) -> None:
        raise PanicException("index out of bounds")

    assert not issubclass(PanicException, Exception)
    monkeypatch.setattr(LocalRun, "score", panic)
    monkeypatch.delenv("REJOINDER_DEBUG", raising=False)
    ran = run("score", replies, "-m", "length")
    assert ran.code == 1
    assert ran.err.startswith("rejoinder: this should not have happened: PanicException: index out of bounds (")
    assert ran.err.count("\n") == 1


def test_an_interrupt_is_exit_code_130(run: Run, replies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalRun, "score", stop)
    ran = run("score", replies, "-m", "length", "-o", "scores.jsonl")
    assert (ran.code, ran.err) == (130, "rejoinder: interrupted\n"), "nothing was scored, so nothing to resume from"


def test_every_verb_has_a_purpose_and_a_parser() -> None:
    parser = rejoinder.cli.build_parser()
    for verb, purpose in rejoinder.cli.VERBS.items():
        assert purpose in " ".join(parser.format_help().split())
        assert verb in parser.format_help()
