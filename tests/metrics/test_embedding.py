"""The embedding metrics beside a second, plain implementation of the papers' formulas."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rejoinder.errors import CallError
from rejoinder.metrics.embedding import EmbeddingAverage, EmbeddingMetric, GreedyMatching, VectorExtrema
from rejoinder.types import Example

Vector = NDArray[np.float64]


@pytest.fixture(scope="module")
def vector_file(tmp_path_factory: pytest.TempPathFactory, bundled: list[Example]) -> str:
    """Random vectors for two thirds of the words of the bundled examples."""
    words = sorted({word for e in bundled for text in (e.response, *e.references) for word in text.lower().split()})
    rng = np.random.default_rng(1)
    path: Path = tmp_path_factory.mktemp("vectors") / "random.txt"
    lines = [
        f"{word} {' '.join(f'{value:.4f}' for value in rng.normal(0.3, 1, 8))}"
        for place, word in enumerate(words)
        if place % 3
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def read(path: str) -> dict[str, Vector]:
    rows = [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return {row[0]: np.array(row[1:], np.float64) for row in rows}


def cosine(left: Vector, right: Vector) -> float:
    return float(left @ right / math.sqrt((left @ left) * (right @ right)))


def average(words: list[Vector]) -> Vector:
    mean: Vector = np.mean(words, axis=0)
    return mean


def extrema(words: list[Vector]) -> Vector:
    return np.array([max(column, key=abs) for column in zip(*words, strict=True)])


def greedy(left: list[Vector], right: list[Vector]) -> float:
    def one_way(these: list[Vector], those: list[Vector]) -> float:
        return sum(max(cosine(a, b) for b in those) for a in these) / len(these)

    return (one_way(left, right) + one_way(right, left)) / 2


FORMULAS = {
    EmbeddingAverage: lambda left, right: cosine(average(left), average(right)),
    VectorExtrema: lambda left, right: cosine(extrema(left), extrema(right)),
    GreedyMatching: greedy,
}


@pytest.mark.parametrize("metric", FORMULAS)
@pytest.mark.parametrize("refs", ["max", "mean"])
def test_equals_the_formula(metric: type[EmbeddingMetric], refs: str, bundled: list[Example], vector_file: str) -> None:
    vectors = read(vector_file)
    scores = metric(vectors=vector_file, tokenise="whitespace", refs=refs).score(bundled)
    compared = 0
    for score, example in zip(scores, bundled, strict=True):
        own = [vectors[w] for w in example.response.lower().split() if w in vectors]
        each = []
        for text in example.references:
            theirs = [vectors[w] for w in text.lower().split() if w in vectors]
            if own and theirs:
                each.append(FORMULAS[metric](own, theirs))
        if each:
            compared += 1
            assert score == pytest.approx(max(each) if refs == "max" else np.mean(each), abs=1e-5)
        else:
            assert np.isnan(score)
    assert compared > 200


def test_centroid_is_the_mean_direction_of_the_references(bundled: list[Example], vector_file: str) -> None:
    vectors = read(vector_file)
    example = Example("1", (), "a b c", ("d e", "f g h"))
    words = iter(vectors)
    names = {letter: next(words) for letter in "abcdefgh"}
    renamed = [" ".join(names[letter] for letter in text.split()) for text in (example.response, *example.references)]
    own, first, second = ([vectors[word] for word in text.split()] for text in renamed)
    unit = [vector / np.linalg.norm(vector) for vector in (average(first), average(second))]
    expected = cosine(average(own), unit[0] + unit[1])
    metric = EmbeddingAverage(vectors=vector_file, tokenise="whitespace", refs="centroid")
    score = metric.score([Example("1", (), renamed[0], tuple(renamed[1:]))])[0]
    assert score == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("metric", FORMULAS)
def test_words_without_vectors(metric: type[EmbeddingMetric], vector_file: str) -> None:
    known = next(iter(read(vector_file)))
    examples = [
        Example("identical", (), "zzqx qqzy", ("zzqx qqzy",)),
        Example("different", (), "zzqx", ("qqzy",)),
        Example("one side", (), "zzqx", (known,)),
        Example("second reference", (), known, ("zzqx", known)),
    ]
    scores = metric(vectors=vector_file, tokenise="whitespace").score(examples)
    np.testing.assert_array_equal(scores, [1, np.nan, np.nan, 1])
    means = metric(vectors=vector_file, tokenise="whitespace", refs="mean").score(examples)
    np.testing.assert_array_equal(means, [1, np.nan, np.nan, 1])


def test_greedy_has_no_centroid() -> None:
    with pytest.raises(CallError, match="refs must be one of max, mean"):
        GreedyMatching(refs="centroid")


def test_signature_tells_the_vectors_apart(vector_file: str) -> None:
    ours, theirs = EmbeddingAverage().signature, EmbeddingAverage(vectors=vector_file).signature
    assert "vectors:conversational-50d@" in ours
    assert "vectors:random@" in theirs
    assert vector_file not in theirs
