"""An ONNX file keeps its weights in itself, and they are finite: checked field by field, whatever the encoding."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

import onnx

import rejoinder
from rejoinder.errors import DataError
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.evaluators.encoder.torch_model import widened
from rejoinder.folders.onnx_file import _MESSAGES, check_onnx
from rejoinder.registry import shipped_folder
from rejoinder.types import Example
from tiny_onnx import MODEL, TENSOR, field, inside, parts, tensor_paths, tiny_network, varint, write_tiny_network

EXAMPLES = [Example("1", ("Hi! Are you hungry?",), "Yes, let us eat."), Example("2", ("Hi!",), "Four cylinders.")]
FLOAT, HALF, DOUBLE, BFLOAT = 1, 10, 11, 16
HERE = field(8, b"w") + field(1, 2) + field(2, FLOAT) + field(9, struct.pack("<ff", 1, 2))
PLACE = field(1, b"location") + field(2, b"secret.bin")
ELSEWHERE = {
    "plain": field(14, 1) + field(13, PLACE),
    "a longer length of the key": field(14, 1) + field(13, field(1, b"location", 1) + field(2, b"secret.bin")),
    "longer numbers": field(14, 1, 4) + field(13, PLACE, 4),
    "longer tags": field(14, 1, longer_tag=3) + field(13, PLACE, longer_tag=3),
    "no location": field(14, 1),
    "no data_location": field(13, PLACE),
    "an empty entry": field(13, b""),
    "an entry in pieces": field(14, 1) + field(13, field(1, b"location")) + field(13, field(2, b"secret.bin")),
    "another data_location": field(14, 2),
    "a data_location beyond 32 bits": field(14, (1 << 32) + 1),
    "taken back": field(14, 1) + field(13, PLACE) + field(14, 0),
}


def checked(content: bytes | bytearray) -> str:
    """The problem of a model; empty if it has none."""
    try:
        check_onnx(bytes(content), "m.onnx")
    except DataError as error:
        found = error
    else:
        return ""
    assert found.file == "m.onnx"
    assert "\n" not in str(found)
    return found.problem


def test_every_message_that_leads_to_a_tensor_is_read() -> None:
    """By the description in the package `onnx`: a new version of it may have new fields."""
    waiting, known = [MODEL], set()
    while waiting:
        message = waiting.pop()
        leading = {number: part for number, part in parts(message).items() if leads_to_tensor(part)}
        mine = _MESSAGES[message.name]
        assert {number: part.name for number, part in leading.items()} == {**mine.single, **mine.several}, message.name
        once = {each.number for each in message.fields if each.number in leading and not each.is_repeated}
        assert once - mine.single.keys() <= ({7} if message is MODEL else set()), message.name
        assert {each.number for each in message.fields} - leading.keys() == mine.other, message.name
        known.add(message.name)
        waiting += [part for part in leading.values() if part.name not in known]
    assert known == _MESSAGES.keys()


def leads_to_tensor(message: object) -> bool:
    return message is TENSOR or next(tensor_paths(6, message), None) is not None


@pytest.mark.parametrize("how", ELSEWHERE)
def test_weights_in_other_files_are_refused_wherever_they_are(how: str) -> None:
    paths = list(tensor_paths())
    assert {(7, 5), (7, 15, 1), (7, 1, 5, 6, 5), (25, 7, 5, 5), (25, 11, 5), (20, 1, 5), (20, 2, 5)} <= set(paths)
    for path in paths:
        for longer in (0, 1, 4):
            assert checked(inside(path, HERE, longer)) == "", "the same without"
            for tensor in (HERE + ELSEWHERE[how], ELSEWHERE[how] + HERE, ELSEWHERE[how]):
                content = tiny_network() + inside(path, tensor, longer)
                assert "keeps weights in other files" in checked(content), (path, longer)


@pytest.mark.parametrize("upper", [0x10, 0x20, 0x40, 0x70])
def test_a_tag_of_which_onnx_runtime_drops_the_upper_bits_is_refused(upper: int) -> None:
    """It reads external_data there, although the number of the field is another."""
    tag = bytes([*(byte | 0x80 for byte in varint(13 << 3 | 2, 3)), upper])
    for path in tensor_paths():
        assert "a tag out of range" in checked(inside(path, HERE + field(14, 0) + tag + varint(len(PLACE)) + PLACE))


def test_a_tensor_in_pieces_is_refused() -> None:
    """Pieces of a message that may occur once are joined, so that each alone looks harmless."""
    first, second = field(2, FLOAT) + field(1, 2), field(9, struct.pack("<ff", math.nan, 2))
    assert "not one message" in checked(inside((7, 1), field(5, field(5, first) + field(5, second))))
    assert checked(tiny_network() + field(7, field(5, HERE))) == "", "the graph may be in pieces"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x00", "a tag out of range"),
        (b"\x3b" + field(5, HERE) + b"\x3c", "wire type 3"),
        (b"\x3c", "wire type 4"),
        (b"\x3e", "wire type 6"),
        (field(7, 1), "field 7 of ModelProto is not one message"),
        (field(9, b""), "unknown field 9 of ModelProto"),
        (inside((7, 5), field(99, b"")), "unknown field 99 of TensorProto"),
        (b"\x3a\x05\x00", "it is cut off"),
        (b"\x08" + b"\x80" * 10 + b"\x01", "too many bytes"),
        (inside((7, *(1, 5, 6) * 40), field(5, HERE)), "more than 100 messages within each other"),
        (inside((7, *(1, 5, 6) * 5000), field(5, HERE)), "more than 100 messages within each other"),
    ],
)
def test_what_is_no_model_is_refused(content: bytes, problem: str) -> None:
    found = checked(content)
    assert found.startswith("is not an ONNX model (")
    assert problem in found


def test_a_model_that_is_cut_off_gives_an_error_or_is_a_model() -> None:
    whole = tiny_network()
    assert "cut off" in {checked(whole[:end]).rpartition("it is ")[2].rstrip(")") for end in range(len(whole))}


def test_the_format_of_onnx_runtime_is_refused(tmp_path: Path) -> None:
    """It is read wherever ONNX is expected, and says in other ways which files it needs."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(tiny_network(), options, providers=["CPUExecutionProvider"])
    content = (tmp_path / "model.ort").read_bytes()
    for first in (content[:4], b"\x0a\x7f\x00\x00", field(1, 8) * 2):  # the latter two could begin a message
        assert "in ONNX Runtime's own format" in checked(first + content[4:])


