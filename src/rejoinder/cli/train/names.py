"""What can be trained, with the purpose of each."""

from __future__ import annotations

import textwrap

GROUPS: dict[str, dict[str, str]] = {
    "evaluators": {
        "blend": "weigh several evaluators and metrics by human scores: the choice for a few hundred labels",
        "encoder": "fine-tune a pretrained encoder to judge how well a reply fits its context",
        "static": "judge a reply by word vectors and word counts, as the bundled default-fast does",
        "ruber": "similarity to a reference and fit to the context, learned from dialogues without labels",
        "ruber-ref": "the referenced part of RUBER: similarity to a reference",
        "ruber-unref": "the unreferenced part of RUBER: how well a reply fits its context",
        "adem": "predict human scores from an encoder's vectors of context, reference and reply",
        "c-adem": "ADEM that compares a reply with its context only, so that it needs no reference",
        "r-adem": "ADEM that compares a reply with its references only",
        "am-fm": "adequacy and fluency compared with references, learned from sentences",
        "am": "the adequacy part of AM-FM",
        "fm": "the fluency part of AM-FM",
        "human-likeness": "classify whether a person or a model gave a reply",
        "skip-thought": "cosine similarity to a reference, with vectors learned by predicting neighbouring utterances",
        "encoder-cosine": "cosine similarity of a pretrained encoder's vectors; nothing is learned",
        "encoder-dot": "dot product of an encoder's vectors, the starting point of ADEM; nothing is learned",
        "vhred-dot": "encoder-dot with the encoder of a trained HRED or VHRED",
        "t2v-dot": "encoder-dot with a trained tweet2vec",
        "likelihood": "likelihood of a reply under a pretrained language model; nothing is learned",
        "ensemble": "weighted mean of several evaluators and metrics, each standardised on dialogues",
    },
    "sentence encoders": {
        "tweet2vec": "a character-level sentence encoder, learned from dialogues",
    },
    "reply models": {
        "r-tfidf": "retrieve the reply that is most similar to the context, by TF-IDF",
        "c-tfidf": "retrieve the reply to the most similar context, by TF-IDF",
        "bm25": "retrieve the reply that BM25 ranks first for the context",
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
    width = max(len(name) for purposes in GROUPS.values() for name in purposes) + 4
    lines = []
    for group, purposes in GROUPS.items():
        lines += ["", f"{group}:"]
        for name, purpose in purposes.items():
            filled = textwrap.wrap(purpose, 96 - width)
            lines.append(f"  {name:<{width - 2}}{filled[0]}")
            lines += [" " * width + line for line in filled[1:]]
    return "\n".join([*lines[1:], "", "`rejoinder train NAME --help` lists the options of each."])
