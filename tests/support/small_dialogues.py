"""Dialogues small enough to check by hand, and parameters that make every reply model quick to fit on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from rejoinder.types import Dialogue
from tiny_causal import tiny_causal
from tiny_encoder import write_encoder

DIALOGUES = [
    Dialogue("tea", ("Would you like some tea?", "Yes, green tea with lemon please.", "Here is your tea.", "Thanks!")),
    Dialogue("rain", ("Will it rain today?", "The forecast says heavy rain.", "I take an umbrella then.", "Thanks!")),
    Dialogue("chess", ("Do you play chess?", "I love chess, I play every day.", "Let us play a game.", "Gladly.")),
    Dialogue("bread", ("How do you bake bread?", "With flour, water and salt.", "No yeast?", "A little yeast.")),
]
CONTEXTS = [dialogue.turns[:length] for dialogue in DIALOGUES for length in (1, 2, 3)]

LEXICAL = ("r-tfidf", "c-tfidf", "bm25", "retrieve-rerank")
RECURRENT = ("lstm-lm", "seq2seq", "seq2seq-attention", "hred", "vhred")

HOSTILE = [
    (),
    ("",),
    ("a" * 5000,),
    ("\u200b", "﷽" * 50),
    ("e\u0301" * 20,),
    ("<script>", "\\", "a\u2028b"),
    ("lone \ud800",),
    ("?!",),
    ("turn",) * 300,
]


@cache
def tiny_encoder() -> str:
    """The folder of a pretrained encoder of a few thousand random weights."""
    return str(write_encoder(Path(mkdtemp(prefix="rejoinder-"), "encoder")))


SMALL_RECURRENT = {"vocabulary": 320, "embedding": 8, "hidden": 12, "epochs": 2}
SMALL: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    **dict.fromkeys(LEXICAL, dict),
    **dict.fromkeys((*RECURRENT, "dual-encoder-rnn"), lambda: SMALL_RECURRENT),
    "dual-encoder": lambda: {"encoder": tiny_encoder(), "max_length": 32, "epochs": 2},
    "causal-lm": lambda: {"model": tiny_causal(), "epochs": 2, "learning_rate": 1e-3},
}


def small_parameters(name: str) -> Mapping[str, Any]:
    """What makes a reply model of this name quick enough for a test."""
    return SMALL[name]()
