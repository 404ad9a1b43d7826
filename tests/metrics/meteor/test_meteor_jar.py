"""METEOR against the original program itself, where it is at hand: models-cache/meteor with meteor-1.5.jar, and Java.

On real replies and references, lower-cased and split at white space, each pair and the corpus must score the same. The
one known difference is that the original tells words apart by Java's 32-bit hash, to which "let" and "n't" are
the same word: pairs with both are left out here and counted in docs/reference/meteor.md.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from meteor_cases import corpus_score, encoded, meteor_statistics
from places import ROOT
from rejoinder.metrics.meteor.matching import MeteorParameters, meteor_function_words
from rejoinder.metrics.meteor.metric import score_from_statistics
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable

JAR = ROOT / "models-cache" / "meteor" / "meteor-1.5.jar"
JUDGED = ROOT.parent / "shared" / "data" / "judged"
JUDGED_SETS = ("zhao2020_dailydialog", "zhao2020_personachat", "gupta2019_dailydialog", "humod", "dstc6_t2")

pytestmark = [
    pytest.mark.skipif(not JAR.exists(), reason="needs models-cache/meteor/meteor-1.5.jar"),
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"),
]

Pair = tuple[str, str]


def original(pairs: list[Pair], folder: Path, *options: str) -> tuple[NDArray[np.float64], float]:
    """The scores that the original prints for (reply, reference), and its score of the corpus."""
    (folder / "replies").write_text("".join(f"{reply}\n" for reply, _ in pairs), "utf-8")
    (folder / "references").write_text("".join(f"{reference}\n" for _, reference in pairs), "utf-8")
    command = [
        "java",
        "-Dfile.encoding=UTF-8",
        "-Xmx1G",
        "-jar",
        str(JAR),
        "replies",
        "references",
        "-l",
        "en",
        *options,
    ]
    printed = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout.decode("utf-8").splitlines()
    scores = [float(line.split("\t")[1]) for line in printed if line.startswith("Segment")]
    assert len(scores) == len(pairs)
    return np.array(scores), float(printed[-1].split()[-1])


def ours(pairs: list[Pair], table: ParaphraseTable | None = None) -> tuple[NDArray[np.float64], float]:
    parameters = MeteorParameters()
    cases = encoded([(reply, [reference]) for reply, reference in pairs])
    statistics = meteor_statistics(cases, parameters, table)
    return score_from_statistics(statistics, parameters), corpus_score(statistics, parameters)


def java_hash(word: str) -> int:
    """String.hashCode, without its sign."""
    units = np.frombuffer(word.encode("utf-16-le"), "<u2").tolist()
    code = 0
    for unit in units:
        code = (31 * code + unit) % 2**32
    return code


def confuses_words(pair: Pair) -> bool:
    """Whether the original takes two different words of the pair for the same."""
    words = {*pair[0].split(), *pair[1].split()}
    return len({java_hash(word) for word in words}) < len(words)


@pytest.fixture
def pairs() -> list[Pair]:
    """300 pairs of each set."""
    if not all((JUDGED / f"{name}.jsonl.gz").exists() for name in JUDGED_SETS):
        pytest.skip("needs ../shared/data/judged")
    chosen = []
    for name in JUDGED_SETS:
        with gzip.open(JUDGED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        found = [
            (" ".join(record["response"].lower().split()), " ".join(reference.lower().split()))
            for record in records
            for reference in record["references"][:3]
        ]
        chosen += random.Random(0).sample(found, 300)
    return chosen


@pytest.mark.slow
@pytest.mark.shared_data
def test_real_pairs_score_the_same(pairs: list[Pair], tmp_path: Path) -> None:
    kept = [pair for pair in pairs if not confuses_words(pair)]
    assert len(pairs) == 1500
    assert len(kept) >= 0.99 * len(pairs)
    expected, expected_corpus = original(kept, tmp_path, "-m", "exact stem synonym")
    scores, corpus = ours(kept)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    assert corpus == pytest.approx(expected_corpus, abs=1e-12)


def test_rows_full_of_choices_score_the_same(tmp_path: Path) -> None:
    words = (
        "like likes liked love loves dog dogs hound the a . , i you run runs ran car automobile cars big large".split()
    )
    chance = random.Random(1)

    def row(few: list[str]) -> str:
        return " ".join(chance.choice(few) for _ in range(chance.randint(1, 25)))

    pairs = []
    for _ in range(400):
        few = chance.sample(words, chance.choice([2, 4, 8, len(words)]))
        pairs.append((row(few), row(few)))
    expected, expected_corpus = original(pairs, tmp_path, "-m", "exact stem synonym")
    scores, corpus = ours(pairs)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    assert corpus == pytest.approx(expected_corpus, abs=1e-12)


def test_rows_full_of_phrases_score_the_same(tmp_path: Path) -> None:
    chance = random.Random(2)

    def phrase(longest: int) -> str:
        return " ".join(chance.choice("abcdef") for _ in range(chance.randint(1, longest)))

    entries = {(phrase(3), phrase(3)) for _ in range(60)}
    text = "".join(f"0.1\n{one}\n{other}\n" for one, other in sorted(entries))
    (tmp_path / "table.gz").write_bytes(gzip.compress(text.encode()))
    pairs = [(phrase(14), phrase(14)) for _ in range(400)]
    expected, expected_corpus = original(pairs, tmp_path, "-a", "table.gz")
    scores, corpus = ours(pairs, ParaphraseTable.read(tmp_path / "table.gz"))
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    assert corpus == pytest.approx(expected_corpus, abs=1e-12)


def test_the_function_words_are_the_same() -> None:
    with zipfile.ZipFile(JAR) as jar:
        words = jar.read("function/english.words").decode("utf-8").splitlines()
    assert meteor_function_words() == frozenset(words)
