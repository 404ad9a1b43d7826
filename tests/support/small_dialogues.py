"""Dialogues small enough to check by hand, and a fitted model of every kind over them."""

from __future__ import annotations

from collections.abc import Mapping
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


def small_parameters(name: str) -> Mapping[str, Any]:
    """What makes a model of this name quick enough for a test; a name that is not listed needs nothing."""
    if name in (*RECURRENT, "dual-encoder-rnn"):
        return {"vocabulary": 320, "embedding": 8, "hidden": 12, "epochs": 2}
    if name == "causal-lm":
        return {"model": tiny_causal(), "epochs": 1, "learning_rate": 1e-3}
    if name == "dual-encoder":
        return {"encoder": tiny_encoder(), "max_length": 32, "epochs": 2}
    return {}
