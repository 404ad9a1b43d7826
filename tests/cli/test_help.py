"""`--help` answers at once: it imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import rejoinder
from rejoinder.cli import VERBS

if TYPE_CHECKING:
    from running import Run

HEAVY = ("torch", "onnxruntime", "polars", "numpy", "scipy", "pandas", "rapidfuzz", "datasets")


def test_help_of_every_verb_imports_nothing_heavy() -> None:
    script = f"""
import contextlib, io, sys
from rejoinder.cli import main
for verb in [[], *([verb] for verb in {list(VERBS)})]:
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main([*verb, "--help"])
    assert said.getvalue().startswith("usage: rejoinder"), said.getvalue()
print(sorted(set({HEAVY}) & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = f"import sys, rejoinder; print(sorted(set({HEAVY}) & sys.modules.keys()), len(dir(rejoinder)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == f"[] {len(rejoinder.__all__)}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_what_it_is_for(verb: str, run: Run) -> None:
    ran = run(verb, "--help")
    assert (ran.code, ran.err) == (0, "")
    purpose = VERBS[verb]
    assert purpose[0].upper() + purpose[1:] + "." in " ".join(ran.out.split())


def test_version(run: Run) -> None:
    assert run("--version").out == f"rejoinder {rejoinder.__version__}\n"


def test_python_dash_m() -> None:
    done = subprocess.run([sys.executable, "-m", "rejoinder", "--version"], capture_output=True, check=True, text=True)
    assert done.stdout == f"rejoinder {rejoinder.__version__}\n"


def test_a_reader_who_goes_away_is_no_error_of_ours() -> None:
    command = f"{sys.executable} -m rejoinder metrics --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, text=True)
    assert (done.stdout, done.stderr) == ("{", "")


def test_a_terminal_without_unicode_still_gets_the_table() -> None:
    script = "import sys; from rejoinder.cli import main; sys.exit(main(sys.argv[1:]))"
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-c", script, "score", "-", "-m", "length", *more],
            input='{"response": "hi", "system": "Émile 🙂"}\n'.encode(),
            env={"PYTHONIOENCODING": "ascii"},
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert rb"\u00c9mile" in done.stdout or rb"\xc9mile" in done.stdout
