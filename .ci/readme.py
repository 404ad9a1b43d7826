"""Runs the commands and Python of the README, and of guides, in order, as a newcomer would; stops at the first that
fails.

A block of text shows what the commands before it print: each of its lines must be there, and one that ends in "..."
must be how a line begins.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/guide/not-decided.md")
# These two are what .ci/run itself has just done.
ALREADY_DONE = {"make demo", "make test"}


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks in sh, python or text, in order."""
    return re.findall(r"^```(sh|python|text)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands_of(language: str, code: str) -> list[list[str]]:
    """What a block runs, one list of arguments a command."""
    if language == "python":
        return [[sys.executable, "-c", code]]
    lines = [line.split("  #")[0].strip() for line in code.replace("\\\n", " ").splitlines()]
    return [["bash", "-c", line] for line in lines if line and line not in ALREADY_DONE]


def not_printed(shown: str, output: str) -> list[str]:
    """The lines of a block of text that the output lacks."""
    printed = [line.strip() for line in output.splitlines()]
    return [
        line
        for line in map(str.strip, shown.splitlines())
        if not (
            any(found.startswith(line.removesuffix("...").rstrip()) for found in printed)
            if line.endswith("...")
            else line in printed
        )
    ]


def check(text: str, name: str = "README.md") -> int:
    """Run every block of a page; how many commands that were."""
    environment = os.environ | {"PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}
    done, output = 0, ""
    for language, code in blocks(text):
        if language == "text":
            if missing := not_printed(code, output):
                raise SystemExit(f"{name} shows what its commands do not print: {missing[0]}")
            continue
        output = ""
        for command in commands_of(language, code):
            print(f"$ {command[-1].strip()}", flush=True)
            ran = subprocess.run(
                command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8"
            )
            output += ran.stdout
            done += 1
    if not done:
        raise SystemExit(f"{name} holds no commands to run")
    return done


if __name__ == "__main__":
    for page in PAGES:
        print(f"{page}: {check((ROOT / page).read_text(encoding='utf-8'), page)} passed, 0 failed")
