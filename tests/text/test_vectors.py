"""Word vectors: looking words up, the cache that only ever helps, and the set that comes with the package."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rejoinder.errors import CallError, DataError
from rejoinder.text import vectors
from rejoinder.text.vectors import SHIPPED_VECTORS, WordVectors, cache_folder, load_vectors

WORDS = ["the", ",", "don't", "café", '"', "東京", "#", "1999"]
MATRIX = np.random.default_rng(7).normal(size=(len(WORDS), 5)).astype(np.float32)
SOURCE = Path(vectors.__file__).parent


def glove() -> bytes:
    rows = (" ".join([word, *map(str, row)]) for word, row in zip(WORDS, MATRIX, strict=True))
    return "\n".join(rows).encode()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path / "cache"))


def write(folder: Path, content: bytes, name: str = "tiny.vec") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


# --- loading


def test_a_file_is_loaded_whole(tmp_path: Path) -> None:
    found = load_vectors(write(tmp_path, glove()))
    assert found.words == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)
    assert found.digest == WordVectors.of(WORDS, MATRIX, name="x").digest
    assert (found.name, found.dims, len(found)) == ("tiny", 5, len(WORDS))


def test_a_faulty_file_leaves_no_cache(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is compressed with gzip"):
        load_vectors(write(tmp_path, b"\x1f\x8b"))
    assert not (tmp_path / "cache").exists()


def test_a_missing_file_is_told() -> None:
    with pytest.raises(CallError, match="no word vectors at 'nowhere': expected a file, or 'conversational-50d'"):
        load_vectors("nowhere")


# --- the holder


def test_lookup_tries_the_word_then_its_lower_case() -> None:
    found = WordVectors.of(["The", "the", "don't", "Paris"], MATRIX[:4], name="x")
    asked = ["The", "the", "THE", "Don’t", "paris", "unknown", ""]
    assert found.lookup(asked).tolist() == [0, 1, 1, 2, -1, -1, -1]
    assert found.lookup([]).dtype == np.int64
    assert repr(found) == f"WordVectors(name='x', digest='{found.digest}')"


def test_the_digest_follows_words_and_numbers() -> None:
    changed = MATRIX.copy()
    changed[3, 2] += 1
    sets = [
        WordVectors.of(WORDS, MATRIX, name="x"),
        WordVectors.of(WORDS, changed, name="x"),
        WordVectors.of([*WORDS[:-1], "2000"], MATRIX, name="x"),
        WordVectors.of(WORDS, MATRIX.astype(np.float16), name="x"),
    ]
    assert len({found.digest for found in sets}) == len(sets)
    assert WordVectors.of(WORDS, MATRIX, name="y").digest == sets[0].digest


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a"], MATRIX[:2], "found 1 words and 2 vectors"),
        ([], MATRIX[:0], "found 0 words and 0 vectors"),
        (["a", "a"], MATRIX[:2], "expected unique words"),
        (["a\nb"], MATRIX[:1], "must not contain a line break"),
        (["a"], MATRIX[0], r"found float32 \(5,\)"),
        (["a"], MATRIX[:1].astype(np.float64), r"found float64 \(1, 5\)"),
    ],
)
def test_a_wrong_set_is_refused(words: list[str], matrix: NDArray[np.float32], message: str) -> None:
    with pytest.raises(CallError, match=message):
        WordVectors.of(words, matrix, name="x")


# --- the cache


def entry(folder: Path) -> Path:
    (only,) = (folder / "cache" / "vectors").iterdir()
    return only


@pytest.fixture
def no_parsing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def refuse(path: Path, *, quiet: bool) -> None:
        raise AssertionError("the file was parsed, not taken from the cache")

    return lambda: monkeypatch.setattr(vectors, "read_vector_file", refuse)


def test_the_second_load_is_mapped_from_the_cache(tmp_path: Path, no_parsing: Callable[[], None]) -> None:
    path = write(tmp_path, glove())
    first = load_vectors(path)
    no_parsing()
    second = load_vectors(path)
    assert isinstance(first.matrix, np.memmap)
    assert isinstance(second.matrix, np.memmap)
    assert second.digest == first.digest
    assert second.words == WORDS
    assert sorted(file.name for file in entry(tmp_path).iterdir()) == [
        "fingerprint.json",
        "matrix.npy",
        "vocabulary.txt",
    ]


@pytest.mark.parametrize("same_size", [True, False])
def test_a_changed_file_is_read_again(tmp_path: Path, same_size: bool) -> None:
    path = write(tmp_path, b"a 1 2\nb 3 4\n")
    load_vectors(path)
    status = path.stat()
    path.write_bytes(b"a 1 2\nb 3 9\n" if same_size else b"a 1 2\nb 3 9.25\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + (1 if same_size else 0)))
    assert load_vectors(path).matrix[1, 1] == (9 if same_size else 9.25)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no fingerprint": lambda folder: (folder / "fingerprint.json").unlink(),
    "no json": lambda folder: (folder / "fingerprint.json").write_text("{"),
    "a list": lambda folder: (folder / "fingerprint.json").write_text("[]"),
    "no digest": lambda folder: edit_fingerprint(folder, "digest", None),
    "older version": lambda folder: edit_fingerprint(folder, "cache_version", 0),
    "no words": lambda folder: (folder / "vocabulary.txt").unlink(),
    "other words": lambda folder: (folder / "vocabulary.txt").write_bytes(b"x" + "\n".join(WORDS).encode()[1:]),
    "no matrix": lambda folder: (folder / "matrix.npy").unlink(),
    "empty matrix": lambda folder: (folder / "matrix.npy").write_bytes(b""),
    "cut matrix": lambda folder: os.truncate(folder / "matrix.npy", 150),
    "zeroed matrix": lambda folder: np.save(folder / "matrix.npy", np.zeros_like(MATRIX)),
    "a number": lambda folder: np.save(folder / "matrix.npy", np.float32(1)),
    "a pickle": lambda folder: np.save(folder / "matrix.npy", np.array([{}]), allow_pickle=True),
}


def edit_fingerprint(folder: Path, key: str, value: object) -> None:
    path = folder / "fingerprint.json"
    fingerprint = json.loads(path.read_text())
    del fingerprint[key]
    path.write_text(json.dumps(fingerprint | ({} if value is None else {key: value})))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_made_again(tmp_path: Path, damage: str, no_parsing: Callable[[], None]) -> None:
    path = write(tmp_path, glove())
    load_vectors(path)
    DAMAGES[damage](entry(tmp_path))
    again = load_vectors(path)
    assert again.words == WORDS
    np.testing.assert_array_equal(again.matrix, MATRIX)
    no_parsing()
    assert load_vectors(path).digest == again.digest


def test_without_a_cache_folder_the_vectors_come_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")  # holds for root too, unlike a mode
    with pytest.warns(RuntimeWarning, match="word vectors are not cached in .*cache"):
        found = load_vectors(write(tmp_path, glove()))
    assert found.words == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.save", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert load_vectors(write(tmp_path, glove())).words == WORDS
    assert list((tmp_path / "cache" / "vectors").iterdir()) == []


def test_files_of_one_name_do_not_share_an_entry(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one = write(tmp_path, b"a 1 2\n")
    two = write(tmp_path / "other", b"b 3 4\n")
    assert [load_vectors(path).words for path in (one, two, one)] == [["a"], ["b"], ["a"]]


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("REJOINDER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/shared")
    assert cache_folder() == Path("/shared/rejoinder")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "rejoinder"


# --- the set that comes with the package


def test_the_shipped_set_knows_common_words() -> None:
    shipped = load_vectors()
    assert (shipped.name, shipped.dims) == (SHIPPED_VECTORS, 50)
    assert shipped.matrix.dtype == np.float16
    assert len(shipped) == len(shipped.words) == len(set(shipped.words)) > 20_000
    assert np.isfinite(shipped.matrix).all()
    assert (np.abs(shipped.matrix).max(axis=1) > 0).all()
    common = "the you what movie music friend happy don't it's . , ? ! ' thanks hello Monday I"
    split = "n't 's 'm 're 'll 've 'd n t s m re ll ve d ca wo"
    assert (shipped.lookup((common + " " + split).split()) >= 0).all()


@pytest.mark.parametrize(
    ("word", "nearer", "than"),
    [
        ("dog", "cat", "football"),
        ("movie", "film", "breakfast"),
        ("happy", "glad", "computer"),
        ("don't", "didn't", "pizza"),
    ],
)
def test_the_shipped_set_knows_what_is_alike(word: str, nearer: str, than: str) -> None:
    shipped = load_vectors()
    a, b, c = shipped.matrix[shipped.lookup([word, nearer, than])].astype(np.float32)

    def cosine(x: NDArray[np.float32], y: NDArray[np.float32]) -> float:
        return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))

    assert cosine(a, b) > cosine(a, c) + 0.1


# --- no pickle


def test_nothing_is_unpickled() -> None:
    tree = ast.parse((SOURCE / "vectors.py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert not any("pickle" in alias.name for alias in node.names)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"np.load", "np.save"}:
            allowed = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            assert allowed["allow_pickle"] == "False"
