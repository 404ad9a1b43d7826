"""`rejoinder setup default-large --mpnet FOLDER --smollm2 FOLDER -o large/`."""

from __future__ import annotations

import argparse

from rejoinder.cli.options import say
from rejoinder.registry import TEMPLATES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("name", help=f"the evaluator: {', '.join(TEMPLATES)}")
    models = {key: source for places in TEMPLATES.values() for key, source in places.items()}
    for key, source in models.items():
        help_text = f"folder or Hugging Face name of this model (default: {source})"
        parser.add_argument(f"--{key}", metavar="MODEL", default=source, help=help_text)
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder to save the evaluator in")
    parser.add_argument("--quiet", action="store_true", help="show no remarks")


def run(arguments: argparse.Namespace) -> int:
    """Check the models, and write the folder."""
    import warnings

    from rejoinder.training.train import setup

    models = {key: getattr(arguments, key) for places in TEMPLATES.values() for key in places}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        setup(arguments.name, arguments.output, models)
    for message in dict.fromkeys(str(each.message) for each in caught):
        say(f"note: {message}", arguments)
    say(f"model: {arguments.output} (rejoinder score REPLIES -m {arguments.output})", arguments)
    return 0
