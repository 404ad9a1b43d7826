"""Scores, results, saved folders and imports are what they were when tests/frozen was written.

Numbers may differ as docs/reference/determinism.md says, because processors differ; `make frozen` compares bytes.
A change that is meant to change a frozen file says why, and writes it again (tests/frozen/freeze.py).
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freeze
from freeze import BUNDLED, FROZEN, METRICS, RUNS
from rejoinder import registry
from tolerance import TOLERANCE

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.(\d+))?(?:[eE][-+]?\d+)?(?![\w])")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the runs read and write, in the order of the list."""
    yield tmp_path_factory.mktemp("frozen")
    freeze.stop_judge()


def frozen(path: str) -> bytes:
    return (FROZEN / path).read_bytes()


def same_number(found: float, expected: float, unit: float = 0.0) -> bool:
    """Whether two numbers are within the tolerance, or one unit of the last printed digit."""
    if np.isnan(found) or np.isnan(expected):
        return bool(np.isnan(found) and np.isnan(expected))
    return abs(found - expected) <= max(TOLERANCE * max(1.0, abs(expected)), unit * 1.001)


def split_text(text: str) -> tuple[str, list[tuple[float, float]]]:
    """A text with # for each number, white space aside, and each number with the unit of its last printed digit."""
    numbers = [
        (float(match[0].replace(",", "")), 10.0 ** -len(match[1] or "")) for match in NUMBER.finditer(text) if match[1]
    ]
    words = NUMBER.sub(lambda match: "#" if match[1] else match[0], text)
    return " ".join(words.split()), numbers


def assert_same_text(found: str, expected: str, within: float = 0.0) -> None:
    """The same words and whole numbers; other numbers agree within their last printed digit."""
    (words, numbers), (expected_words, expected_numbers) = split_text(found), split_text(expected)
    assert words == expected_words
    for (number, _), (other, unit) in zip(numbers, expected_numbers, strict=True):
        assert same_number(number, other, max(unit, within)), f"{number}, not {other}"


def assert_same_json(found: Any, expected: Any, path: str = "", within: float = 0.0) -> None:
    """The same keys in the same order, texts and numbers."""
    if isinstance(expected, dict):
        assert isinstance(found, dict), path
        assert list(found) == list(expected), path
        for key, value in expected.items():
            assert_same_json(found[key], value, f"{path}.{key}", within)
    elif isinstance(expected, list):
        assert isinstance(found, list), path
        assert len(found) == len(expected), path
        for place, value in enumerate(expected):
            assert_same_json(found[place], value, f"{path}[{place}]", within)
    elif isinstance(expected, float):
        assert isinstance(found, float), path
        assert same_number(found, expected, within), f"{path}: {found}, not {expected}"
    elif isinstance(expected, str):
        assert isinstance(found, str), path
        assert_same_text(found, expected, within)
    else:
        assert found == expected, path


def assert_same(path: str, found: bytes, within: float = 0.0) -> None:
    """A file of a run as it was frozen."""
    expected = frozen(path)
    if path.endswith(".gz"):
        assert_same_text(gzip.decompress(found).decode(), gzip.decompress(expected).decode(), within)
    elif path.endswith(".json"):
        assert_same_json(json.loads(found), json.loads(expected), within=within)
    elif path.endswith(".jsonl"):
        for line, wanted in zip(found.splitlines(), expected.splitlines(), strict=True):
            assert_same_json(json.loads(line), json.loads(wanted), within=within)
    else:
        assert_same_text(found.decode(), expected.decode(), within)


def test_every_name_is_frozen() -> None:
    assert set(METRICS) == {*registry.METRICS, *registry.ALIASES}
    assert set(BUNDLED) == set(registry.SHIPPED_EVALUATORS)


def test_every_kind_of_folder_is_frozen() -> None:
    kinds = {json.loads(frozen(f"folders/{name}/config.json"))["name"] for name in freeze.folder_names()}
    assert kinds == {*registry.EVALUATORS, *registry.REPLY_MODELS, *registry.ENCODERS}


def test_scores() -> None:
    names, signatures, *rows = [line.split("\t") for line in frozen("scores.tsv").decode().splitlines()]
    ids, found_signatures, columns = freeze.scores()
    assert names == ["id", *columns]
    assert signatures == ["signature", *found_signatures.values()]
    assert [row[0] for row in rows] == ids
    expected = np.array([[float(cell) for cell in row[1:]] for row in rows])
    for place, (name, column) in enumerate(columns.items()):
        off = [
            f"{name} of {ids[row]}: {score}, not {expected[row, place]}"
            for row, score in enumerate(column.tolist())
            if not same_number(score, expected[row, place])
        ]
        assert not off, off[:5]


@pytest.mark.parametrize("name", freeze.folder_names())
def test_a_saved_folder(name: str) -> None:
    assert_same_json(freeze.used(FROZEN / "folders" / name), json.loads(frozen("folders.json"))[name])


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run(run: freeze.Run, folder: Path) -> None:
    keys = ""
    for path, content in freeze.run_outputs(run, folder):
        assert_same(path, content, run.within)
        if path.endswith(".json"):
            keys = freeze.keys_section(run, content)
    if keys:
        assert keys in frozen("keys.txt").decode().split("\n\n")


def test_what_the_help_of_each_verb_imports() -> None:
    assert freeze.imports_of_help() == json.loads(frozen("imports.json"))["help"]


@pytest.mark.parametrize("name", ["score", "compare-two", "compare-default", "meta", "check", "metrics"])
def test_what_a_run_imports(name: str, folder: Path) -> None:
    [run] = [run for run in RUNS if run.name == name]
    assert freeze.imports_of(run, folder) == json.loads(frozen("imports.json"))["runs"][name]