def tensor(kind: int, data: bytes) -> bytes:
    return inside((7, 5), field(8, b"w") + field(2, kind) + data)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "written",
    [
        lambda values: tensor(FLOAT, field(9, np.array(values, "<f4").tobytes())),
        lambda values: tensor(HALF, field(9, np.array(values, "<f2").tobytes())),
        lambda values: tensor(DOUBLE, field(9, np.array(values, "<f8").tobytes())),
        lambda values: tensor(BFLOAT, field(9, (np.array(values, "<f4").view("<u4") >> 16).astype("<u2").tobytes())),
        lambda values: tensor(FLOAT, field(4, np.array(values, "<f4").tobytes())),
        lambda values: tensor(FLOAT, b"".join(varint(4 << 3 | 5) + struct.pack("<f", value) for value in values)),
        lambda values: tensor(DOUBLE, field(10, np.array(values, "<f8").tobytes())),
        lambda values: inside((7, 1, 5), field(1, b"w") + field(7, np.array(values, "<f4").tobytes())),
    ],
    ids=["raw", "half", "double", "bfloat16", "float_data", "one by one", "double_data", "attribute"],
)
def test_numbers_that_are_not_finite_are_refused(written: Callable[[list[float]], bytes], wrong: float) -> None:
    assert checked(written([1.0, -3e4, 2.0])) == ""
    with pytest.raises(DataError, match=r"^m\.onnx: field 'w': holds numbers that are not finite$"):
        check_onnx(written([1.0, 2.0, wrong]), "m.onnx")
    alone = checked(written([wrong]))
    assert alone == ("holds numbers that are not finite" if math.isnan(wrong) else ""), "-inf is a mask's constant"


