"""`rejoinder doctor`."""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from rejoinder.errors import DataError
from rejoinder.scoring import doctor

if TYPE_CHECKING:
    from running import Run


def test_a_whole_installation(run: Run) -> None:
    ran = run("doctor")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"rejoinder {rejoinder.__version__}, Python 3.")
    for line in ("the default evaluator: whole", "word vectors: whole", "ONNX Runtime computes on: "):
        assert line in ran.out
    assert "CPUExecutionProvider" in ran.out


def test_what_is_missing_is_said_with_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SHIPPED", {})
    monkeypatch.setattr(doctor, "EXTRAS", {"chinese": ("no_such_module",), "judge": ()})
    out = run("doctor").out
    assert "extra [chinese]: without no_such_module; pip install 'rejoinder[chinese]'" in out
    assert "extra [judge]: installed" in out


def test_data_that_cannot_be_used_fail_the_check(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise DataError("is cut off", file="model.onnx")

    monkeypatch.setattr(doctor, "SHIPPED", {"default": "the default evaluator"})
    monkeypatch.setattr(doctor, "metric_of", broken)
    ran = run("doctor", "--json")
    assert ran.code == 3
    assert ran.json["problems"] == ["the default evaluator cannot be used: DataError: model.onnx: is cut off"]
    assert "check failed: the default evaluator cannot be used" in ran.err


def test_files_that_differ_from_what_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def recorded(name: str, content: bytes, now: bytes) -> metadata.PackagePath:
        path = metadata.PackagePath(f"rejoinder/resources/{name}")
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        vars(path).update(hash=metadata.FileHash(f"sha256={digest}"), size=len(content), dist=Here())
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(now)
        return path

    class Here:
        def locate_file(self, path: Any) -> Path:
            return tmp_path / str(path)

    files = [recorded("same.npy", b"abc", b"abc"), recorded("cut.npy", b"abc", b"ab")]
    monkeypatch.setattr(doctor, "SHIPPED", {})
    monkeypatch.setattr(metadata, "files", lambda name: files)
    ran = run("doctor")
    assert ran.code == 3
    assert "digests of the installed files: 1 differ" in ran.out
    assert "check failed: rejoinder/resources/cut.npy differs from the file that was installed" in ran.err
