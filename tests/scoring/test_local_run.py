"""Scoring on this machine: batch by batch, resumable, the same whatever the batches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from rejoinder.arrays import Ints
from rejoinder.data.source import Source, survey
from rejoinder.errors import CallError, DataError
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.scoring import run as local
from rejoinder.scoring.run import LocalRun
from rejoinder.scoring.score import choose_metrics
from rejoinder.scoring.score_file import read_score_file
from rejoinder.scoring.scorer import Scorer
from rejoinder.types import Example, Scores

LABELS = ("bleu-2", "distinct-1", "share-of-longest")


@dataclass(frozen=True, kw_only=True)
class ShareOfLongest(Metric):
    """Length over that of the longest reply: must look through all, and has a score of its own for a corpus."""

    name: ClassVar[str] = "share-of-longest"
    measures: ClassVar[str] = "a test"
    citation: ClassVar[str] = "-"

    longest: int | None = None

    def score_batch(self, batch: Batch) -> Scores:
        if self.longest is None:
            raise ValueError("nobody looked through the examples")
        return np.array([len(example.response) / self.longest for example in batch.examples])

    def observer(self) -> Longest:
        return Longest(self)

    def counter(self) -> Characters:
        return Characters()


@dataclass
class Longest:
    metric: ShareOfLongest
    found: int = 0

    def __len__(self) -> int:  # an observer may be empty, and must be asked all the same
        return self.found

    def add(self, batch: Batch) -> None:
        self.found = max(self.found, *(len(example.response) for example in batch.examples))

    def finish(self) -> Metric:
        return replace(self.metric, longest=self.found)


@dataclass
class Characters:
    total: int = 0

    def add(self, batch: Batch, rows: Ints) -> None:
        self.total += sum(len(batch.examples[row].response) for row in rows.tolist())

    def value(self) -> float:
        return float(self.total)


EXAMPLES = [
    Example(
        id=str(number),
        context=(),
        response=" ".join(["some", "words", "go", "round", "and", "round"][: number % 7]),
        references=("some words go and come",) if number % 5 else (),
        system="AB"[number % 2],
    )
    for number in range(50)
]


def make_run(examples: list[Example] | None = None, metrics: Mapping[str, Metric] | None = None) -> LocalRun:
    source = Source(EXAMPLES if examples is None else examples)
    chosen = metrics or choose_metrics(["bleu-2", "distinct-1", ShareOfLongest()]).metrics
    return LocalRun(source, survey(source), chosen, resamples=20)


@pytest.fixture(autouse=True, params=["kept in memory", "read again"])
def small_batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "BATCH", 8)
    monkeypatch.setattr(local, "KEPT", 1000 if request.param == "kept in memory" else 0)


def whole(folder: Path, suffix: str = ".jsonl") -> dict[str, bytes]:
    """What an undisturbed run leaves behind: file name -> content."""
    folder.mkdir()
    make_run().score(folder / f"scores{suffix}")
    return files_in(folder)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Interrupted(KeyboardInterrupt):
    pass


def interrupt(folder: Path, after: int, suffix: str = ".jsonl") -> Path:
    """A run that is stopped when it scores the batch of one example; the folder with what it left behind."""
    folder.mkdir()
    whole_score = Scorer.score

    def score(scorer: Scorer, batch: Batch) -> dict[str, Scores]:
        if EXAMPLES[after] in batch.examples:
            raise Interrupted
        return whole_score(scorer, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scorer, "score", score)
        with pytest.raises(Interrupted):
            make_run().score(folder / f"scores{suffix}")
    assert sorted(files_in(folder)) == [f"scores{suffix}.part", f"scores{suffix}.part.json"]
    return folder


def test_scores_do_not_depend_on_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    in_small = make_run().score()
    monkeypatch.setattr(local, "BATCH", 1000)
    in_one = make_run().score()
    for label in LABELS:
        np.testing.assert_array_equal(in_small[label], in_one[label])
    assert in_small.to_dict() == in_one.to_dict()


def test_observers_see_all_before_the_first_score_and_counters_go_by_system() -> None:
    table = make_run().score()
    assert table["share-of-longest"].max() == 1.0
    expected = {name: float(sum(len(e.response) for e in EXAMPLES if e.system == name)) for name in "AB"}
    assert {name: cell.corpus for name, cell in table.summary()["share-of-longest"].items()} == expected


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("after", [0, 9, 16, 49])
def test_an_interrupted_run_goes_on_to_the_same_files(after: int, suffix: str, tmp_path: Path) -> None:
    expected = whole(tmp_path / "whole", suffix)
    folder = interrupt(tmp_path / "stopped", after, suffix)
    written = (folder / f"scores{suffix}.part").read_bytes().count(b"\n")
    assert written == after // 8 * 8
    make_run().score(folder / f"scores{suffix}", resume=True)
    assert files_in(folder) == expected


def test_finished_rows_are_not_scored_again(tmp_path: Path) -> None:
    folder = interrupt(tmp_path / "stopped", 16)
    part = folder / "scores.jsonl.part"
    rows = part.read_text().splitlines(keepends=True)
    marked = json.loads(rows[3])
    marked["scores"]["bleu-2"] = 0.125  # as if computed so
    rows[3] = json.dumps(marked) + "\n"
    part.write_text("".join(rows))
    assert make_run().score(folder / "scores.jsonl", resume=True)["bleu-2"][3] == 0.125


@pytest.mark.parametrize("cut", [1, 2, 30, 200])
def test_a_row_that_was_cut_off_is_made_anew(cut: int, tmp_path: Path) -> None:
    expected = whole(tmp_path / "whole")
    folder = interrupt(tmp_path / "stopped", 16)
    part = folder / "scores.jsonl.part"
    part.write_bytes(part.read_bytes()[:-cut])
    make_run().score(folder / "scores.jsonl", resume=True)
    assert files_in(folder) == expected


def test_with_nothing_to_resume_a_run_starts_from_the_beginning(tmp_path: Path) -> None:
    expected = whole(tmp_path / "whole")
    (tmp_path / "fresh").mkdir()
    make_run().score(tmp_path / "fresh" / "scores.jsonl", resume=True)
    assert files_in(tmp_path / "fresh") == expected


def test_without_resume_an_interrupted_run_is_forgotten(tmp_path: Path) -> None:
    expected = whole(tmp_path / "whole")
    folder = interrupt(tmp_path / "stopped", 20)
    (folder / "scores.jsonl.part").write_text("nonsense\n")
    make_run().score(folder / "scores.jsonl")
    assert files_in(folder) == expected


def changed_runs() -> dict[str, LocalRun]:
    other = [*EXAMPLES[:-1], replace(EXAMPLES[-1], response="changed")]
    return {
        "data": make_run(other),
        "fewer": make_run(EXAMPLES[:-1]),
        "metrics": make_run(metrics=choose_metrics(["bleu-2"]).metrics),
        "parameters": make_run(
            metrics={**choose_metrics(["bleu-2", "distinct-1"]).metrics, "share-of-longest": ShareOfLongest(longest=3)}
        ),
        "seed": replace(make_run(), seed=1),
    }


CHANGED = {
    "data": "other data",
    "fewer": "other data, replies: 50, now 49",
    "metrics": "distinct-1 left out, share-of-longest left out",
    "parameters": "share-of-longest: none, now longest:3",
    "seed": "seed: 0, now 1",
}


@pytest.mark.parametrize("change", CHANGED)
def test_another_run_may_not_go_on(change: str, tmp_path: Path) -> None:
    folder = interrupt(tmp_path / "stopped", 20)
    before = files_in(folder)
    with pytest.raises(CallError) as caught:
        changed_runs()[change].score(folder / "scores.jsonl", resume=True)
    told = f"belongs to another run ({CHANGED[change]}): choose another output, or start over without --resume"
    assert str(caught.value) == f"{folder / 'scores.jsonl.part'} {told}"
    assert files_in(folder) == before, "what was scored is kept"


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff", b"[" * 200_000], ids=lambda value: str(value[:4]))
def test_files_that_no_run_wrote_are_neither_resumed_nor_overwritten(
    content: bytes, resume: bool, tmp_path: Path
) -> None:
    folder = interrupt(tmp_path / "stopped", 20)
    target, state = folder / "scores.jsonl", folder / "scores.jsonl.part.json"
    state.write_bytes(content)
    before = files_in(folder)
    with pytest.raises(CallError) as caught:
        make_run().score(target, resume=resume)
    assert str(caught.value) == (
        f"{state} is not from an interrupted run, and a run into {target} would overwrite it: move it away, or choose "
        "another output"
    )
    assert files_in(folder) == before


@pytest.mark.parametrize(
    "row",
    [
        b"}",
        b'{"id": "3"}',
        b'{"scores": [{}]}',
        b'{"scores": {}}',
        b'{"scores": {"bleu-2": 1}}',
        b'{"scores": {"bleu-2": "x", "distinct-1": 1, "share-of-longest": 1}}',
        b'{"scores": {"bleu-2": {}, "distinct-1": 1, "share-of-longest": 1}}',
        b'{"scores": {"bleu-2": ' + b"9" * 400 + b', "distinct-1": 1, "share-of-longest": 1}}',
        b'{"scores": {"bleu-2": 1, "distinct-1": 1, "share-of-longest": 1, "other": 1}}',
        b'{"id": "\xff"}',
    ],
    ids=lambda value: str(value[:40]),
)
def test_a_damaged_row_is_told(row: bytes, tmp_path: Path) -> None:
    folder = interrupt(tmp_path / "stopped", 20)
    part = folder / "scores.jsonl.part"
    rows = part.read_bytes().splitlines()
    part.write_bytes(b"\n".join([*rows[:3], row, *rows[4:], b""]))
    with pytest.raises(DataError) as caught:
        make_run().score(folder / "scores.jsonl", resume=True)
    problem = (
        "is damaged: expected a row with the scores of this run; choose another output, or start over without --resume"
    )
    assert str(caught.value) == f"{part}:4: {problem}"


def test_more_rows_than_examples_are_told(tmp_path: Path) -> None:
    folder = interrupt(tmp_path / "stopped", 20)
    part = folder / "scores.jsonl.part"
    part.write_bytes(part.read_bytes() * 4)
    with pytest.raises(DataError, match="has more than 50 rows: expected one per example; choose another output"):
        make_run().score(folder / "scores.jsonl", resume=True)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
@pytest.mark.parametrize("moved", ["scores", "metadata"])
def test_a_crash_while_publishing_pairs_no_scores_with_meta_data_of_others(
    moved: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"scores{suffix}"
    make_run().score(target)
    replace_file = Path.replace

    def crash(path: Path, to: Path) -> Path:
        if (to == target) == (moved == "scores") and to in {target, tmp_path / "scores.meta.json"}:
            raise Interrupted
        return replace_file(path, to)

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(Interrupted):
        make_run(metrics=choose_metrics(["bleu-2(smooth=none)"]).metrics).score(target)
    signatures = read_score_file(target).signatures
    assert set(signatures.values()) == {"unknown (no metadata next to the scores)"}
    assert set(signatures) == (set(LABELS) if moved == "scores" else {"bleu-2(smooth=none)"})


@pytest.mark.parametrize("count", [49, 51])
def test_data_that_change_during_the_run_are_an_error(count: int, tmp_path: Path) -> None:
    run = make_run()
    examples = [*EXAMPLES, replace(EXAMPLES[0], id="new")][:count]
    with pytest.raises(DataError, match="changed while it was read: expected 50 examples"):
        replace(run, examples=examples).score(tmp_path / "scores.jsonl")
    assert files_in(tmp_path) == {}


def test_an_error_of_the_call_leaves_nothing_behind(tmp_path: Path) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Refusing(ShareOfLongest):
        def score_batch(self, batch: Batch) -> Scores:
            raise CallError("no such thing")

        def observer(self) -> Any:
            return None

    with pytest.raises(CallError):
        make_run(metrics={"x": Refusing()}).score(tmp_path / "scores.csv")
    assert files_in(tmp_path) == {}


def test_infinite_scores_are_told_as_unknown(tmp_path: Path) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Infinite(ShareOfLongest):
        cannot_score: ClassVar[str] = "no end to it"

        def score_batch(self, batch: Batch) -> Scores:
            return np.full(len(batch), np.inf)

    table = make_run(metrics={"x": Infinite()}).score(tmp_path / "scores.jsonl")
    rows = (tmp_path / "scores.jsonl").read_text().splitlines()
    assert {json.loads(row)["scores"]["x"] for row in rows} == {None}
    assert "x could not score 50 of 50 replies (no end to it)" in table.notes


def test_large_columns_are_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = make_run().score()
    monkeypatch.setattr("rejoinder.arrays.LARGEST_IN_MEMORY", 100)
    on_disk = make_run().score()
    assert isinstance(on_disk["bleu-2"], np.memmap)
    assert on_disk.to_dict() == in_memory.to_dict()
