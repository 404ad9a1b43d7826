"""Checks of an ONNX file before ONNX Runtime sees it: its weights lie in the file itself, and are finite.

The file is read without the package `onnx`, which scoring does not need. It is a message of protocol buffers
(https://protobuf.dev/programming-guides/encoding), whose fields are numbered in onnx.proto (https://github.com/onnx/onnx).
One message can be encoded in many ways: lengths and numbers with more bytes than they need, a message in several
pieces, fields in any order. So the fields are read one by one, and no bytes are searched for. What ONNX Runtime might
read in another way than this module is refused: tags of more than 32 bits, of which it drops the upper ones, groups,
and fields that are not in `_MESSAGES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rejoinder.errors import DataError


class _Message(NamedTuple):
    """The fields of one kind of message in onnx.proto, by number."""

    single: dict[int, str]
    """Messages that may contain tensors, of which there is at most one: two would be joined."""
    several: dict[int, str]
    """Messages that may contain tensors, of which there may be any number."""
    other: set[int]
    """Fields without tensors."""


_TENSORS = {5: "TensorProto", 6: "GraphProto", 22: "SparseTensorProto"}
_LISTS = {10: "TensorProto", 11: "GraphProto", 23: "SparseTensorProto"}
_MESSAGES = {
    # The graph may come in pieces, whose lists are joined: OnnxModel adds an output in this way.
    "ModelProto": _Message(
        {}, {7: "GraphProto", 20: "TrainingInfoProto", 25: "FunctionProto"}, {1, 2, 3, 4, 5, 6, 8, 14, 26}
    ),
    "TrainingInfoProto": _Message({1: "GraphProto", 2: "GraphProto"}, {}, {3, 4}),
    "FunctionProto": _Message({}, {7: "NodeProto", 11: "AttributeProto"}, {1, 4, 5, 6, 8, 9, 10, 12, 13, 14}),
    "GraphProto": _Message(
        {}, {1: "NodeProto", 5: "TensorProto", 15: "SparseTensorProto"}, {2, 10, 11, 12, 13, 14, 16}
    ),
    "NodeProto": _Message({}, {5: "AttributeProto"}, {1, 2, 3, 4, 6, 7, 8, 9, 10}),
    "AttributeProto": _Message(_TENSORS, _LISTS, {1, 2, 3, 4, 7, 8, 9, 13, 14, 15, 20, 21}),
    "SparseTensorProto": _Message({1: "TensorProto", 2: "TensorProto"}, {}, {3}),
    "TensorProto": _Message({}, {}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16}),
}
_FLOATS = {1: "<f4", 10: "<f2", 11: "<f8", 14: "<f4", 15: "<f8"}
"""data_type -> the numbers of raw_data; complex ones are pairs."""
_BFLOAT16 = 16
_NOT_FLOATS = {2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 21, 22, 25, 26}
"""Whole numbers, text, true or false. Other types are floating-point numbers of at most 8 bits."""
_DEEPEST = 100
"""Messages within messages; protocol buffers refuse more."""
_VARINT, _BYTES = 0, 2
"""Wire types."""
_LENGTHS = {1: 8, 5: 4}
"""Wire type -> the bytes that such a field has."""
_LONGEST_VARINT = 10
_RUNTIME_FORMAT = b"ORTM"
"""ONNX Runtime recognises its own format by these bytes, and reads it from wherever it expects ONNX."""


class _Damaged(Exception):
    """What makes the bytes no ONNX model."""


class _Field(NamedTuple):
    number: int
    wire_type: int
    value: int
    """Of a variable-length integer; -1 for other types."""
    data: memoryview
    """Of the other types."""


def check_onnx(content: bytes, file: str) -> None:
    """DataError if a model has weights in other files, numbers that are not finite, or anything that is not ONNX.

    An infinite number is accepted where it is alone: torch's exporter writes `masked_fill(mask, -inf)` with
    a constant of one number. (A mask of a fixed length would be an array with -inf, but `to_onnx` fixes no length.)
    """
    if content[4 : 4 + len(_RUNTIME_FORMAT)] == _RUNTIME_FORMAT:
        raise DataError("is not an ONNX model, but one in ONNX Runtime's own format: expected ONNX", file=file)
    try:
        _check(memoryview(content), "ModelProto", file, 0)
    except _Damaged as problem:
        raise DataError(f"is not an ONNX model ({problem})", file=file) from None


def _check(content: memoryview, kind: str, file: str, depth: int) -> None:
    """Check a message and those within it."""
    if depth > _DEEPEST:
        raise _Damaged(f"more than {_DEEPEST} messages within each other")
    single, several, other = _MESSAGES[kind]
    plain: list[_Field] = []
    seen: set[int] = set()
    for field in _fields(content):
        number = field.number
        if number in other:
            plain.append(field)
            continue
        part = several.get(number) or single.get(number)
        if part is None:
            raise _Damaged(f"unknown field {number} of {kind}")
        if field.wire_type != _BYTES or (number in single and number in seen):
            raise _Damaged(f"field {number} of {kind} is not one message")
        seen.add(number)
        _check(field.data, part, file, depth + 1)
    if kind == "TensorProto":
        _check_tensor(plain, file)
    elif kind == "AttributeProto":
        name = _name(plain, 1)
        _check_finite(_joined(plain, 2), "<f4", name, file)  # f, one number
        _check_finite(_joined(plain, 7), "<f4", name, file)  # floats


def _check_tensor(fields: list[_Field], file: str) -> None:
    """DataError if a tensor's data are in another file, or are floating-point numbers that are not finite."""
    name = _name(fields, 8)
    # external_data, or a data_location other than 0. ONNX Runtime takes 2**32 + 1 for 1, external.
    if any(field.number == 13 or (field.number == 14 and field.value != 0) for field in fields):
        raise DataError("keeps weights in other files: expected all of them in this one", file=file, field=name)
    kind = next((field.value for field in reversed(fields) if field.number == 2), 0)  # data_type; the last counts
    if kind in _NOT_FLOATS:
        return
    if kind != _BFLOAT16 and kind not in _FLOATS:
        raise DataError(f"has numbers of type {kind}, which cannot be checked", file=file, field=name)
    if any(field.number == 5 for field in fields):
        raise DataError("has floating-point numbers in int32_data: expected raw_data", file=file, field=name)
    _check_finite(_joined(fields, 4), "<f4", name, file)  # float_data
    _check_finite(_joined(fields, 10), "<f8", name, file)  # double_data
    for raw in (field.data for field in fields if field.number == 9):
        if kind == _BFLOAT16:  # the upper half of a float32
            halves = np.frombuffer(raw.tobytes() + bytes(len(raw) % 2), "<u2").astype("<u4")
            _check_finite((halves << 16).tobytes(), "<f4", name, file)
        else:
            _check_finite(raw, _FLOATS[kind], name, file)


