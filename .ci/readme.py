"""Runs the README's own commands and Python, in order, as a newcomer would; stops at the first that fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# These two are what .ci/run itself has just done.
ALREADY_DONE = {"make demo", "make test"}


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks in sh or python, in order."""
    return re.findall(r"^```(sh|python)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def main() -> None:
    """Run every block."""
    environment = os.environ | {"PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}
    done = 0
    for language, code in blocks((ROOT / "README.md").read_text(encoding="utf-8")):
        if language == "python":
            commands = [[sys.executable, "-c", code]]
        else:
            lines = [line.split("  #")[0].strip() for line in code.replace("\\\n", " ").splitlines()]
            commands = [["bash", "-c", line] for line in lines if line and line not in ALREADY_DONE]
        for command in commands:
            print(f"$ {command[-1].strip()}", flush=True)
            subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
            done += 1
    if not done:
        raise SystemExit("README.md holds no commands to run")
    print(f"README: {done} passed, 0 failed")


main()
