from __future__ import annotations

from pathlib import Path

import pytest

from rejoinder.data.dialogues import read_text
from rejoinder.errors import DataError


def test_a_file_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("ä", encoding="utf-8")
    assert read_text(tmp_path / "config.json") == "ä"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json: is missing: expected a file of the model$"):
        read_text(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"is a folder: expected a file$"):
        read_text(tmp_path)
    (tmp_path / "config.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_text(tmp_path / "config.json")