def test_numbers_that_cannot_be_checked_are_refused() -> None:
    assert checked(tensor(FLOAT, field(5, 1))) == "has floating-point numbers in int32_data: expected raw_data"
    assert checked(tensor(17, field(9, b"\x7f"))) == "has numbers of type 17, which cannot be checked"
    assert checked(tensor(3, field(9, b"\x7f"))) == ""


def test_every_array_of_the_default_network_is_checked() -> None:
    content = bytearray((shipped_folder("default@1") / "model.int8.onnx").read_bytes())
    assert checked(content) == ""
    model = onnx.load_from_string(bytes(content))
    nan = np.full(1, np.nan, "<f4").tobytes()
    floats = [each for each in model.graph.initializer if each.data_type == FLOAT and len(each.raw_data) >= 4]
    assert len(floats) > 100
    for each in floats[::10]:  # the model is read whole each time
        end = content.index(each.raw_data) + len(each.raw_data)
        before = content[end - 4 : end]
        content[end - 4 : end] = nan
        assert checked(content) == "holds numbers that are not finite", each.name
        content[end - 4 : end] = before


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        (tiny_network() + inside((7, 5), HERE + ELSEWHERE["a longer length of the key"]), "keeps weights in other"),
        (tiny_network(math.nan), "holds numbers that are not finite"),
        (b"", "is not an ONNX model"),
        (tiny_network()[:-3], "is not an ONNX model"),
    ],
)
def test_such_a_folder_is_refused_before_a_session_is_made(
    network: bytes, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tiny_network(tmp_path / "model", network)

    def no_session(*given: object, **options: object) -> None:
        pytest.fail(f"a session was made: {len(given)}, {options}")

    if network:  # what is empty is a message, but no model
        monkeypatch.setattr("onnxruntime.InferenceSession", no_session)
    with pytest.raises(DataError, match=problem) as caught:
        rejoinder.load(folder).score(EXAMPLES)
    assert caught.value.file == str(folder / "model.int8.onnx")
    if network:
        with pytest.raises(DataError, match=problem):
            widened(network, "model.int8.onnx")


@pytest.mark.parametrize("features", [True, False])
def test_scores_that_overflow_are_unknown_for_that_reason(features: bool, tmp_path: Path) -> None:
    good = write_tiny_network(tmp_path / "good", tiny_network(features=features))
    assert np.isfinite(rejoinder.load(good).score(EXAMPLES)).all()
    folder = write_tiny_network(tmp_path / "model", tiny_network(3e38, features=features))
    with pytest.warns(rejoinder.ScoreWarning, match=f"could not score 2 of 2 replies .*{OVERFLOW}"):
        table = rejoinder.score(EXAMPLES, metrics=[str(folder)])
    assert np.isnan(table[str(folder)]).all()


@pytest.mark.parametrize("features", [True, False])
def test_an_error_while_scoring_is_one_line_with_the_file(features: bool, tmp_path: Path) -> None:
    folder = write_tiny_network(tmp_path / "model", tiny_network(reshaped=2, features=features))
    records = '{"context": ["hi"], "response": "hello"}\n'
    command = [sys.executable, "-m", "rejoinder", "score", "-", "-m", str(folder)]
    ran = subprocess.run(command, input=records, capture_output=True, text=True, check=False, timeout=240)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert f"{folder / 'model.int8.onnx'}: cannot score (" in ran.stderr


@pytest.mark.parametrize("change", ["outputs", "inputs", "types", "nodes"])
def test_another_model_is_one_line(change: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = onnx.load_from_string(tiny_network(features=False))
    if change == "types":
        model.graph.input[0].type.tensor_type.elem_type = FLOAT
    elif change == "nodes":
        model.graph.node[0].op_type = "EPContext"  # names a file that only some hardware reads
        model.graph.node[0].domain = "com.microsoft"
    content = model.SerializeToString()
    renamed = {"outputs": (b"score", b"other"), "inputs": (b"input_ids", b"other_ids")}
    folder = write_tiny_network(tmp_path / "model", content.replace(*renamed.get(change, (b"", b""))))
    network = rejoinder.load(folder)
    with pytest.raises(DataError, match=r"model\.int8\.onnx: ") as caught:
        network.score(EXAMPLES)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == "", "ONNX Runtime itself writes nothing"
