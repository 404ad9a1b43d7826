"""What `--resume` does in every command that has it: with a finished and with an unfinished output, of the same run and
of runs with other data, metrics or settings."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from parts_runs import InTurn, in_turn
from rejoinder.cli import build_parser
from rejoinder.cli.lazy_parser import LazyParser
from rejoinder.data.spans import SpanFinder
from rejoinder.errors import CallError
from rejoinder.folders.outputs import START_OVER, check_same_run
from rejoinder.metrics.batch import Batch
from rejoinder.metrics.overlap import Length
from rejoinder.scoring import run as local
from running import Run

__all__ = ["in_turn"]

ROWS: list[dict[str, Any]] = [
    {
        "id": str(n),
        "context": [f"hello {n}"],
        "response": "word " * (n % 9) + str(n),
        "references": ["word word"],
        "topic": "ab"[n % 2],
    }
    for n in range(40)
]
TURNS = [{"turns": [f"hello {n}", f"hi {n} you", f"how are {n}", f"fine {n} thanks"]} for n in range(12)]
Stop = Callable[[pytest.MonkeyPatch], None]


def changed(rows: list[dict[str, Any]], place: int, **values: Any) -> list[dict[str, Any]]:
    return [{**row, **values} if number == place else row for number, row in enumerate(rows)]


DATA = {
    "r": ROWS,
    "r-reply": changed(ROWS, 30, response="another reply"),
    "r-context": changed(ROWS, 30, context=["bye"]),
    "r-added": [*ROWS, {"id": "new", "context": ["x"], "response": "more"}],
    "r-fewer": ROWS[:-1],
    "r-reordered": ROWS[::-1],
    "r-topic": changed(ROWS, 30, topic="b" * 3),
    "d": TURNS,
    "d-turn": changed(TURNS, 3, turns=["what", "is this", "this", "that"]),
    "d-fewer": TURNS[:-1],
    "d-reordered": TURNS[::-1],
}


def stop_scoring(patch: pytest.MonkeyPatch) -> None:
    """Interrupt a run on this machine after its first batch."""
    whole, calls = Length.score_batch, []

    def score_batch(metric: Length, batch: Batch) -> Any:
        calls.append(batch)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return whole(metric, batch)

    patch.setattr(local, "BATCH", 16)
    patch.setattr(Length, "score_batch", score_batch)


def stop_parts(patch: pytest.MonkeyPatch) -> None:
    """Interrupt a run in parts after its first part."""
    whole = InTurn.parts_done

    def parts_done(cluster: InTurn, *given: Any) -> Iterator[tuple[int, str]]:
        yield next(whole(cluster, *given))
        raise KeyboardInterrupt

    patch.setattr(InTurn, "parts_done", parts_done)


def stop_replying(patch: pytest.MonkeyPatch) -> None:
    from rejoinder.replies import pool as pool_run
    from rejoinder.replies.pool import Pool

    whole, calls = Pool.rows, []

    def rows(pool: Pool, *given: Any) -> Any:
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return whole(pool, *given)

    patch.setattr(pool_run, "_BATCH", 16)
    patch.setattr(Pool, "rows", rows)


def stop_training(patch: pytest.MonkeyPatch) -> None:
    from rejoinder.learning.checkpoints import Checkpoints

    write = Checkpoints.write

    def write_and_stop(*given: Any) -> None:
        write(*given)
        raise KeyboardInterrupt

    patch.setattr(Checkpoints, "write", write_and_stop)


@dataclass(frozen=True)
class Case:
    """A command, how it is interrupted, and other runs into the same output."""

    call: tuple[str, ...]
    """With {data} and {more}."""
    data: str
    output: str
    stop: Stop
    others: Mapping[str, str]
    """Options in place of {more} -> what the message says, by finished output."""
    more: tuple[str, ...] = ()
    told_while_unfinished: bool = True
    """Whether an unfinished output says exactly what differs."""
    other_data: tuple[str, ...] = field(default=())


SCORED = ("reply", "context", "added", "fewer", "reordered")
SETTINGS = {
    "-m length(tokenise=whitespace)": "length(tokenise=whitespace) added, length left out",
    "--config m.toml": "length: tokenise:words, now tokenise:whitespace",
    "-m length -m bleu-2": "bleu-2 added",
    "-m length --seed 3": "seed: 0, now 3",
    "-m length --resamples 30": "resamples: 20, now 30",
    "-m length --by topic": "by: none, now topic",
    "-m length --field references=context": "other data",
}
SAME = ("-m", "length", "--resamples", "20")


def scored(output: str, *more: str, stop: Stop = stop_scoring) -> Case:
    call = ("score", "{data}.jsonl", "-o", output, *more, "{more}")
    others = {
        (f"{options} --resamples 20" if "--resamples" not in options else options): told
        for options, told in SETTINGS.items()
    }
    return Case(call, "r", output, stop, others, SAME, other_data=SCORED)


def trained(name: str) -> Case:
    call = ("train", name, "--dialogues", "{data}.jsonl", "-o", "model", "{more}")
    small = ("--epochs", "2", "--vocabulary", "300", "--embedding", "8", "--hidden", "8")
    changes = {
        " ".join((*small, "--seed", "1")): "seed: 0, now 1",
        " ".join(("--epochs", "3", *small[2:])): "epochs: 2, now 3",
        " ".join((*small, "--mixed-precision", "bf16")): "mixed_precision: no, now bf16",
    }
    return Case(call, "d", "model", stop_training, changes, small, False, ("turn", "fewer", "reordered"))


CASES = {
    "score .jsonl": scored("out.jsonl"),
    "score .csv": scored("out.csv"),
    "score .parquet": scored("out.parquet"),
    "score --engine ray": scored("out", "--engine", "ray", stop=stop_parts),
    "generate": Case(
        ("generate", "{data}.jsonl", "-o", "out.jsonl", "{more}"),
        "r",
        "out.jsonl",
        stop_replying,
        {
            "--model bot --seed 3": "seed: 0, now 3",
            "--model other": "bm25: fit:",
            "--systems bm25=bot": "deduplicate: false, now true",
            "--systems bm25=bot --also true": "true added",
        },
        ("--model", "bot"),
        other_data=("context", "added", "fewer", "reordered"),
    ),
    "train": trained("hred"),
    "distil": Case(
        ("distil", "{more}", "--static", "--dialogues", "{data}.jsonl", "-o", "model"),
        "d",
        "model",
        stop_training,
        {
            "length --contexts 5": "teachers: ",
            "length repetition --contexts 6": "contexts: 5, now 6",
            "length repetition --contexts 5 --seed 1": "seed: 0, now 1",
        },
        ("length", "repetition", "--contexts", "5"),
        False,
        ("turn", "fewer"),
    ),
}


@pytest.fixture
def place(run: Run, tmp_path: Path, in_turn: InTurn, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data and reply models; Ray is not needed for parts."""
    for name, rows in DATA.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "m.toml").write_text('[metrics.length]\nmetric = "length"\ntokenise = "whitespace"\n')
    assert run("train", "bm25", "--dialogues", "d.jsonl", "-o", "bot", "--quiet").code == 0
    assert run("train", "bm25", "--dialogues", "d-fewer.jsonl", "-o", "other", "--quiet").code == 0
    monkeypatch.setattr("rejoinder.folders.sources.EXTRAS", {"scale": (), "train": ("torch",)})
    monkeypatch.setattr("rejoinder.scoring.ray.FAST_PART", 16)
    monkeypatch.setattr(SpanFinder.__init__, "__defaults__", (8,))
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    """Everything in the folder but lock files and a log of attempts."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def call(case: Case, data: str = "", more: str | None = None) -> list[str]:
    options = case.more if more is None else tuple(more.split())
    found: list[str] = []
    for word in case.call:
        found += options if word == "{more}" else [word.format(data="-".join(filter(None, (case.data, data))))]
    return found


def prepare(case: Case, state: str, run: Run) -> None:
    """Write the output of the case, finished or not."""
    if case.call[0] in {"train", "distil"}:
        pytest.importorskip("torch", reason="needs what training needs")
    if state == "finished":
        ran = run(*call(case), "--quiet")
        assert ran.code == 0, ran.err
        return
    with pytest.MonkeyPatch.context() as patch:
        case.stop(patch)
        assert run(*call(case), "--quiet").code == 130


@pytest.mark.parametrize("name", CASES)
def test_a_finished_output_of_the_same_run_is_left_as_it_is(name: str, run: Run, place: Path) -> None:
    case = CASES[name]
    prepare(case, "finished", run)
    before = files(place)
    ran = run(*call(case), "--resume")
    assert (ran.code, ran.out, ran.err) == (0, "", f"{case.output} is finished: there is nothing left to do\n")
    quiet = run(*call(case), "--resume", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert files(place) == before


# A student of a few seconds: tests/cli/test_distill_verb.py has a shorter one.
TO_FINISH = [pytest.param(name, marks=[pytest.mark.slow] if name == "distil" else []) for name in CASES]


@pytest.mark.parametrize("name", TO_FINISH)
def test_an_unfinished_output_is_finished_as_if_never_interrupted(name: str, run: Run, place: Path) -> None:
    case = CASES[name]
    prepare(case, "finished", run)
    whole = files(place)
    for path in sorted(place.glob(f"{case.output.partition('.')[0]}*"), reverse=True):
        os.rename(path, place.parent / f"{place.name}-{path.name}")
    prepare(case, "unfinished", run)
    assert not (place / case.output).is_file()
    ran = run(*call(case), "--resume", "--quiet")
    assert ran.code == 0, ran.err
    assert files(place) == whole


@pytest.mark.parametrize("state", ["finished", "unfinished"])
@pytest.mark.parametrize("name", CASES)
def test_other_data_metrics_and_settings_are_refused(name: str, state: str, run: Run, place: Path) -> None:
    case = CASES[name]
    prepare(case, state, run)
    before = files(place)
    wrong = [(call(case, data), "other data") for data in case.other_data]
    wrong += [(call(case, more=more), told) for more, told in case.others.items()]
    for arguments, told in wrong:
        for quiet in ((), ("--quiet",)):
            ran = run(*arguments, "--resume", *quiet)
            assert (ran.code, ran.out) == (2, ""), (arguments, ran.err)
            message = ran.err.splitlines()[-1]
            assert "another run (" in message, (arguments, message)
            assert message.endswith(START_OVER)
            if state == "finished" or case.told_while_unfinished:
                assert told in message, (arguments, message)
            assert files(place) == before, arguments


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("score")])
def test_values_of_the_fields_of_by_are_data(name: str, run: Run, place: Path) -> None:
    case, more = CASES[name], "-m length --resamples 20 --by topic"
    assert run(*call(case, more=more), "--quiet").code == 0
    before = files(place)
    assert run(*call(case, more=more), "--resume", "--quiet").code == 0
    ran = run(*call(case, "topic", more), "--resume", "--quiet")
    assert ran.code == 2
    assert "other values of the fields of --by" in ran.err
    assert files(place) == before


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("score")])
def test_checks_reports_and_json_of_finished_scores(name: str, run: Run, place: Path) -> None:
    """They are not passed over because there is nothing to score."""
    case, more = CASES[name], "-m length -m distinct-2 --resamples 20 --by topic"
    whole = run(*call(case, more=more), "--json")
    before = files(place)
    assert run(*call(case, more=more), "--resume", "--json").json == whole.json
    failed = run(*call(case, more=more), "--resume", "--fail-under", "length=99", "--quiet")
    assert (failed.code, "below 99" in failed.err) == (3, True)
    assert run(*call(case, more=more), "--resume", "--fail-under", "length=0").code == 0
    assert files(place) == before
    assert run(*call(case, more=more), "--resume", "--report", "r.html").code == 0
    assert "hello 30" in (place / "r.html").read_text()


FILES = [name for name, case in CASES.items() if "." in case.output]


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99, "no last line"])
@pytest.mark.parametrize("name", FILES)
def test_a_finished_file_that_was_cut_off_is_told(name: str, kept: float | str, run: Run, place: Path) -> None:
    case = CASES[name]
    prepare(case, "finished", run)
    output = place / case.output
    content = output.read_bytes()
    lines = content.splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:-1]) if isinstance(kept, str) else content[: int(len(content) * kept)])
    before = files(place)
    ran = run(*call(case), "--resume", "--quiet")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert ran.err.startswith(f"rejoinder: {case.output}: is ")
    assert START_OVER in ran.err
    assert files(place) == before


@pytest.mark.parametrize("name", [name for name in FILES if "parquet" not in name])
def test_a_finished_file_without_its_own_metadata_is_told(name: str, run: Run, place: Path) -> None:
    """Missing, of an earlier version that recorded less, and of another output."""
    case = CASES[name]
    prepare(case, "finished", run)
    meta = place / ("out.pool.json" if name == "generate" else "out.meta.json")
    told = json.loads(meta.read_text())
    older = {key: value for key, value in told.items() if key not in {"run", "content"}}
    for content, expected in (
        (None, "cannot be compared with this run (no "),
        (older, "cannot be compared with this run (its metadata do not record the run)"),
        ({**told, "run": {}}, "version is not recorded"),
        ({**told, "content": "0" * 32}, "is not the file that its metadata describe"),
    ):
        meta.unlink(missing_ok=True)
        if content is not None:
            meta.write_text(json.dumps(content))
        before = files(place)
        ran = run(*call(case), "--resume", "--quiet")
        assert (ran.code, ran.err.count("\n"), expected in ran.err) == (2, 1, True), ran.err
        assert files(place) == before


def test_parts_that_are_missing_or_cut_off_are_told(run: Run, place: Path) -> None:
    case = CASES["score --engine ray"]
    prepare(case, "finished", run)
    part = place / "out" / "part-00001.parquet"
    content, other = part.read_bytes(), (place / "out" / "part-00002.parquet").read_bytes()
    for damaged, expected in (
        (content[:50], "part-00001.parquet: "),
        (None, "missing"),
    ):
        part.unlink()
        if damaged is not None:
            part.write_bytes(damaged)
        ran = run(*call(case), "--resume", "--quiet")
        assert (ran.code, ran.err.count("\n"), expected in ran.err) == (2, 1, True), ran.err
    part.write_bytes(other)
    assert "has 8 rows, expected 16" in run(*call(case), "--resume", "--quiet").err


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("step", range(4))
def test_a_run_that_was_killed_while_it_published_is_resumed(step: int, name: str, run: Run, place: Path) -> None:
    """After each rename and deletion of the last moments; the earlier output of the same name is of another run."""
    case = CASES[name]
    prepare(case, "finished", run)
    whole = files(place)
    assert run(*call(case, more=next(iter(case.others))), "--quiet").code == 0
    left = iter(range(step))  # one for each file that may still be moved or deleted
    with pytest.MonkeyPatch.context() as patch:
        for method in ("replace", "unlink"):
            patch.setattr(Path, method, _dying(getattr(Path, method), left, place))
        killed = run(*call(case), "--quiet").code == 130
    ran = run(*call(case), "--resume", "--quiet")
    assert ran.code == 0 or not killed, ran.err
    found = {path: content for path, content in files(place).items() if not path.endswith((".tmp", ".part.json"))}
    assert found == whole


def test_rows_that_were_moved_without_their_metadata_are_not_scored_again(run: Run, place: Path) -> None:
    case = CASES["score .jsonl"]
    prepare(case, "finished", run)
    whole = files(place)
    move = Path.replace

    def replace(path: Path, to: Path) -> Path:
        if to.name == "out.meta.json":
            raise KeyboardInterrupt
        return move(path, to)

    def score_batch(*_: object) -> Any:
        raise AssertionError("scored again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        assert run(*call(case), "--quiet").code == 130
    assert files(place).keys() == whole.keys() - {"out.meta.json"} | {"out.jsonl.part.json"}
    refused = run(*call(case, "reply"), "--resume")
    assert (refused.code, "another run (other data)" in refused.err) == (2, True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Length, "score_batch", score_batch)
        ran = run(*call(case), "--resume", "--quiet")
    assert ran.code == 0, ran.err
    assert files(place) == whole


def _dying(method: Any, left: Iterator[int], place: Path) -> Any:
    """The method, until as many files of the output as wanted were moved or deleted after the last row was written."""

    def move(path: Path, *given: Any, **options: Any) -> Any:
        is_last = any(name.name.startswith("out.") and "part" not in name.name for name in (path, *given[:1]) if name)
        if is_last and next(left, None) is None:
            raise KeyboardInterrupt
        return method(path, *given, **options)

    return move


def parsers(parser: argparse.ArgumentParser, verb: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The verb and the parser of every command."""
    yield verb, parser.filled() if isinstance(parser, LazyParser) else parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from parsers(below, verb or name)


def test_every_command_with_resume_is_tested() -> None:
    found = set()
    for verb, parser in parsers(build_parser()):
        helps = [action.help or "" for action in parser._actions if "--resume" in action.option_strings]
        if helps and not helps[0].startswith("has no effect"):
            found.add(verb)
    assert found == {case.call[0] for case in CASES.values()}


def test_differences_are_short_whatever_was_recorded() -> None:
    found = {"seed": [1, {"a": "\x1b" * 500}], "signatures": {"m" * 900: "a|" * 900}, "by": None, "extra": float("nan")}
    with pytest.raises(CallError) as caught:
        check_same_run(found, {"seed": 1, "signatures": {"x": "y"}, "by": [], "digest": "0"}, Path("out"))
    told = str(caught.value)
    assert len(told) < 600
    assert "digest is not recorded" in told
    assert told.endswith(START_OVER)
