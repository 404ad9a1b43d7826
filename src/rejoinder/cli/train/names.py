"""What can be trained, with the purpose of each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

RECOMMENDED = "encoder"
"""What to train if in doubt: of those measured, it agrees best with people (docs/results/evaluator-figures.md)."""

GROUPS: dict[str, dict[str, str]] = {
    "evaluators that learn from dialogues, with or without human ratings": {
        "encoder": "fine-tune a pretrained encoder to judge how well a reply fits its context (recommended)",
        "ruber": "similarity to a reference and fit to the context",
        "ruber-unref": "the unreferenced part of RUBER: how well a reply fits its context",
        "am-fm": "adequacy and fluency compared with references",
    },
    "evaluators that learn from rated replies": {
        "blend": "weigh several evaluators and metrics by human scores: the choice for a few hundred ratings",
        "static": "judge a reply by word vectors and word counts, as the bundled default-fast does",
        "adem": "predict human scores from an encoder's vectors of context, reference and reply",
        "c-adem": "ADEM that compares a reply with its context only, so that it needs no reference",
        "r-adem": "ADEM that compares a reply with its references only",
        "human-likeness": "classify whether a person or a model gave a reply",
    },
    "evaluators that learn from dialogues alone": {
        "ruber-ref": "the referenced part of RUBER: similarity to a reference",
        "am": "the adequacy part of AM-FM",
        "fm": "the fluency part of AM-FM",
        "skip-thought": "cosine similarity to a reference, with vectors learned by predicting neighbouring utterances",
        "ensemble": "weighted mean of several evaluators and metrics, each standardised on dialogues",
    },
    "evaluators that use a trained model as it is": {
        "encoder-cosine": "cosine similarity of a pretrained encoder's vectors",
        "likelihood": "likelihood of a reply under a pretrained language model",
        "encoder-dot": "dot product of an encoder's vectors, the starting point of ADEM",
        "vhred-dot": "encoder-dot with the encoder of a trained HRED or VHRED",
        "t2v-dot": "encoder-dot with a trained tweet2vec",
    },
    "sentence encoders": {
        "tweet2vec": "a character-level sentence encoder, learned from dialogues",
    },
    "reply models": {
        "r-tfidf": "retrieve the reply that is most similar to the context, by TF-IDF",
        "c-tfidf": "retrieve the reply to the most similar context, by TF-IDF",
        "bm25": "retrieve the reply that BM25 ranks first for the context",
        "retrieve-rerank": "retrieve replies to similar last turns by keywords, then choose one by weighted features",
        "dual-encoder": "retrieve the reply that fits best by a bilinear score of a pretrained encoder's vectors",
        "dual-encoder-rnn": "retrieve the reply that fits best by two GRUs that are trained for it",
        "lstm-lm": "generate with an LSTM language model that continues the dialogue",
        "seq2seq": "generate with a GRU encoder over the last turns and a GRU decoder",
        "seq2seq-attention": "seq2seq with attention to the words of the context",
        "hred": "generate with a hierarchical encoder-decoder: words to turns, turns to a context, context to a reply",
        "vhred": "HRED with a Gaussian latent variable for each turn",
        "causal-lm": "generate with a pretrained causal language model, fine-tuned on the dialogues",
    },
}
"""Kind of model -> name -> purpose; written here, since `--help` imports none of the classes."""


def overview() -> str:
    """All names with their purposes, group by group."""
    lines = [
        f"If in doubt, train an {RECOMMENDED}: it learns from dialogues, from human ratings, or from both, and scores",
        "without torch afterwards.",
    ]
    for group, purposes in GROUPS.items():
        lines += ["", f"{group}:", *aligned(purposes, 96)]
    return "\n".join([*lines, "", "`rejoinder train NAME --help` lists the options of each."])


def aligned(rows: Mapping[str, str], width: int) -> Iterator[str]:
    """The rows in two columns, the second one wrapped."""
    left = max(map(len, rows)) + 4
    for name, text in rows.items():
        filled = textwrap.wrap(text, width - left, break_on_hyphens=False) or [""]
        yield f"  {name:<{left - 2}}{filled[0]}"
        yield from (" " * left + line for line in filled[1:])
