"""An interrupt while modules are imported ends the command with one line, not with a stack trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# The command, interrupted when it begins to import a module.
INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from rejoinder.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module", ["argparse", "rejoinder.cli.scoring", "numpy._core.multiarray", "polars", "onnxruntime"]
)
def test_an_interrupt_during_imports(module: str, demo: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "score", demo, "-m", "default"],
        cwd=tmp_path,
        env={**os.environ, "INTERRUPT_AT": module, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    # Python may end itself by the signal after it was interrupted in native code; shells call both 130.
    assert done.returncode in {130, -signal.SIGINT}, done.stderr
    assert done.stderr == "rejoinder: interrupted\n"
    assert done.stdout == ""
