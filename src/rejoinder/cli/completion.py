"""`rejoinder completion bash`, or zsh, or fish."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping

from rejoinder.cli.output import put

_BASH = """\
_rejoinder() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _rejoinder rejoinder"""

_ZSH = """\
#compdef rejoinder
_rejoinder() {{
    local -a words_
    if (( CURRENT == 2 )); then
        words_=({verbs})
        _describe -t verbs verb words_
        return
    fi
    case "${{words[2]}}" in
{cases}
    esac
    _describe -t words word words_ || _files
}}
if [[ "$funcstack[1]" = _rejoinder ]]; then _rejoinder "$@"; else compdef _rejoinder rejoinder; fi"""
"""The last line lets the script be a file of fpath as well as be evaluated."""

_SHELLS: dict[str, str] = {
    "bash": 'eval "$(rejoinder completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(rejoinder completion zsh)" in ~/.zshrc, after compinit',
    "fish": "rejoinder completion fish | source in ~/.config/fish/config.fish",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    where = "; ".join(f"{shell}: put {line}" for shell, line in _SHELLS.items())
    parser.add_argument("shell", choices=tuple(_SHELLS), help=f"the shell ({where})")


def run(arguments: argparse.Namespace) -> int:
    """Print a script that completes verbs and options; where no word fits, the shell completes the names of files."""
    scripts: dict[str, Callable[[Verbs], str]] = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
    put(scripts[arguments.shell](_verbs()))
    return 0


Verbs = Mapping[str, tuple[str, Mapping[str, str]]]
"""Verb -> what it is for, and its options and words with what they are for."""


def bash_script(verbs: Verbs) -> str:
    """The script for bash."""
    cases = [f'            {verb}) words="{" ".join(words)}" ;;' for verb, (_, words) in verbs.items()]
    return _BASH.format(verbs=" ".join(verbs), cases="\n".join(cases))


def zsh_script(verbs: Verbs) -> str:
    """The script for zsh, which shows what each word is for."""

    def described(words: Mapping[str, str]) -> str:
        return " ".join(_quoted(f"{word}:{meaning}".rstrip(":")) for word, meaning in words.items())

    cases = [f"        {verb}) words_=({described(words)}) ;;" for verb, (_, words) in verbs.items()]
    purposes = {verb: purpose for verb, (purpose, _) in verbs.items()}
    return _ZSH.format(verbs=described(purposes), cases="\n".join(cases))


def fish_script(verbs: Verbs) -> str:
    """The script for fish, which shows what each word is for."""
    lines = []
    for verb, (purpose, words) in verbs.items():
        lines.append(f"complete -c rejoinder -f -n __fish_use_subcommand -a {verb} -d {_quoted(purpose)}")
        seen = f"-n '__fish_seen_subcommand_from {verb}'"
        for word, meaning in words.items():
            what = f"-l {word[2:]}" if word.startswith("--") else f"-a {_quoted(word)}"
            lines.append(f"complete -c rejoinder {seen} {what} -d {_quoted(meaning)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Text in single quotes, without those of its own, which shells quote differently."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"


def _verbs() -> dict[str, tuple[str, dict[str, str]]]:
    from rejoinder.cli import VERBS, build_parser

    parsers = next(
        action.choices for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {verb: (purpose, dict(_words(parsers[verb].filled()))) for verb, purpose in VERBS.items()}


def _words(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The options of a verb, and the words that its arguments may be, with what they are for."""
    for action in parser._actions:
        meaning = _first_words(action.help or "")
        yield from ((option, meaning) for option in action.option_strings if option.startswith("--"))
        if not action.option_strings and action.choices:
            yield from ((str(choice), "") for choice in action.choices)


def _first_words(text: str) -> str:
    """The help of an option up to the first break, in one line."""
    for end in (";", " (", ": "):
        text = text.partition(end)[0]
    return " ".join(text.replace("%(default)s", "").replace("%%", "%").split())
