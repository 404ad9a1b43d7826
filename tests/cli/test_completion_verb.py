"""`rejoinder completion`, in a real shell."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from rejoinder.cli import VERBS

if TYPE_CHECKING:
    from running import Run


def completed(script: str, *words: str) -> set[str]:
    """What bash offers for the last word."""
    given = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _rejoinder; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, check=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_verbs_options_and_names(run: Run) -> None:
    script = run("completion", "bash").out
    assert completed(script, "rejoinder", "") == set(VERBS)
    assert completed(script, "rejoinder", "sc") == {"score"}
    assert completed(script, "rejoinder", "compare", "old.jsonl", "--fail") == {"--fail-if"}
    assert completed(script, "rejoinder", "train", "ade") == {"adem"}
    assert completed(script, "rejoinder", "completion", "") == {"bash", "--help"}
    assert completed(script, "rejoinder", "score", "repl") == set()  # left to the shell: names of files


def test_an_unknown_shell(run: Run) -> None:
    ran = run("completion", "tcsh")
    assert ran.code == 2
    assert "invalid choice: 'tcsh'" in ran.err
