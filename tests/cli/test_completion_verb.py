"""`rejoinder completion`, in real shells."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rejoinder.cli import VERBS

if TYPE_CHECKING:
    from running import Run

ZSH = """\
autoload -Uz compinit; compinit -u -D; source {script}
save() {{ print -r -- "$BUFFER" > {target}.part; mv {target}.part {target} }}
zle -N save; bindkey '^G' save; setopt noautomenu; unsetopt beep
"""


def bash_words(script: str, *words: str) -> set[str]:
    """What bash offers for the last word."""
    given = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _rejoinder; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, check=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def zsh_line(script: Path, line: str, folder: Path) -> str:
    """What an interactive zsh makes of a line and a press of the tab key."""
    target, settings = folder / "line", folder / ".zshrc"
    target.unlink(missing_ok=True)
    settings.write_text(ZSH.format(script=script, target=target))
    master, slave = pty.openpty()
    environment = {**os.environ, "ZDOTDIR": str(folder), "TERM": "dumb"}
    with subprocess.Popen(
        ["zsh", "-d", "-i"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as shell:
        os.close(slave)
        os.write(master, f"{line}\t\x07".encode())
        while not target.exists():
            assert shell.poll() is None
            time.sleep(0.02)
        shell.kill()
    os.close(master)
    return target.read_text().rstrip()


def fish_words(script: Path, line: str) -> dict[str, str]:
    """What fish offers for the end of a line, with what each is for."""
    asked = ["fish", "--no-config", "--command", f"source {script}; complete -C {line!r}"]
    done = subprocess.run(asked, capture_output=True, check=True, text=True, cwd=script.parent)
    assert done.stderr == ""
    return {word: meaning for word, _, meaning in (found.partition("\t") for found in done.stdout.splitlines())}


def test_bash_completes_verbs_options_and_names(run: Run) -> None:
    script = run("completion", "bash").out
    assert bash_words(script, "rejoinder", "") == set(VERBS)
    assert bash_words(script, "rejoinder", "sc") == {"score"}
    assert bash_words(script, "rejoinder", "compare", "old.jsonl", "--fail") == {"--fail-if", "--fail-if-more"}
    assert bash_words(script, "rejoinder", "train", "ade") == {"adem"}
    assert bash_words(script, "rejoinder", "completion", "") == {"bash", "zsh", "fish", "--help"}
    assert bash_words(script, "rejoinder", "score", "repl") == set()  # left to the shell: names of files


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_verbs_options_and_names(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "rejoinder.zsh"
    script.write_text(run("completion", "zsh").out)
    (tmp_path / "replies.jsonl").touch()
    for line, expected in (
        ("rejoinder sc", "rejoinder score"),
        ("rejoinder compare old.jsonl --fail", "rejoinder compare old.jsonl --fail-if"),
        ("rejoinder train ade", "rejoinder train adem"),
        ("rejoinder score repl", "rejoinder score replies.jsonl"),
    ):
        assert zsh_line(script, line, tmp_path) == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_verbs_options_and_names(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "rejoinder.fish"
    script.write_text(run("completion", "fish").out)
    (tmp_path / "replies.jsonl").touch()
    assert fish_words(script, "rejoinder ") == {verb: purpose.replace("'", "’") for verb, purpose in VERBS.items()}
    assert fish_words(script, "rejoinder sc") == {"score": VERBS["score"]}
    assert fish_words(script, "rejoinder compare old.jsonl --fail") == {
        "--fail-if": "a check for continuous integration",
        "--fail-if-more": "a check for continuous integration",
    }
    assert fish_words(script, "rejoinder train ade") == {"adem": ""}
    assert fish_words(script, "rejoinder score repl") == {"replies.jsonl": ""}


def test_an_unknown_shell(run: Run) -> None:
    ran = run("completion", "tcsh")
    assert ran.code == 2
    assert "invalid choice: 'tcsh'" in ran.err
