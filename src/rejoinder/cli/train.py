"""`rejoinder train NAME ...`: one file an evaluator, and one for all reply models."""

from __future__ import annotations

import argparse
import importlib

_REPLY_MODELS = "rejoinder.cli.train_reply_model"

# Name -> the module of its options, and what it is for. Modules are imported only when the verb is called.
EVALUATORS = {
    "encoder": ("rejoinder.cli.train_encoder", "a neural network that judges a reply by its context"),
    "am-fm": ("rejoinder.cli.train_am_fm", "adequacy and fluency beside references, learned from sentences"),
    "r-tfidf": (_REPLY_MODELS, "a reply model: copies the reply whose words are nearest to the context"),
    "c-tfidf": (_REPLY_MODELS, "a reply model: copies the reply that the nearest context was given"),
    "bm25": (_REPLY_MODELS, "a reply model: copies the reply that BM25 finds with the context"),
    "dual-encoder": (_REPLY_MODELS, "a reply model: copies the reply whose vector fits the context best"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A verb of its own for each evaluator and reply model."""
    verbs = parser.add_subparsers(dest="evaluator", metavar="NAME", required=True, help="what to train")
    for name, (location, purpose) in EVALUATORS.items():
        module = importlib.import_module(location)
        subparser = verbs.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        module.add_arguments(subparser)
        subparser.set_defaults(train=module.run)


def run(arguments: argparse.Namespace) -> int:
    """Train what was named."""
    code: int = arguments.train(arguments)
    return code
