"""The folder that a trained model is saved in: config.json, and safetensors for arrays; no pickled code.

`kind` is the word for the model in messages: evaluator, reply model.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import offsets_of
from rejoinder.errors import CallError, DataError
from rejoinder.folders.array_schema import Array, checked_arrays
from rejoinder.folders.foreign import saved_arrays
from rejoinder.folders.schema import CONFIG, FORMAT, read_config, with_article


@contextmanager
def replacing_folder(target: Path, kind: str = "evaluator") -> Iterator[Path]:
    """A folder that replaces `target` if the block succeeds, and is deleted otherwise."""
    if target.exists() and not _is_ours(target):
        raise CallError(
            f"{target} holds something else: expected a new folder, or one that {with_article(kind)} was saved in"
        )
    if not target.parent.is_dir():
        raise CallError(f"{target.parent} does not exist: expected a folder to make {target.name} in")
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as temporary:
        fresh = Path(temporary, "new")
        fresh.mkdir()
        yield fresh
        if target.exists():
            target.rename(Path(temporary, "old"))
        fresh.rename(target)


def check_target(target: Path, kind: str = "evaluator") -> None:
    """Raise an error before hours of training, rather than after, where `target` could not be written."""
    if not target.parent.is_dir():
        raise CallError(f"{target.parent} does not exist: expected a folder to make {target.name} in")
    if target.exists() and not target.is_dir():
        raise CallError(f"{target} is a file: expected a folder")
    if target.is_dir() and any(target.iterdir()):
        read_config(target, kind)  # only a folder that holds a saved model is replaced


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write config.json; CallError where a value is not plain."""
    try:
        text = json.dumps({"format": FORMAT, **config}, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CallError(f"cannot be saved: {error}; expected numbers, text, and lists of them") from error
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays of numbers."""
    from safetensors.numpy import save_file

    refused = [name for name, array in arrays.items() if array.dtype.kind not in "biuf"]
    if refused:
        raise CallError(f"cannot be saved: {refused[0]} holds {arrays[refused[0]].dtype}; expected numbers")
    with usual_mode(path):
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


@contextmanager
def usual_mode(path: Path) -> Iterator[None]:
    """Give the file that is written within the block the mode of any new file: safetensors makes it private."""
    path.touch()
    mode = path.stat().st_mode
    yield
    path.chmod(mode)


def read_arrays(path: Path, expected: Mapping[str, Array], **sizes: int) -> dict[str, NDArray[Any]]:
    """The expected arrays of a file; `sizes` are lengths that are known from elsewhere. DataError for anything else."""
    return checked_arrays(saved_arrays(path), expected, str(path), **sizes)


def write_texts(path: Path, texts: Sequence[str]) -> None:
    """Write texts, of which there may be very many, as one array of bytes."""
    rows = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)))
    write_arrays(path, {"bytes": np.frombuffer(b"".join(rows), np.uint8), "offsets": offsets})


def read_texts(path: Path) -> tuple[str, ...]:
    """The texts of a file."""
    arrays = read_arrays(path, {"bytes": Array("u1", ("any bytes",)), "offsets": Array("i", ("ends",), low=0)})
    flat, offsets = arrays["bytes"].tobytes(), arrays["offsets"].tolist()
    if offsets[0] != 0 or offsets[-1] != len(flat) or offsets != sorted(offsets):
        raise DataError("does not divide the bytes into texts", file=str(path), field="offsets")
    try:
        return tuple(flat[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(offsets))
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text ({error.reason})", file=str(path), field="bytes") from None


def _is_ours(folder: Path) -> bool:
    return folder.is_dir() and ((folder / CONFIG).is_file() or not any(folder.iterdir()))


TOKENISER = "tokenizer.json"


ENCODER = "encoder.json"


WEIGHTS = {"torch": "model.safetensors", "fp32": "model.onnx", "int8": "model.int8.onnx"}
"""Precision -> the file that holds the weights."""


def packed_words(words: tuple[str, ...]) -> NDArray[np.uint8]:
    """Words as an array of bytes, separated by line breaks, which no word contains."""
    return np.frombuffer("\n".join(words).encode(), np.uint8)


PACKED = Array("u1", ("bytes",))


def unpacked_words(words: NDArray[np.uint8], file: Path, count: int | None = None) -> tuple[str, ...]:
    """The words that `packed` was given, which must be as many as `count` and different from each other."""
    try:
        found = tuple(words.tobytes().decode().split("\n"))
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text ({error.reason})", file=str(file), field="words") from None
    if count is not None and len(found) != count:
        raise DataError(f"holds {len(found)} words: expected {count}", file=str(file), field="words")
    if len(set(found)) != len(found):
        raise DataError("holds a word twice", file=str(file), field="words")
    return found
