"""Records whose fields have the usual names: question, answer, model, expected.

Each of our fields takes the one field of the data that has a usual name for it. Two such fields are an error: which one
is meant is for the user to say. Records that have a `response` are in our own format: there, our own names count
before the usual ones.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rejoinder.data.formats.rows import TableRow
from rejoinder.data.importers.paths import text_paths, value_at
from rejoinder.data.record import FieldMap
from rejoinder.data.values import FieldError, as_list, is_missing
from rejoinder.errors import DataError, listed

Sample = Sequence[Mapping[str, Any]]

USUAL = {
    "response": (
        *("response", "bot", "output", "answer", "completion", "assistant", "reply", "bot_message", "bot_response"),
        *("model_output", "model_answer", "model_response", "generated_text", "prediction", "actual_output"),
    ),
    "context": (
        *("context", "user", "input", "question", "prompt", "query", "user_input", "user_message", "instruction"),
        *("history", "chat_history", "dialogue", "dialog"),
    ),
    "references": (
        *("references", "reference", "expected", "ground_truth", "expected_output", "expected_answer"),
        *("reference_answer", "reference_output", "gold", "ideal"),
    ),
    "system": ("system", "model", "version", "model_name", "model_version"),
    "dialogue_id": ("dialogue_id", "conversation_id", "session_id", "thread_id"),
    "id": ("id",),
}
"""Our field -> names that it usually has elsewhere, in snake case."""

_LABELS = {"system", "dialogue_id", "id"}


@dataclass(frozen=True)
class Columns:
    """Which of the data's fields are read as ours."""

    fields: FieldMap
    guessed: Mapping[str, str]
    """Our field -> theirs, for those that were chosen by a usual name."""
    unused: tuple[str, ...]
    """Fields with a usual name of a system, a context or references that are not read as such."""


def columns_of(sample: Sample, name: str, given: FieldMap) -> Columns:
    """The fields to read; DataError where two could be meant."""
    present = list(dict.fromkeys(key for record in sample for key in record))
    ours = given.of("response") == "response" and "response" in present
    chat = given.of("messages") in present
    taken = set(given.names.values())
    guessed: dict[str, str] = {}
    for field in USUAL:
        if field in given.names or (field in present and (ours or chat or field == "id")):
            continue
        if chat and field in {"context", "response"}:
            continue
        found = [key for key in present if key not in taken and _fits(key, field, sample, ours)]
        if field == "references" and ours and "reference" in found:
            continue
        if len(found) > 1:
            raise DataError(_two_meanings(field, found), file=name)
        if found and found[0] != field and (field, found[0]) != ("references", "reference"):
            guessed[field] = found[0]
    outer = {path.partition(".")[0] for path in taken}  # `input` of the path input.question
    read = {*taken, *outer, *guessed.values(), *USUAL, "reference"}
    usual = {*USUAL["system"], *USUAL["context"], *USUAL["references"]}
    unused = tuple(key for key in present if key not in read and snake_case(key) in usual)
    return Columns(FieldMap({**given.names, **guessed}, given.separator, given.by), guessed, unused)


def snake_case(name: str) -> str:
    """'Ground Truth', 'groundTruth' -> 'ground_truth'."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-]+", "_", spaced).lower()


def suggestion(sample: Sample, known: Mapping[str, str]) -> str:
    """The options that would name reply and context: the fields with the longest texts, apart from those that are
    known; "" without any."""
    lengths: dict[str, int] = {}
    for record in sample:
        for path in text_paths(record):
            # A path may not lead back to the text: a key can contain a dot itself.
            with suppress(FieldError):
                lengths[path] = lengths.get(path, 0) + len(value_at(record, path) or "")
    free = [path for path in lengths if path not in known.values() and snake_case(path) != "id"]
    longest = sorted(free, key=lambda path: -lengths[path])[: 1 if "context" in known else 2]
    texts = [path for path in lengths if path in longest]
    if not texts or all(isinstance(record, TableRow) and len(record) == 1 for record in sample):
        return ""  # a table with one column has another delimiter
    fields = {"context": texts[-2], "response": texts[-1]} if len(texts) > 1 else {"response": texts[-1]}
    options = " ".join(f"--field {shlex.quote(f'{ours}={theirs}')}" for ours, theirs in fields.items())
    return f"name the fields to read, for example {options}"


def _two_meanings(field: str, found: Sequence[str]) -> str:
    option = f"--field {shlex.quote(f'{field}={found[0]}')}"
    return f"has several fields that could be the {field} ({listed(found)}): name the right one, for example {option}"


def _fits(key: str, field: str, sample: Sample, ours: bool) -> bool:
    """Whether a field has a usual name for ours, and values that ours could have."""
    usual = snake_case(key)
    if usual not in USUAL[field]:
        return False
    values = [value for value in (as_list(record.get(key)) for record in sample) if not _is_blank(value)]
    if field in _LABELS:
        return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    if usual == "user" and (ours or not values or all(map(_is_identifier, values))):  # who asked, not what was asked
        return False
    return all(isinstance(value, str if field == "response" else str | list | tuple) for value in values)


def _is_blank(value: Any) -> bool:
    return value is None or is_missing(value) or (isinstance(value, str) and not value)


def _is_identifier(value: Any) -> bool:
    """Whether a text is rather the id or the address of a user than something that was said: u-17, ann@example.org."""
    return isinstance(value, str) and not re.search(r"\s", value.strip()) and bool(re.search(r"[0-9@]", value))
