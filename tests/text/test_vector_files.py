"""Vector files: every format gives the same words and numbers, every fault its own message and place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rejoinder.errors import DataError
from rejoinder.text import vectors
from rejoinder.text.vectors import detect_layout, read_vector_file

WORDS = ["the", ",", "don't", "café", '"', "東京", "#", "1999"]
MATRIX = np.random.default_rng(7).normal(size=(len(WORDS), 5)).astype(np.float32)


def lines_of(words: list[str], matrix: NDArray[np.float32], end: str = "\n") -> str:
    # repr of a float32 is the shortest text that reads back as the same number.
    return "".join(
        " ".join([word, *(str(value) for value in row)]) + end for word, row in zip(words, matrix, strict=True)
    )


def glove(words: list[str] = WORDS, matrix: NDArray[np.float32] = MATRIX) -> bytes:
    return lines_of(words, matrix).encode()


def word2vec_text(words: list[str] = WORDS, matrix: NDArray[np.float32] = MATRIX) -> bytes:
    return f"{len(words)} {matrix.shape[1]}\n".encode() + glove(words, matrix)


def fasttext(words: list[str] = WORDS, matrix: NDArray[np.float32] = MATRIX) -> bytes:
    return f"{len(words)} {matrix.shape[1]}\n".encode() + lines_of(words, matrix, " \n").encode()


def word2vec_binary(words: list[str] = WORDS, matrix: NDArray[np.float32] = MATRIX, end: bytes = b"\n") -> bytes:
    header = f"{len(words)} {matrix.shape[1]}\n".encode()
    return header + b"".join(
        word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, matrix, strict=True)
    )


FORMATS: dict[str, Callable[[], bytes]] = {
    "glove": glove,
    "word2vec text": word2vec_text,
    "fasttext": fasttext,
    "word2vec binary": word2vec_binary,
    "gensim binary": lambda: word2vec_binary(end=b""),
    "windows line ends": lambda: word2vec_text().replace(b"\n", b"\r\n"),
    "tabs": lambda: glove().replace(b" ", b"\t"),
    "no last line end": lambda: glove().rstrip(),
    "blank last lines": lambda: word2vec_text() + b"\n\n",
}


def write(folder: Path, content: bytes, name: str = "tiny.vec") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


# --- formats


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_set(tmp_path: Path, name: str) -> None:
    words, matrix = read_vector_file(write(tmp_path, FORMATS[name]()))
    assert words == WORDS
    np.testing.assert_array_equal(matrix, MATRIX)
    assert matrix.dtype == np.float32


@pytest.mark.parametrize("chunk", [1, 60, 200])
def test_chunk_borders_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(vectors, "_CHUNK_BYTES", chunk)
    monkeypatch.setattr(vectors, "_BINARY_BLOCK", 1 + chunk % 3)
    for content in (glove(), fasttext(), word2vec_binary()):
        words, matrix = read_vector_file(write(tmp_path, content), quiet=True)
        assert words == WORDS
        np.testing.assert_array_equal(matrix, MATRIX)


@pytest.mark.parametrize("make", [glove, word2vec_text, fasttext, word2vec_binary])
def test_the_first_of_a_repeated_word_stays(
    tmp_path: Path, make: Callable[[list[str], NDArray[np.float32]], bytes]
) -> None:
    words = ["a", "b", "a", "c", "b"]
    found, matrix = read_vector_file(write(tmp_path, make(words, MATRIX[:5])))
    assert found == ["a", "b", "c"]
    np.testing.assert_array_equal(matrix, MATRIX[[0, 1, 3]])


@pytest.mark.parametrize("make", [glove, word2vec_text, fasttext])
def test_words_with_spaces_are_kept_in_text(
    tmp_path: Path, make: Callable[[list[str], NDArray[np.float32]], bytes]
) -> None:
    words = [". . .", "new york", "to name@domain.com", "plain", "\u00a0", "\u2028x"]
    found, matrix = read_vector_file(write(tmp_path, make(words, MATRIX[:6])))
    assert found == words
    np.testing.assert_array_equal(matrix, MATRIX[:6])


def test_gensim_files_are_read_as_gensim_reads_them(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models", reason="gensim writes the files of this test")
    keyed = models.KeyedVectors(vector_size=5)
    keyed.add_vectors(WORDS, MATRIX)
    for binary in (False, True):
        path = tmp_path / f"gensim-{binary}"
        keyed.save_word2vec_format(str(path), binary=binary)
        words, matrix = read_vector_file(path)
        assert words == WORDS
        np.testing.assert_array_equal(matrix, MATRIX)


def test_detection_tells_text_from_binary(tmp_path: Path) -> None:
    assert detect_layout(write(tmp_path, glove())).words is None
    assert not detect_layout(write(tmp_path, fasttext())).binary
    assert detect_layout(write(tmp_path, word2vec_binary())).binary
    # A text file whose first vector is damaged is still text, and says what is wrong with it.
    assert not detect_layout(write(tmp_path, b"2 2\na 1 x\nb 1 2\n")).binary


# --- faults

BINARY = word2vec_binary(["ab", "cd"], MATRIX[:2], end=b"")  # a header of 4 bytes, then 2 x (3 + 20)
NOT_FINITE = word2vec_binary(["a", "b"], np.array([[1, 2], [3, np.inf]], np.float32))
THREE, TWO = "expected a word and 3 numbers", "expected a word and 2 numbers"
NEITHER = "expected a header (number of words, dimensions) or a word and its numbers"
WHOLE = "is the file complete?"
HEADER = "expected a number of words and 1 to 65,536 dimensions"
SECOND = "t: word 2 of 2 at byte 27"
FAULTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "t: expected word vectors, found an empty file"),
    "no vectors": (b"0 5\n", "t: expected word vectors, found none"),
    "blank": (b"\n\n \n", f"t:1: {NEITHER}, found ''"),
    "no dimensions": (b"3 0\na\n", f"t:1: the header announces '3 0': {HEADER}"),
    "11 GiB": (b"1 3000000000\na 1 2\n", f"t:1: the header announces '1 3000000000': {HEADER}"),
    "11 GiB in binary": (b"1 3000000000\na \x00\x01", f"t:1: the header announces '1 3000000000': {HEADER}"),
    "10 to the 400th words": (
        b"1" + b"0" * 400 + b" 2\na 1 2\n",
        f"t:1: the header announces '1{'0' * 38}...: {HEADER}",
    ),
    "5,000 digits of dimensions": (
        b"1 " + b"9" * 5000 + b"\na 1 2\n",
        f"t:1: the header announces '1 {'9' * 37}...: {HEADER}",
    ),
    "a million words": (b"1000000 3\na 1 2 3\n", f"t:1: the header announces 1000000 words, found 1: {WHOLE}"),
    "too many dimensions": (b"a " + b"1 " * 100_000, f"t:1: {NEITHER}, found 'a {'1 ' * 18}1..."),
    "prose": (b"once upon a time\n", f"t:1: {NEITHER}, found 'once upon a time'"),
    "bytes": (b"\x93NUMPY\x01\n", f"t:1: {NEITHER}, found '\\\\x93NUMPY\\x01'"),
    "too few": (b"a 1 2 3\nb 1 2 3\nc 1 2\n", f"t:3: {THREE}, found 2 numbers"),
    "too many": (b"a 1 2 3\nb 1 2 3 4\nc 1 2 3\n", f"t:2: {THREE}, found 4 numbers"),
    "odd first line": (b"a 1 2\nb 1 2 3\nc 1 2 3\n", f"t:1: {THREE}, found 2 numbers"),
    "odd header": (b"2 3\na 1 2\nb 1 2\n", f"t:2: {THREE}, found 2 numbers"),
    "not a number": (b"2 3\na 1 2 3\nb 1 x 3\n", f"t:3: {THREE}, found 'x' as number 2"),
    "nan": (b"a 1 2\nb 1 nan\n", f"t:2: {TWO}, found 'nan' as number 2"),
    "infinite": (b"a 1 2\nb -1e60 2\n", f"t:2: {TWO}, found '-1e60' as number 1"),
    "no word": (b"a 1 2\n 1 2\n", f"t:2: {TWO}, found no word in ' 1 2'"),
    "not UTF-8": (b"a 1 2\ncaf\xe9 1 2\n", "t:2: expected UTF-8, found byte 0xe9 at column 4"),
    "cut text": (b"3 2\na 1 2\nb 1 2\n", f"t:1: the header announces 3 words, found 2: {WHOLE}"),
    "surplus text": (b"1 2\na 1 2\nb 1 2\n", f"t:1: the header announces 1 words, found 2: {WHOLE}"),
    "cut binary": (BINARY[:-3], f"{SECOND}: expected 20 bytes of numbers, found 17: {WHOLE}"),
    "binary cut at a word": (BINARY[:27], f"{SECOND}: expected a word and a space: {WHOLE}"),
    "header lies": (
        b"99999999999" + BINARY[1:],
        f"t: word 3 of 99999999999 at byte 60: expected a word and a space: {WHOLE}",
    ),
    "surplus binary": (b"1" + BINARY[1:], "t: the header announces 1 words, found 23 bytes after the last"),
    "binary not UTF-8": (BINARY.replace(b"cd", b"c\xff"), f"{SECOND}: expected UTF-8, found 'c\\\\xff'"),
    "binary not finite": (NOT_FINITE, "t: word 'b': expected finite numbers, found inf"),
    "gzip": (b"\x1f\x8b\x08", "t: is compressed with gzip: unpack it first"),
    "zip": (b"PK\x03\x04", "t: is a zip archive: unpack it first"),
    "bzip2": (b"BZh9", "t: is compressed with bzip2: unpack it first"),
    "xz": (b"\xfd7zXZ\x00", "t: is compressed with xz: unpack it first"),
    "fastText model": (
        b"\xba\x16\x4f\x2f\x0c",
        "t: is a fastText model: export its vectors as text (.vec) first",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    content, message = FAULTS[fault]
    monkeypatch.chdir(tmp_path)
    write(tmp_path, content, "t")
    with pytest.raises(DataError) as caught:
        read_vector_file(Path("t"))
    assert str(caught.value) == message


def test_a_fault_far_into_the_file_knows_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_CHUNK_BYTES", 100)
    good = b"".join(b"w%d 1 2\n" % i for i in range(500))
    for header, line in ((b"", 501), (b"501 2\n", 502)):
        with pytest.raises(DataError, match=f":{line}: expected a word and 2 numbers, found 1 numbers"):
            read_vector_file(write(tmp_path, header + good + b"last 1\n"))


@pytest.mark.parametrize("content", [b"9 60000\na 1 2\n" + b"\n" * 1000, b"1 2\n" + b"\n" * 100_000])
def test_no_more_is_allocated_than_the_file_is_worth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    asked = []
    real = np.empty

    def empty(shape: tuple[int, int], *rest: object) -> NDArray[np.float32]:
        asked.append(shape[0] * shape[1])
        return real(shape, np.float32)

    monkeypatch.setattr(np, "empty", empty)
    with pytest.raises(DataError):
        read_vector_file(write(tmp_path, content))
    assert max(asked) <= max(len(content), 60_000)


def test_vectors_beyond_memory_and_folders_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="is a folder: expected a file"):
        read_vector_file(tmp_path)

    def full(*_: object) -> NDArray[np.float32]:
        raise MemoryError

    monkeypatch.setattr(np, "empty", full)
    with pytest.raises(DataError, match="has more vectors than fit into memory"):
        read_vector_file(write(tmp_path, glove()))
