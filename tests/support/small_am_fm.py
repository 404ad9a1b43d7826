"""A few sentences and judged replies that AM-FM is tested on."""

from __future__ import annotations

import numpy as np

from rejoinder.evaluators.am_fm import AmFm
from rejoinder.types import Dialogue, Example, JudgedExample

TEXTS = [
    "we deliver to every country",
    "we do not deliver to that country",
    "our parcels reach every country",
    "please send us your order number",
    "send us a message with your order number",
    "could you send us the number of your order",
    "thank you for the kind words",
    "thank you , that is kind",
]


SENTENCES = [Dialogue(str(number), (text,)) for number, text in enumerate(TEXTS)]


REFERENCES = ("please send your order number", "we need the number of your order")


EXAMPLES = [
    Example("same", ("my parcel is lost",), REFERENCES[0], REFERENCES, "a"),
    Example("near", ("my parcel is lost",), "send us a message with the number", REFERENCES, "b"),
    Example("far", ("my parcel is lost",), "thank you for the kind words", REFERENCES, "c"),
    Example("strange", ("my parcel is lost",), "zzz qqq", REFERENCES, "d"),
]


def judged(rng: np.random.Generator) -> list[JudgedExample]:
    """Replies that people judge by their adequacy alone."""
    am = AmFm(dimensions=4).fit(SENTENCES).am
    words = sorted({word for text in TEXTS for word in text.split()})
    examples = [
        Example(str(n), ("?",), " ".join(rng.choice(words, rng.integers(1, 8))), REFERENCES, f"s{n % 5}")
        for n in range(80)
    ]
    return [
        JudgedExample(example, {"overall": (float(1 + 4 * score),), "other": (1.0,)})
        for example, score in zip(examples, am.score(examples), strict=True)
    ]
