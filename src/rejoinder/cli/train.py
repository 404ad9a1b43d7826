"""`rejoinder train NAME ...`: one file an evaluator, and one for all reply models."""

from __future__ import annotations

import argparse
import importlib

_REPLY_MODELS = "rejoinder.cli.train_reply_model"
_NEURAL_MODELS = "rejoinder.cli.train_neural_model"
_ADEM = "rejoinder.cli.train_adem"

# Name -> the module of its options, and what it is for. Modules are imported only when the verb is called.
EVALUATORS = {
    "encoder": ("rejoinder.cli.train_encoder", "a neural network that judges a reply by its context"),
    "am-fm": ("rejoinder.cli.train_am_fm", "adequacy and fluency beside references, learned from sentences"),
    "ruber": ("rejoinder.cli.train_ruber", "near to a reference and fitting the context, learned without labels"),
    "adem": (_ADEM, "human scores, learned over an encoder's vectors of context, reference and reply"),
    "c-adem": (_ADEM, "ADEM beside the context alone: it needs no reference"),
    "r-adem": (_ADEM, "ADEM beside references alone"),
    "encoder-dot": (_ADEM, "the dot product of an encoder's vectors, with nothing learned: what ADEM starts from"),
    "vhred-dot": (_ADEM, "encoder-dot of a trained HRED or VHRED"),
    "t2v-dot": (_ADEM, "encoder-dot of a trained tweet2vec"),
    "human-likeness": (_ADEM, "a judge that tells people's replies from those of models"),
    "skip-thought": ("rejoinder.cli.train_skip_thought", "near to a reference, by vectors that foretell neighbours"),
    "tweet2vec": (_ADEM, "a sentence encoder that reads characters, learned from dialogues"),
    "r-tfidf": (_REPLY_MODELS, "a reply model: copies the reply whose words are nearest to the context"),
    "c-tfidf": (_REPLY_MODELS, "a reply model: copies the reply that the nearest context was given"),
    "bm25": (_REPLY_MODELS, "a reply model: copies the reply that BM25 finds with the context"),
    "dual-encoder": (_REPLY_MODELS, "a reply model: copies the reply whose vector fits the context best"),
    "dual-encoder-rnn": (_NEURAL_MODELS, "a reply model: copies the reply that fits best by two GRUs, trained for it"),
    "lstm-lm": (_NEURAL_MODELS, "a reply model: an LSTM language model that goes on where the context ends"),
    "seq2seq": (_NEURAL_MODELS, "a reply model: one GRU reads the last turns, another replies"),
    "seq2seq-attention": (_NEURAL_MODELS, "a reply model: seq2seq whose words look back at those of the context"),
    "hred": (_NEURAL_MODELS, "a reply model: words to turns, turns to a context, the context to a reply"),
    "vhred": (_NEURAL_MODELS, "a reply model: HRED with a Gaussian latent for each turn"),
    "causal-lm": (_NEURAL_MODELS, "a reply model: a pretrained language model, trained further (--set model=NAME)"),
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
