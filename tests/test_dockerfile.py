"""The Dockerfile, as far as it can be checked without Docker; `make dockerfile` runs its commands."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from places import ROOT
from rejoinder.cli import build_parser
from scoring_server import serving


@pytest.fixture(scope="module")
def script() -> Any:
    """The script that runs the Dockerfile's commands."""
    spec = importlib.util.spec_from_file_location("dockerfile", ROOT / ".ci" / "dockerfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def instructions(script: Any) -> dict[str, list[str]]:
    """Instruction -> its arguments, each time that it occurs."""
    found: dict[str, list[str]] = {}
    for word, rest in script.instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        found.setdefault(word, []).append(rest)
    return found


def listed(instruction: str) -> list[str]:
    """The words of an instruction in JSON form."""
    words: list[str] = json.loads(instruction[instruction.index("[") :])
    return words


def test_what_is_copied_is_there_and_not_ignored(instructions: dict[str, list[str]]) -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [name for rest in instructions["COPY"] if not rest.startswith("--from") for name in rest.split()[:-1]]
    assert "src" in copied
    for name in copied:
        assert (ROOT / name).exists()
        assert any(fnmatch(name, pattern) for pattern in kept)


def test_the_service_runs_as_a_user_without_rights(instructions: dict[str, list[str]]) -> None:
    (user,) = instructions["USER"]
    assert int(user) > 0
    assert any(f"--uid {user}" in rest for rest in instructions["RUN"])


def test_the_entry_point_is_a_valid_command(instructions: dict[str, list[str]]) -> None:
    program, *words = [*listed(instructions["ENTRYPOINT"][0]), *listed(instructions["CMD"][0])]
    assert Path(program).name == "rejoinder"
    parsed = build_parser().parse_args(words)
    assert (parsed.verb, parsed.host, parsed.metric) == ("serve", "0.0.0.0", ["default"])
    assert [str(parsed.port)] == instructions["EXPOSE"]


def test_the_health_check_tells_whether_the_service_runs(instructions: dict[str, list[str]], tmp_path: Path) -> None:
    _, *words = listed(instructions["HEALTHCHECK"][0])
    with serving(tmp_path, "-m", "length", "--quiet") as server:
        command = [sys.executable, *(word.replace("http://127.0.0.1:8000", server.address) for word in words)]
        assert subprocess.run(command).returncode == 0
        server.stop()
        assert subprocess.run(command, capture_output=True).returncode != 0
