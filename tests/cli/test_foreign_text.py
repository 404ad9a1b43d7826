"""Nothing that came with the data steers the terminal: system names, dimensions, labels, keys, headers, file names."""

from __future__ import annotations

import ast
import json
import unicodedata
import warnings
from pathlib import Path

import pytest

import rejoinder
from running import Ran, Run, WriteLines

EVIL = "bot\x1b[2J\u202eevil\x07\x9b\u2028x\r\nrejoinder: done"
FILE = "r\x1b[2J\u202e\nrejoinder: done.jsonl"
ALLOWED = "\n\u200c\u200d"


def assert_harmless(ran: Ran) -> None:
    """No control character, bidi mark or separator in what was printed, and no line that the data began."""
    unsafe = {"Cc", "Cf", "Zl", "Zp"}
    for text in (ran.out, ran.err):
        found = [sign for sign in text if unicodedata.category(sign) in unsafe and sign not in ALLOWED]
        assert not found
        assert not any(line.startswith("rejoinder: done") for line in text.splitlines())


def records(systems: tuple[str, ...] = (EVIL,), count: int = 6) -> list[dict[str, object]]:
    return [
        {
            "id": f"{number}{EVIL}",
            "context": [f"question {number}"],
            "context_id": str(number),
            "response": f"reply {number} " * (1 + (number + place) % 3),
            "references": [f"reply {number}"],
            "system": system,
            "scores": {EVIL: [1 + (number + place) % 5, 1 + (number * 2) % 5]},
        }
        for place, system in enumerate(systems)
        for number in range(count)
    ]


TWO = (EVIL, f"other {EVIL}")
THREE = (*TWO, f"third {EVIL}")


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_names_of_systems_are_shown_escaped(run: Run, write_lines: WriteLines, more: tuple[str, ...]) -> None:
    ran = run("score", write_lines(records(), FILE), "-m", "length", "-o", f"{EVIL}.csv", *more)
    assert ran.code == 0, ran.err
    assert_harmless(ran)
    assert "\\u001b[2J\\u202eevil" in ran.out
    ran = run("report", f"{EVIL}.csv", "--replies", FILE, "-o", f"{EVIL}.html", *more)
    assert ran.code == 0, ran.err
    assert_harmless(ran)


@pytest.mark.parametrize("more", [(), ("--json",), ("--latex",), ("--labels", FILE)])
@pytest.mark.parametrize("systems", [TWO, THREE])
def test_verdicts_are_shown_escaped(
    run: Run, write_lines: WriteLines, more: tuple[str, ...], systems: tuple[str, ...]
) -> None:
    ran = run("compare", write_lines(records(systems, 30), FILE), "-m", "length", "--resamples", 20, *more)
    assert ran.code == 0, ran.err
    assert_harmless(ran)


@pytest.mark.parametrize("more", [(), ("--json",), ("--probe", "length-bias")])
def test_dimensions_and_labels_are_shown_escaped(
    run: Run, write_lines: WriteLines, tmp_path: Path, more: tuple[str, ...]
) -> None:
    (tmp_path / "m.toml").write_text(f"[metrics.{json.dumps(EVIL)}]\nmetric = 'length'\n", encoding="utf-8")
    path = write_lines(records(TWO, 30), FILE)
    ran = run("trust", path, "--config", "m.toml", "--dimension", EVIL, "--resamples", 20, *more)
    assert ran.code == 0, ran.err
    assert_harmless(ran)
    assert "\\u001b[2J" in ran.out


def test_calibration_and_annotation_are_shown_escaped(run: Run, write_lines: WriteLines) -> None:
    path = write_lines(records(count=60), FILE)
    for arguments in (
        ("calibrate", "default-fast", "--judged", path, "--dimension", EVIL, "-o", EVIL),
        ("annotate", "new", path, "-o", f"{EVIL}.toml"),
        ("annotate", "links", f"{EVIL}.toml", "--address", f"http://{EVIL}"),
        ("annotate", "export", f"{EVIL}.toml", "-o", f"{EVIL}.jsonl"),
    ):
        ran = run(*arguments)
        assert ran.code == 0, ran.err
        assert_harmless(ran)


def test_training_and_replies_are_shown_escaped(run: Run, write_lines: WriteLines) -> None:
    write_lines([{"turns": ["hello there", "hi you"]}, {"turns": ["how are you", "fine"]}], FILE)
    contexts = write_lines([{"context": ["hello"]}, {"context": [EVIL]}], "c.jsonl")
    for arguments in (
        ("train", "bm25", "--dialogues", FILE, "-o", EVIL),
        ("generate", contexts, "--systems", f"{EVIL}={EVIL}", "-o", f"{EVIL}.jsonl"),
        ("train", "fm", "--dialogues", FILE, "-o", f"fm{EVIL}", "--write-arpa", f"{EVIL}.arpa"),
    ):
        ran = run(*arguments)
        assert ran.code == 0, ran.err
        assert_harmless(ran)


