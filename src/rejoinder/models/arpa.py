"""ARPA files: the text format of n-gram models that SRILM, KenLM and others share."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.data.opening import unreadable
from rejoinder.errors import DataError, shortened
from rejoinder.folders.outputs import replacing_file
from rejoinder.models.ngram import UNKNOWN, NgramLevel, NgramModel, with_special

NEVER = -99.0
"""Stands for log10 of 0."""

_COUNT = re.compile(r"ngram ([0-9]{1,9})\s*=\s*([0-9]{1,18})")


def write_arpa(model: NgramModel, path: str | Path) -> None:
    """Write a model as text; compressed if the name ends in .gz."""
    target = Path(path)
    with replacing_file(target) as temporary, _open(temporary, "wt", target.suffix) as file:
        file.writelines(f"{line}\n" for line in _lines(model))


def _lines(model: NgramModel) -> Iterator[str]:
    shown = [_shown(model, order) for order in range(1, model.order + 1)]
    yield "\\data\\"
    yield from (f"ngram {order}={len(places)}" for order, places in enumerate(shown, start=1))
    for order, places in enumerate(shown, start=1):
        level, ngrams = model.levels[order - 1], model.ngrams(order)
        yield ""
        yield f"\\{order}-grams:"
        logs, weights = _finite(level.log_prob), _finite(level.back_off)
        for place in places.tolist():
            words = " ".join(model.words[word] for word in ngrams[place].tolist())
            weight = f"\t{weights[place]:.9g}" if order < model.order else ""
            yield f"{logs[place]:.9g}\t{words}{weight}"
    yield ""
    yield "\\end\\"


def _shown(model: NgramModel, order: int) -> np.typing.NDArray[np.int64]:
    """The positions to write: all but an unknown word without a probability."""
    places = np.arange(len(model.levels[order - 1]))
    return places if order > 1 or model.is_open else places[places != UNKNOWN]


def _finite(logs: Floats) -> Floats:
    return np.where(np.isfinite(logs), logs, NEVER)


def read_arpa(path: str | Path) -> NgramModel:
    """The model of a file; a DataError names the line that is wrong."""
    try:
        with _open(Path(path), "rt", Path(path).suffix) as file:
            return _ArpaReader(str(path), file).model()
    except (UnicodeDecodeError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"is not an ARPA file ({error})", file=str(path)) from None
    except OSError as error:
        raise unreadable(error, str(path)) from None


class _ArpaReader:
    """Reads one file line by line, so that errors can name the line."""

    def __init__(self, name: str, file: IO[str]) -> None:
        self._name, self._line = name, 0
        self._rest = iter(file)

    def model(self) -> NgramModel:
        sizes = self._sizes()
        words: tuple[str, ...] = ()
        number: dict[str, int] = {}
        levels: list[NgramLevel] = []
        places: _Places = {}
        for order, size in enumerate(sizes, start=1):
            rows = self._section(order, size, order < len(sizes))
            if order == 1:
                words = with_special(row[0][0] for row in rows)
                number = {word: place for place, word in enumerate(words)}
                levels.append(_first_level(rows, number))
                places = {(place,): place for place in range(len(words))}
                continue
            level, places = self._level(rows, number, places)
            levels.append(level)
        self._expect("\\end\\")
        for _ in self._lines():  # the checksum of a compressed file is at its end
            pass
        return NgramModel(words, tuple(levels))

    def _level(self, rows: list[_Row], number: dict[str, int], below: _Places) -> tuple[NgramLevel, _Places]:
        """The n-grams of a section, and the position of each by the numbers of its words."""
        coded = [self._coded(ngram, number, line) for ngram, _, _, line in rows]
        for ngram, row in zip(coded, rows, strict=True):
            if ngram[:-1] not in below:
                prefix = " ".join(row[0][:-1])
                raise self._error(f"{shortened(prefix)}, the prefix of this n-gram, is not in the file", row[3])
        keys = np.array([below[ngram[:-1]] * len(number) + ngram[-1] for ngram in coded], np.int64)
        order = np.argsort(keys, kind="stable")
        twice = np.flatnonzero(np.diff(keys[order]) == 0)
        if len(twice):
            raise self._error("this n-gram occurs twice", rows[order[twice[0] + 1]][3])
        values = np.array([row[1:3] for row in rows], np.float64).reshape(-1, 2)[order]
        level = NgramLevel(keys[order], _unlogged(values[:, 0]), _unlogged(values[:, 1]))
        return level, dict(zip(coded, np.searchsorted(level.keys, keys).tolist(), strict=True))

    def _coded(self, ngram: tuple[str, ...], number: dict[str, int], line: int) -> tuple[int, ...]:
        for word in ngram:
            if word not in number:
                raise self._error(f"the word {shortened(word)} is not among the 1-grams", line)
        return tuple(number[word] for word in ngram)

    def _sizes(self) -> list[int]:
        for text in self._lines():
            if text == "\\data\\":
                break
        else:
            raise self._error("is not an ARPA file: expected \\data\\")
        sizes: list[int] = []
        for text in self._lines():
            if not text:
                if sizes:
                    break
                continue
            matched = _COUNT.fullmatch(text)
            if not matched or int(matched[1]) != len(sizes) + 1:
                raise self._error(f"expected 'ngram {len(sizes) + 1}=...', found {shortened(text)}")
            sizes.append(int(matched[2]))
        if not sizes:
            raise self._error("lists no n-grams: expected 'ngram 1=...'")
        return sizes

    def _section(self, order: int, size: int, weighted: bool) -> list[_Row]:
        self._expect(f"\\{order}-grams:")
        rows: list[_Row] = []
        for text in self._lines():
            if not text:
                break
            rows.append(self._row(text, order, weighted))
        if len(rows) != size:
            raise self._error(f"contains {len(rows)} {order}-grams: expected {size}, as its header says")
        return rows

    def _row(self, text: str, order: int, weighted: bool) -> _Row:
        fields = text.split()
        try:
            if len(fields) not in {order + 1, order + 1 + weighted}:
                raise ValueError
            log_prob, weight = float(fields[0]), float(fields[order + 1]) if len(fields) > order + 1 else 0.0
            if not (log_prob < math.inf and weight < math.inf):  # nor NaN
                raise ValueError
            return tuple(fields[1 : order + 1]), log_prob, weight, self._line
        except ValueError:
            problem = f"expected a number, {order} words and optionally another number, found {shortened(text)}"
            raise self._error(problem) from None

    def _expect(self, wanted: str) -> None:
        for text in self._lines():
            if text:
                if text != wanted:
                    raise self._error(f"expected {wanted}, found {shortened(text)}")
                return
        raise self._error(f"ends before {wanted}")

    def _lines(self) -> Iterator[str]:
        for text in self._rest:
            self._line += 1
            yield text.strip()

    def _error(self, problem: str, line: int | None = None) -> DataError:
        return DataError(problem, file=self._name, line=self._line if line is None else line)


_Row = tuple[tuple[str, ...], float, float, int]
"""Words, log10 p, log10 of the back-off weight, line number."""
_Places = dict[tuple[int, ...], int]


def _first_level(rows: list[_Row], number: dict[str, int]) -> NgramLevel:
    log_prob, back_off = np.full(len(number), -np.inf), np.zeros(len(number))
    for (word,), log, weight, _ in rows:
        log_prob[number[word]], back_off[number[word]] = log, weight
    return NgramLevel(np.arange(len(number)), _unlogged(log_prob), _unlogged(back_off))


def _unlogged(logs: Floats) -> Floats:
    return np.where(logs <= NEVER, -np.inf, logs)


def _open(path: Path, mode: Literal["rt", "wt"], suffix: str) -> IO[str]:
    if suffix == ".gz":
        return gzip.open(path, mode, encoding="utf-8", newline="\n")
    return path.open(mode, encoding="utf-8", newline="\n")
