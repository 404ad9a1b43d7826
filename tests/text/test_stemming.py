"""Stems against those that METEOR 1.5's own stemmer gives.

The golden stems are what `java -cp meteor-1.5.jar Stemmer en` prints, word by word; snowballstemmer 2.2 gives the same.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from places import ROOT
from rejoinder.text.words import stem, wordnet

JAR = ROOT / "models-cache" / "meteor" / "meteor-1.5.jar"

GOLDEN = {
    "hello": "hello", "dogs": "dog", "running": "run", "runs": "run", "ran": "ran", "happily": "happili",
    "happiness": "happi", "organize": "organ", "organization": "organ", "organizing": "organ",
    "university": "univers", "universal": "univers", "evening": "even", "added": "ad", "adding": "ad",
    "dying": "die", "skies": "sky", "news": "news", "sky": "sky", "only": "onli", "early": "earli",
    "inning": "inning", "proceed": "proceed", "succeed": "succeed", "exceed": "exceed", "generous": "generous",
    "general": "general", "generate": "generat", "communism": "communism", "communicate": "communic",
    "arsenal": "arsenal", "arsenic": "arsenic", "youth": "youth", "boyish": "boyish", "sayyid": "sayyid",
    "heyyy": "heyyy", "yes": "yes", "'cause": "caus", "dog's": "dog", "dogs'": "dog", "dogs's'": "dog",
    "ties": "tie", "died": "die", "cries": "cri", "gas": "gas", "kiwis": "kiwi", "this": "this", "bus": "bus",
    "caresses": "caress", "hopping": "hop", "hoped": "hope", "luxuriated": "luxuri", "fed": "fed",
    "agreed": "agre", "feedly": "feed", "sing": "sing", "rational": "ration", "conditional": "condit",
    "relational": "relat", "digitizer": "digit", "operator": "oper", "feudalism": "feudal",
    "hopefulness": "hope", "decisiveness": "decis", "sensibility": "sensibl", "analogy": "analog",
    "geologist": "geologist", "vying": "vy", "apology": "apolog", "carefully": "care", "carelessly": "careless",
    "formative": "format", "formality": "formal", "electrical": "electr", "electricity": "electr",
    "adoption": "adopt", "adjustment": "adjust", "replacement": "replac", "controlling": "control",
    "rolled": "roll", "rate": "rate", "cease": "ceas", "bead": "bead", "bed": "bed", "trap": "trap", "y": "y",
    "yyes": "yye", "internationally": "intern",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), GOLDEN.items())
def test_a_word_has_the_stem_of_the_original(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("word", ["", "a", "ab", "'", "''", "y", "yy", "'s", "'s's'", "😀", "你好吗", "ß"])
def test_odd_words_have_a_stem(word: str) -> None:
    assert isinstance(stem(word), str)


@pytest.mark.slow
@pytest.mark.skipif(not JAR.exists(), reason="needs models-cache/meteor/meteor-1.5.jar")
@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
def test_the_words_of_wordnet_have_the_stems_of_the_original() -> None:
    words = wordnet().words[::4] + list(wordnet().forms)
    words += [word + suffix for word in words[::3] for suffix in ("s", "ed", "ing", "ly", "'s", "ational", "ies")]
    command = ["java", "-Dfile.encoding=UTF-8", "-cp", str(JAR), "Stemmer", "en"]
    printed = subprocess.run(command, input="\n".join(words).encode(), capture_output=True, check=True).stdout
    expected = printed.decode("utf-8").split()
    assert len(expected) == len(words) > 50_000
    assert [(word, stem(word)) for word in words] == list(zip(words, expected, strict=True))
