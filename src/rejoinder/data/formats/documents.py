"""JSON that is not one object per line: an array of records, or objects that span several lines.

The file is parsed as it is read: only one record is in memory at a time. After a syntax error it is not known where the
next record begins, so such a file is refused even where single bad records are skipped.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rejoinder.data.formats.opening import LONGEST_LINE, open_bytes, unreadable
from rejoinder.errors import DataError
from rejoinder.loading.schema import RepeatedKeyError, unique_keys

LONGEST_DOCUMENT = 64 << 20
"""Characters of an object that is a whole file, such as one page of an export."""

_CHUNK = 1 << 16
_BLANKS = " \t\r\n"
_GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)


def is_document(path: Path, suffix: str) -> bool:
    """Whether a file must be parsed as a whole: it begins with an array, or is a .json file with an unfinished line."""
    try:
        with open_bytes(path) as file:
            begin = file.read(3).removeprefix(codecs.BOM_UTF8) + file.read(_CHUNK)
            begin = begin.lstrip()
            while not begin and (more := file.read(_CHUNK)):
                begin = more.lstrip()
            if not begin.startswith((b"{", b"[")):
                return False
            if begin.startswith(b"["):
                return True
            return suffix == ".json" and not _is_json(begin.partition(b"\n")[0] + _rest_of_line(begin, file))
    except (OSError, *_GZIP_ERRORS):  # reported by whoever reads the file
        return False


def _rest_of_line(begin: bytes, file: IO[bytes]) -> bytes:
    return b"" if b"\n" in begin else file.readline(LONGEST_LINE)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def document_rows(path: Path, name: str) -> Iterator[tuple[int, Any]]:
    """The elements of the array, or the objects one after another, each with the number of its first line.

    A DataError stands in place of a record in which an object has a key twice.
    """
    try:
        with open_bytes(path) as file:
            text = _Text(file, name)
            in_array = text.next_character() == "["
            if in_array:
                text.skip("[")
                if text.next_character() == "]":
                    text.skip("]")
                    in_array = False
            while text.next_character():
                line = text.line
                yield line, text.value(LONGEST_LINE if in_array else LONGEST_DOCUMENT)
                if in_array and text.next_character() != "]":
                    text.skip(",")
                elif in_array:
                    text.skip("]")
                    in_array = False
                    text.expect_end()
            if in_array:
                raise text.error("ends within an array: expected ]")
    except _GZIP_ERRORS as error:
        raise DataError(f"is not a complete gzip file ({error})", file=name) from None
    except OSError as error:
        raise unreadable(error, name) from None


class _Text:
    """The text of a file from the place that is parsed next."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder(object_pairs_hook=self._object)
        self._repeated: RepeatedKeyError | None = None
        self._text, self._at, self._ended = "", 0, False
        self.line = 1

    def next_character(self) -> str:
        """The next character that is not blank, which is not consumed; "" at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self.line += self._text[self._at] == "\n"
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._read_more(_CHUNK)

    def skip(self, character: str) -> None:
        """Consume this character, which must be the next one."""
        found = self.next_character()
        if found != character:
            what = repr(found) if found else "the end of the file"
            raise self.error(f"is not valid JSON: expected {character!r}, found {what}")
        self._at += 1

    def expect_end(self) -> None:
        """Raise a DataError if there is anything but blanks."""
        if self.next_character():
            raise self.error("has text after the end of the array: expected nothing there")

    def value(self, longest: int) -> Any:
        """The next value, which has at most `longest` characters; a DataError in place of one that repeats a key."""
        size, first = _CHUNK, self.line
        while True:
            self._repeated = None
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    self.line += self._text.count("\n", self._at, error.pos)
                    raise self.error(f"is not valid JSON ({error.msg})") from None
                if len(self._text) - self._at > longest:
                    raise self.error(f"has a record longer than {longest >> 20} MiB: expected one per reply") from None
                self._read_more(size)
                size *= 2  # so that a long value is not parsed again and again
            except (RecursionError, ValueError) as error:
                raise self.error(f"is not usable JSON ({error})") from None
            else:
                self.line += self._text.count("\n", self._at, end)
                self._at = end
                return value if self._repeated is None else DataError(str(self._repeated), file=self._name, line=first)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        try:
            return unique_keys(pairs)
        except RepeatedKeyError as error:  # only this record is bad: its end is known
            self._repeated = error
            return {}

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the error may be due to the end of what was read so far: no token but a string is longer than 16."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - 16

    def _read_more(self, size: int) -> None:
        chunk = self._file.read(size)
        self._ended = not chunk
        try:
            text = self._decode.decode(chunk, final=self._ended)
        except UnicodeDecodeError:
            raise DataError("is not valid UTF-8: expected UTF-8 text", file=self._name) from None
        self._text, self._at = self._text[self._at :] + text, 0

    def error(self, problem: str) -> DataError:
        """The problem with its place."""
        return DataError(problem, file=self._name, line=self.line)
