"""The programs that benchmarks/evaluators.py measures beside ours, each called as its own documentation says.

    python -m pip install matplotlib pandas
    python -m pip install --no-deps bert_score sentence-transformers    # they take the torch that is there

A peer is made ready outside the clock. One that is not installed raises ImportError, which the table says.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from rejoinder.types import Example

Run = Callable[[Sequence[Example]], object]


def bert_score(encoder: str) -> Run:
    """F1 of the reply against its context: the same words through the same encoder."""
    scorer_class = importlib.import_module("bert_score").BERTScorer  # by name: not everybody has it

    config = json.loads((Path(encoder) / "config.json").read_text("utf-8"))
    scorer = scorer_class(model_type=encoder, num_layers=config["num_hidden_layers"], batch_size=64)

    def run(examples: Sequence[Example]) -> object:
        return scorer.score([each.response for each in examples], [" ".join(each.context) for each in examples])

    return run


def cross_encoder(encoder: str) -> Run:
    """One number per pair of context and reply; its head is random."""
    model = importlib.import_module("sentence_transformers").CrossEncoder(encoder, num_labels=1, max_length=128)

    def run(examples: Sequence[Example]) -> object:
        return model.predict([(" ".join(each.context), each.response) for each in examples], show_progress_bar=False)

    return run


PEERS: dict[str, Callable[[str], Run]] = {"bert_score": bert_score, "sentence-transformers": cross_encoder}
