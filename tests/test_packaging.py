"""Wheel and sdist build, and the wheel works in an environment that holds nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from places import ROOT

NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.pyc")
NO_NETWORK = ("NewConnectionError", "NameResolutionError", "ConnectTimeout", "Network is unreachable")


def call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode and any(sign in done.stdout + done.stderr for sign in NO_NETWORK):
        pytest.skip("needs a package index")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(3600)  # it installs twice, from a package index, which takes minutes on a loaded machine
def test_the_package_builds_and_works_where_nothing_else_is(tmp_path: Path) -> None:
    built = build(tmp_path / "package")
    check_contents(built)
    check_in_empty_environment(built, tmp_path)


def build(copy: Path) -> Path:
    """A folder with the sdist, and the wheel that was made from the sdist."""
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=NOT_SHIPPED)
    call(sys.executable, "-m", "build", cwd=copy)
    return copy / "dist"


def check_contents(built: Path) -> None:
    """Every file of the package is in wheel and sdist."""
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "rejoinder").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"rejoinder/py.typed", "rejoinder/examples/demo.jsonl", "rejoinder/resources/wordnet.npz"} <= expected
    with zipfile.ZipFile(wheel) as packed:
        in_wheel = {name for name in packed.namelist() if ".dist-info/" not in name}
        licences = {Path(name).name for name in packed.namelist() if "/licenses/" in name}
    assert in_wheel == expected
    assert licences == {"LICENSE", "NOTICE"}
    with tarfile.open(sdist) as unpacked:
        in_sdist = {name.partition("/src/")[2] for name in unpacked.getnames()}
    assert expected <= in_sdist


def check_in_empty_environment(built: Path, tmp_path: Path) -> None:
    """`rejoinder score` works on the bundled example."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=False)
    python = tmp_path / "empty" / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    call(*pip, "install", "--no-compile", "--quiet", wheel, cwd=tmp_path)
    installed = {package["name"] for package in json.loads(call(*pip, "list", "--format", "json", cwd=tmp_path))}
    assert "rejoinder" in installed
    assert not installed & {"torch", "transformers", "pandas", "datasets"}, "the core is small"
    find = "import importlib.resources as r; print(r.files('rejoinder') / 'examples' / 'demo.jsonl')"
    demo = call(python, "-I", "-c", find, cwd=tmp_path).strip()
    assert demo.startswith(str(tmp_path))
    told = json.loads(call(tmp_path / "empty" / "bin" / "rejoinder", "score", demo, "--json", cwd=tmp_path))
    assert told["examples"] == 256
    assert set(told["summary"]["length"]) == {"good", "generic", "off-topic", "garbled"}