BAD = {
    "a verb": (EVIL,),
    "an option": ("score", "r.jsonl", f"--{EVIL}"),
    "a choice": ("score", "r.jsonl", "--on-error", EVIL),
    "a number": ("score", "r.jsonl", "--seed", EVIL),
    "a model": ("train", EVIL),
    "a step": ("annotate", EVIL),
    "a file": ("score", f"{EVIL}.jsonl"),
    "a folder": ("score", "r.jsonl", "-m", f"./{EVIL}"),
    "a metric": ("score", "r.jsonl", "-m", f"bl{EVIL}"),
    "a parameter": ("score", "r.jsonl", "-m", f"bleu({EVIL}=1)"),
    "a field": ("score", "r.jsonl", "--field", f"context={EVIL}"),
    "our field": ("score", "r.jsonl", "--field", f"{EVIL}=x"),
    "a suffix": ("score", "r.jsonl", "-o", f"x.{EVIL}"),
    "an output's folder": ("score", "r.jsonl", "-o", f"{EVIL}/x.jsonl"),
    "a config": ("score", "r.jsonl", "--config", f"{EVIL}.toml"),
    "a dimension": ("trust", "r.jsonl", "-m", "length", "--dimension", f"no{EVIL}"),
    "a study": ("trust", "r.jsonl", "-m", "length", "--probe", EVIL),
    "a predictor": ("compare", "r.jsonl", "-m", "length", "--labels", "r.jsonl", "--predictor", EVIL),
    "a score file": ("report", f"{EVIL}.jsonl"),
    "a system": ("generate", "r.jsonl", "--systems", f"{EVIL}=absent", "-o", "x.jsonl"),
    "a decoding": ("generate", "r.jsonl", "--model", "absent", "--decoding", EVIL, "-o", "x.jsonl"),
    "an evaluator": ("calibrate", EVIL, "--judged", "r.jsonl", "-o", "x"),
    "a teacher": ("distil", EVIL, "--static", "--dialogues", "r.jsonl", "-o", "x"),
    "a bad header": ("score", "bad.csv"),
    "a bad key": ("score", "bad.jsonl"),
    "skipped records": ("score", "bad.jsonl", "--on-error", "skip"),
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_errors_are_shown_escaped(
    arguments: tuple[str, ...], run: Run, write_lines: WriteLines, tmp_path: Path
) -> None:
    write_lines(records(TWO), "r.jsonl")
    write_lines([{EVIL: EVIL, "response": [EVIL]}], "bad.jsonl")
    (tmp_path / "bad.csv").write_text(f'id,"{EVIL}"\n1,"{EVIL}"\n', encoding="utf-8", newline="")
    ran = run(*arguments)
    assert ran.code == 2
    assert_harmless(ran)
    lines = ran.err.splitlines()
    assert [line for line in lines if line.startswith("rejoinder")] == lines[-1:], "one line says what is wrong"


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "r.jsonl", f"--{'x' * 149_000}"),
        ("score", "r.jsonl", "--on-error", "x" * 149_000),
        ("score", "x" * 149_000),
        ("score", "r.jsonl", "-m", "x" * 149_000),
        ("score", "r.jsonl", "-m", f"bleu({'x' * 149_000}=1)"),
        ("x" * 149_000,),
        ("score", "r.jsonl", "--field", f"context={'x' * 149_000}"),
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_errors_are_short(arguments: tuple[str, ...], run: Run, write_lines: WriteLines) -> None:
    write_lines(records(("x" * 5000,)), "r.jsonl")
    ran = run(*arguments)
    assert ran.code == 2
    assert len(ran.err) < 4000
    assert ran.out == ""


def test_long_names_are_cut_in_tables_and_whole_in_json(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    long, other = f"{'x' * 5000}1", f"{'x' * 5000}2"
    path = write_lines(records((long, other), 30))
    for arguments in (("score", path), ("compare", path, "--resamples", 20)):
        ran = run(*arguments, "-m", "length")
        assert ran.code == 0, ran.err
        assert max(map(len, ran.out.splitlines())) < 3000
        assert "...xxx" in ran.out
        assert long in run(*arguments, "-m", "length", "--json").out
    (tmp_path / "m.toml").write_text(f"[metrics.{long}]\nmetric = 'length'\n")
    assert max(map(len, run("score", path, "--config", "m.toml").out.splitlines())) < 500


def test_warnings_are_shown_escaped(run: Run, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def show(*_: object, **__: object) -> None:
        shown.append(warnings.formatwarning(f"about {EVIL}", RuntimeWarning, "file.py", 1))

    before = warnings.formatwarning
    monkeypatch.setattr("rejoinder.cli.running._show", show)
    assert run("check", write_lines(records())).code == 0
    assert shown == ["rejoinder: warning: about bot\\u001b[2J\\u202eevil\\u0007\\u009b x rejoinder: done\n"]
    assert warnings.formatwarning is before


PRINTING = {
    "cli/__init__.py",
    "cli/output.py",
    "service/serve.py",
    "__main__.py",
    "judge/judge.py",
    "progress.py",
    "scoring/run.py",
}
"""Modules that may call `print`: what they print went through rejoinder.show.text, or has no foreign text in it."""


def test_nothing_else_prints() -> None:
    root = Path(rejoinder.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        place = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "print(" in text or "sys.std" in text else ():
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id == "print":
                found.add(place)
            if isinstance(called, ast.Attribute) and called.attr == "write" and ast.unparse(called).startswith("sys."):
                found.add(place)
    assert found == PRINTING
