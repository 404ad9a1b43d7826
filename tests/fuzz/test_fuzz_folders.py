"""Whatever happened to a model folder, it loads and scores, or gives a RejoinderError with a short message."""

from __future__ import annotations

import shutil
import socket
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

pytest.importorskip("torch")

from damage import Damage, damages
from fuzzing import fuzz
from rejoinder.errors import LONGEST_MESSAGE, RejoinderError
from rejoinder.registry import ENCODERS, EVALUATORS, REPLY_MODELS, SHIPPED
from saved_folders import KINDS, WITH_TRANSFORMERS, copied_folder, saved_folder, use

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
    assert KINDS.keys() >= EVALUATORS.keys() | REPLY_MODELS.keys() | ENCODERS.keys() | SHIPPED.keys()


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
