"""ARPA files: written and read, scored by KenLM, and errors that name the line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rejoinder.arrays import Ragged
from rejoinder.errors import DataError
from rejoinder.models.arpa import read_arpa, write_arpa
from rejoinder.models.ngram import NgramCounts, NgramModel, ended, prune
from rejoinder.models.smoothing import good_turing, kneser_ney
from rejoinder.text.tokens import token_codes

RNG = np.random.default_rng(0)
LARGER = [" ".join(RNG.choice(list("aaaaabbbccdefghij"), length % 7 + 1)) for length in range(60)]
TEXTS = ["a b c", "g f unheard a", "unheard", "d d d d d e e", "a"]


def counted(order: int) -> NgramCounts:
    vocabulary, rows = token_codes(pl.Series(LARGER), "whitespace", lowercase=True)
    return NgramCounts.of(vocabulary.to_list(), rows, order)


MODELS: dict[str, Callable[[], NgramModel]] = {
    "good-turing": lambda: good_turing(counted(3)),
    "closed": lambda: good_turing(counted(2), open_vocabulary=False),
    "pruned": lambda: prune(good_turing(counted(3)), 1e-3),
    "kneser-ney": lambda: kneser_ney(counted(4)),
    "single words": lambda: kneser_ney(counted(1)),
}

FILE = """
\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-0.5\t</s>
-99\t<s>\t-0.2
-0.4\ta\t-0.1
-0.6\tb

\\2-grams:
-0.3\t<s> a
-0.1\ta b

\\end\\
"""


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> NgramModel:
    return MODELS[request.param]()


def sentences(model: NgramModel) -> Ragged:
    vocabulary, rows = token_codes(pl.Series(TEXTS), "whitespace", lowercase=True)
    return ended(Ragged(model.numbers(vocabulary.to_list())[rows.values], rows.offsets))


@pytest.mark.parametrize("name", ["lm.arpa", "lm.arpa.gz"])
def test_written_and_read_it_is_the_same(model: NgramModel, name: str, tmp_path: Path) -> None:
    write_arpa(model, tmp_path / name)
    again = read_arpa(tmp_path / name)
    assert again.words == model.words
    assert again.is_open == model.is_open
    for ours, theirs in zip(model.levels, again.levels, strict=True):
        np.testing.assert_array_equal(theirs.keys, ours.keys)
        np.testing.assert_allclose(theirs.log_prob, ours.log_prob, atol=1e-7)
        np.testing.assert_allclose(theirs.back_off, ours.back_off, atol=1e-7)


def test_kenlm_computes_the_same(model: NgramModel, tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm", reason="needs KenLM's Python module")
    if model.order == 1:
        pytest.skip("KenLM reads models of two words and more")
    write_arpa(model, tmp_path / "lm.arpa")
    peer = kenlm.Model(str(tmp_path / "lm.arpa"))
    rows = sentences(model)
    scored = model.word_log_probs(rows)
    expected = [log for text in TEXTS for log, _, _ in peer.full_scores(text)]
    known = ~np.isnan(scored)  # where unknown words have no probability KenLM gives them 10^-100
    assert known.sum() > 10
    np.testing.assert_allclose(scored[known], np.array(expected)[known], atol=1e-6)


def test_a_file_by_hand(tmp_path: Path) -> None:
    (tmp_path / "lm.arpa").write_text(FILE)
    model = read_arpa(tmp_path / "lm.arpa")
    assert model.words == ("<unk>", "<s>", "</s>", "a", "b")
    assert not model.is_open
    row = Ragged.of([model.numbers(["a", "b", "b"]).tolist()])
    # p(a | <s>), p(b | a) are there; b after b: b has no weight of its own, so 10^-.6 alone
    np.testing.assert_allclose(model.word_log_probs(row), [-0.3, -0.1, -0.6])
    unseen = model.last_word_log_probs(np.array([[1, 4], [3, 3], [4, 3]]))
    np.testing.assert_allclose(unseen, [-0.2 - 0.6, -0.1 - 0.4, -0.4])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("\\data\\", "data", r"expected \\data\\"),
        ("ngram 2=2", "ngram 3=2", r"lm\.arpa:4: expected 'ngram 2=\.\.\.'"),
        ("ngram 2=2", "ngram 2=3", "contains 2 2-grams: expected 3"),
        ("-0.1\ta b", "-0.1\ta x", r"lm\.arpa:14: the word 'x' is not among the 1-grams"),
        ("-0.1\ta b", "-0.1\t<s> a", r"lm\.arpa:14: this n-gram occurs twice"),
        ("-0.1\ta b", "much\ta b", r"lm\.arpa:14: expected a number, 2 words"),
        ("-0.1\ta b", "-0.1\ta", r"lm\.arpa:14: expected a number, 2 words"),
        ("\\2-grams:", "\\3-grams:", r"lm\.arpa:12: expected \\2-grams:"),
        ("\\end\\", "", r"ends before \\end\\"),
    ],
)
def test_broken_files(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert old in FILE
    (tmp_path / "lm.arpa").write_text(FILE.replace(old, new))
    with pytest.raises(DataError, match=problem):
        read_arpa(tmp_path / "lm.arpa")


def test_the_prefix_of_an_ngram_must_be_in_the_file(tmp_path: Path) -> None:
    longer = FILE.replace("ngram 2=2", "ngram 2=2\nngram 3=1").replace("\\end\\", "\\3-grams:\n-0.1\tb a b\n\n\\end\\")
    (tmp_path / "lm.arpa").write_text(longer)
    with pytest.raises(DataError, match="'b a', the prefix of this n-gram, is not in the file"):
        read_arpa(tmp_path / "lm.arpa")


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_arpa(tmp_path / "lm.arpa")
    (tmp_path / "lm.arpa").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not an ARPA file"):
        read_arpa(tmp_path / "lm.arpa")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("ngram 2=2", f"ngram 2={'9' * 5000}", r"lm\.arpa:4: expected 'ngram 2=\.\.\.'"),
        ("ngram 2=2", f"ngram {'9' * 5000}=2", r"lm\.arpa:4: expected 'ngram 2=\.\.\.'"),
        ("ngram 2=2", f"ngram 2=1{'0' * 17}", "contains 2 2-grams: expected 1000"),
        ("-0.1\ta b", "nan\ta b", r"lm\.arpa:14: expected a number, 2 words"),
        ("-0.1\ta b", "1e400\ta b", r"lm\.arpa:14: expected a number, 2 words"),
        ("-0.1\ta b", f"-0.1\ta {'b' * 100_000}", r"lm\.arpa:14: the word 'bbb"),
    ],
)
def test_numbers_and_words_of_any_length(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert old in FILE
    (tmp_path / "lm.arpa").write_text(FILE.replace(old, new))
    with pytest.raises(DataError, match=problem) as caught:
        read_arpa(tmp_path / "lm.arpa")
    assert len(str(caught.value)) < 500


def test_damaged_gzip_files_and_folders(tmp_path: Path) -> None:
    packed = gzip.compress(FILE.encode() * 100)
    for damaged in (packed[:-20], packed[:30] + b"????" + packed[34:], packed[:-8] + b"????" + packed[-4:], b"no gzip"):
        (tmp_path / "lm.arpa.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"lm\.arpa\.gz: is not an ARPA file \("):
            read_arpa(tmp_path / "lm.arpa.gz")
    with pytest.raises(DataError, match="is a folder: expected a file"):
        read_arpa(tmp_path)
