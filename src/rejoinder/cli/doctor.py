"""`rejoinder doctor`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import check_failed, print_json, put


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Report what is installed; exit code 3 where something has to be put right."""
    from rejoinder.scoring.doctor import installation

    found = installation()
    if arguments.json:
        print_json(found.to_dict())
    else:
        put(found.text())
    return check_failed(found.problems)
