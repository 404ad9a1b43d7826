"""Whatever happened to a model folder, it loads and scores, or gives a RejoinderError with a short message."""

from __future__ import annotations

import shutil
import socket
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import strategies as st

pytest.importorskip("torch")

from checked_reading import only_our_errors
from damage import Damage, damages
from fuzzing import fuzz, mutated
from rejoinder.errors import LONGEST_MESSAGE, DataError, RejoinderError
from rejoinder.folders.onnx_file import check_onnx
from rejoinder.registry import ENCODERS, EVALUATORS, REPLY_MODELS, SHIPPED_EVALUATORS
from saved_folders import KINDS, WITH_TRANSFORMERS, copied_folder, saved_folder, use
from tiny_onnx import field, inside, read_onnx, tensor_paths, tensors, tiny_network

SHAPES = (
    "encoder.json",
    "language-model.json",
    "language-model/config.json",
    "encoder/encoder.json",
    "member-1/encoder.json",
)
"""Architectures of models of transformers."""


def no_connection(*arguments: object) -> None:
    """Take the place of what opens connections: loading and scoring need none."""
    pytest.fail(f"a connection was opened: {arguments}")


def test_every_kind_of_folder_is_here() -> None:
    assert KINDS.keys() >= EVALUATORS.keys() | REPLY_MODELS.keys() | ENCODERS.keys() | SHIPPED_EVALUATORS.keys()


@pytest.mark.slow
def test_damaged_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {kind: saved_folder(kind) for kind in KINDS}
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, no_connection)
    monkeypatch.setattr(socket, "getaddrinfo", no_connection)
    for kind, saved in folders.items():
        use(saved)
        has_shape = any((saved / shape).exists() for shape in SHAPES)
        assert has_shape == (kind in WITH_TRANSFORMERS), "tests/loading/test_data_only.py tests these"

    def target(case: tuple[str, list[Damage]]) -> None:
        kind, damage = case
        folder = tmp_path / "model"
        shutil.rmtree(folder, ignore_errors=True)
        copied_folder(kind, folder)
        for each in damage:
            each.do(folder)
        try:
            # Numbers that are finite but huge may overflow, which is no more than a score of NaN.
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                use(folder)
        except RejoinderError as error:
            if error.exit_code != 2 or not 0 < len(str(error)) <= LONGEST_MESSAGE or "\n" in str(error):
                raise

    fuzz(st.tuples(st.sampled_from(sorted(KINDS)), damages()), target, times=4)


PATHS = list(tensor_paths())


@st.composite
def encoded_elsewhere(draw: st.DrawFn) -> bytes:
    """A model with a tensor somewhere whose data are in another file, in one of the many encodings of that."""
    longer, numbers = st.integers(0, 4), st.integers(1, (1 << 64) - 1)
    entry = [field(1, b"location", draw(longer)), field(2, b"secret.bin", draw(longer))]
    says = [
        field(13, b"".join(draw(st.permutations(entry))), draw(longer), longer_tag=draw(st.integers(0, 3))),
        field(13, entry[0]) + field(13, entry[1], draw(longer)),
        field(14, draw(numbers), longer_tag=draw(st.integers(0, 3))),
        field(14, 1, draw(longer)),
    ]
    chosen = draw(st.lists(st.sampled_from(says), min_size=1, max_size=3))
    harmless = [field(1, 2), field(2, 1), field(8, b"w", draw(longer)), field(9, b"12345678"), field(14, 0)]
    content = b"".join(draw(st.permutations([*chosen, *harmless])))
    placed = inside(draw(st.sampled_from(PATHS)), content, draw(longer))
    return placed + tiny_network() if draw(st.booleans()) else tiny_network() + placed


@pytest.mark.slow
def test_weights_in_other_files_are_found_in_every_encoding() -> None:
    def target(content: bytes) -> None:
        with pytest.raises(DataError, match="keeps weights in other files"):
            check_onnx(content, "m.onnx")

    fuzz(encoded_elsewhere(), target)


@pytest.mark.slow
def test_damaged_onnx_files_keep_their_weights_in_themselves() -> None:
    """What passes the check has no tensor with data elsewhere or NaN, as the package `onnx` reads it."""

    def target(content: bytes) -> None:
        with only_our_errors():
            check_onnx(content, "m.onnx")
            model = read_onnx(content)  # the package refuses more than the check, such as names that are not UTF-8
            for tensor in tensors(model) if model is not None else ():
                assert not tensor.external_data
                assert tensor.data_location == onnx.TensorProto.DEFAULT
                assert not np.isnan(tensor.float_data).any()

    files = [tiny_network(), *(tiny_network() + inside(path, field(8, b"w") + field(9, b"1234")) for path in PATHS)]
    entry = field(13, field(1, b"location", 1) + field(2, b"secret.bin"))
    tokens = [b"\x70\x01", b"\x70\x81\x00", b"\x6a", b"\x3a", b"\x2a", b"\x88\x00", b"\x1c", b"\0\0\xc0\x7f"]
    fuzz(mutated(files, [entry, *tokens, *(inside(path, entry) for path in PATHS[:20])]), target)