def _check_finite(data: bytes | memoryview, kind: str, name: str, file: str) -> None:
    if not data:
        return
    numbers = np.frombuffer(data, kind, len(data) // np.dtype(kind).itemsize)
    if np.isnan(numbers).any() if numbers.size == 1 else not np.isfinite(numbers).all():
        raise DataError("holds numbers that are not finite", file=file, field=name)


def _name(fields: list[_Field], number: int) -> str:
    return _joined(fields, number).decode("utf-8", "replace") or "without a name"


def _joined(fields: list[_Field], number: int) -> bytes:
    """The data of a field, whose numbers may be given together or one by one."""
    return b"".join(field.data for field in fields if field.number == number)


def _fields(content: memoryview) -> Iterator[_Field]:
    """The fields of a message, in order."""
    at, none = 0, content[:0]
    while at < len(content):
        tag, at = _varint(content, at)
        number, wire_type = tag >> 3, tag & 7
        if not number or tag >= 1 << 32:
            raise _Damaged("a tag out of range")
        if wire_type == _VARINT:
            value, at = _varint(content, at)
            yield _Field(number, wire_type, value, none)
            continue
        if wire_type == _BYTES:
            length, at = _varint(content, at)
        elif wire_type in _LENGTHS:
            length = _LENGTHS[wire_type]
        else:
            raise _Damaged(f"wire type {wire_type}, which ONNX does not use")
        if length > len(content) - at:
            raise _Damaged("it is cut off")
        yield _Field(number, wire_type, -1, content[at : at + length])
        at += length


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """A variable-length integer, and where it ends."""
    value = 0
    for place, byte in enumerate(content[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise _Damaged("it is cut off, or has a number of too many bytes")
