"""WordNet's synsets by METEOR's rule: hand-checked words, the files of the original, and the recipe of the table."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from places import ROOT
from rejoinder.text.words import synsets, wordnet

JAR = ROOT / "models-cache" / "meteor" / "meteor-1.5.jar"
DATABASE = ROOT / "models-cache" / "wordnet"
RESOURCES = files("rejoinder").joinpath("resources")


def synonymous(one: str, other: str) -> bool:
    return not {*synsets(one)}.isdisjoint(synsets(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("car", "automobile"),
        ("cars", "automobile"),
        ("big", "large"),
        ("bigger", "large"),  # adj.exc: bigger -> big
        ("went", "move"),  # verb.exc: went -> go
        ("geese", "goose"),
        ("firemen", "fireman"),
        ("boxes", "box"),
        ("hoping", "hope"),
        ("nicest", "nice"),
        ("comics", "comic"),
    ],
)
def test_these_share_a_synset(one: str, other: str) -> None:
    assert synonymous(one, other)
    assert synonymous(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("car", "boat"), ("the", "a"), ("cross", "cros"), ("is", "i"), ("qwertys", "qwerty"), ("Car", "automobile")],
)
def test_these_share_none(one: str, other: str) -> None:
    assert not synonymous(one, other)


@pytest.mark.parametrize("word", ["", "zzzz", "new_york", "你好", "😀", "\n", "a" * 10_000])
def test_an_unknown_word_has_no_synsets(word: str) -> None:
    assert synsets(word) == ()


def test_synsets_ascend_and_are_counted_once() -> None:
    for word in ("set", "running", "went", "leaves"):
        assert list(synsets(word)) == sorted(set(synsets(word)))
    assert len(synsets("went")) == len(synsets("go")) == 35  # 4 as a noun, 30 as a verb, 1 as an adjective


def lines_of_jar(name: str) -> list[str]:
    if not JAR.exists():
        pytest.skip("needs models-cache/meteor/meteor-1.5.jar")
    with zipfile.ZipFile(JAR) as jar:
        return jar.read(f"synonym/english.{name}").decode("utf-8").splitlines()


@pytest.mark.slow
def test_words_have_the_synsets_of_the_original() -> None:
    """One code for each offset, whatever the word."""
    lines = lines_of_jar("synsets")
    theirs = {word: sorted(map(int, row.split())) for word, row in zip(lines[::2], lines[1::2], strict=True)}
    single = {word: offsets for word, offsets in theirs.items() if "_" not in word}
    table = wordnet()
    assert table.words == sorted(single)
    offset_of_code: dict[int, int] = {}
    for codes, word in zip(table.word_synsets, table.words, strict=True):
        ours = [
            offset_of_code.setdefault(code, offset) for code, offset in zip(codes.tolist(), single[word], strict=True)
        ]
        assert ours == single[word], word
    assert len(set(offset_of_code.values())) == len(offset_of_code)


def test_irregular_forms_are_those_of_the_original() -> None:
    lines = lines_of_jar("exceptions")
    theirs = {form for row in lines[1::2] for form in row.split()}
    assert set(wordnet().forms) == {form for form in theirs if "_" not in form}


@pytest.mark.slow
def test_the_recipe_makes_the_files_that_come_with_the_package(tmp_path: Path) -> None:
    if not DATABASE.exists():
        pytest.skip("needs models-cache/wordnet")
    recipe = ROOT / "recipes" / "wordnet_table.py"
    subprocess.run([sys.executable, str(recipe), str(DATABASE), str(tmp_path)], check=True)
    for name in ("wordnet.npz", "WORDNET-LICENSE"):
        assert (tmp_path / name).read_bytes() == RESOURCES.joinpath(name).read_bytes(), name
