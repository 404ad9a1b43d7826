"""Data that work, and wrong values of the arguments of public functions, for tests/test_misuse.py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rejoinder import Dialogue, Example
from rejoinder.options import MOST_RESAMPLES

EXAMPLES = [
    Example(str(n), ("Tea?",), f"reply {n}", ("Yes.",), system="AB"[n % 2], context_id=str(n // 2)) for n in range(12)
]
DIALOGUES = [["Tea?", "Yes, please.", "Here."], ["Will it rain?", "No.", "Good."], ["Where?", "Here.", "I see."]]
JUDGED: list[Any] = [
    {"id": str(n), "response": "word " * (n % 9 + 1), "scores": {"overall": [n % 9 + 1]}, "context": [str(n // 2)]}
    for n in range(40)
]

NO_NUMBERS = ["0", None, [0], b"0", object(), math.nan]
SEEDS = [*NO_NUMBERS, -1, 2**32, 1.5, True, 10**400, 10**5000]
FLAGS: list[Any] = ["yes", "False", None, 3, []]
TEXTS = [5, True, b"x", ["overall"], "", 1.5, object()]
FIELDS: list[Any] = [
    *(3, "context=history", ["context"], b"x", True),
    *({"contxt": "x"}, {"context": 3}, {"context": ""}, {"context": None}, {3: "x"}),
]
ORIGINS = [
    *(None, 3, 1.5, True, object(), b"x", len, Example),
    *("", "missing.jsonl", "folder", Path("folder"), "broken.jsonl", "sheet.xlsx", "a\0b", "a" * 5000),
    *({"response": "x"}, EXAMPLES[0], [3], ["text"], [None], [[]], [EXAMPLES], [{}], {1, 2}, range(3)),
    *([{"response": 3}], [Example("1", ("x",), 5)], [Example("1", ("x", 3), "y")], [Example("1", 5, "y")]),  # type: ignore[arg-type]
]
NOTHING: list[Any] = [[], iter([]), "empty.jsonl"]
METRIC_NAMES: list[Any] = [
    *([], (), {}, iter([]), 3, 1.5, True, object(), b"bleu", Example),
    *("", "bleuu", "bleu(", "bleu(n=0)", "bleu(m=2)", "a" * 5000, "bm25", "adem", "folder"),
    *(["bleu", 3], [None], [["bleu"]], ["bleu", "bleu"]),
    *({"a": 3}, {3: "bleu"}, {"": "bleu"}, {"id": "bleu"}),
]
DIALOGUE_LISTS = [
    *(3, None, True, object(), b"x", "missing.jsonl", "folder", [3], [["a"]], [[1, 2]], [{"turns": "x"}]),
    *([Dialogue("1", (1, 2))], [Dialogue("1", "ab")]),  # type: ignore[arg-type]
]
FOLDERS: list[Any] = [3, "", True, b"x", ["x"], 1.5, "a\0b"]
RUNS = [3, "x", {}, True]


def but_none(values: list[Any], *more: Any) -> list[Any]:
    """Wrong values of an argument that may be None."""
    return [*(value for value in values if value is not None), *more]


SHARED: dict[str, list[Any]] = {
    "seed": SEEDS,
    "by": [3, True, {"a": 1}, [3], None, "no such field"],
    "resamples": [*NO_NUMBERS, 0, -1, 1.5, True, math.inf, MOST_RESAMPLES + 1, 10**400],
    "jobs": [*but_none(NO_NUMBERS), 0, -1, 1.5, True, math.inf, 10**6],
    "on_error": ["ignore", "RAISE", None, True, 1, ["skip"]],
    "unit": ["turns", "REPLY", None, True, 1, ["turn"]],
    "fields": FIELDS,
    "metrics": METRIC_NAMES,
    "dimension": [*TEXTS, "overal"],
    "quiet": FLAGS,
    "output": [*FOLDERS, "missing/x", "broken.jsonl"],
    "run": RUNS,
    "folder": [*FOLDERS, None],
}
"""Argument -> wrong values, in every function that has it."""

TABLE = [
    {"id": str(n // 2), "system": "AB"[n % 2], "rating": n % 5, "length": n % 7, "dialogue_id": str(n // 4)}
    for n in range(24)
]
PREFERENCES = [{"a": "A", "b": "B", "winner": "AB"[n % 3 == 0], "context_id": str(n)} for n in range(12)]
RATINGS: list[Any] = [
    {"id": str(n), "response": "x", "scores": {"overall": [n % 5 + 1, n % 4 + 1, n % 5 + 1]}} for n in range(20)
]
SHARES = [*NO_NUMBERS, 0, 1, -0.5, 2, True, math.inf, 10**400]
ABOVE_ZERO = [*NO_NUMBERS, 0, -1, True, math.inf, 10**400]
AT_LEAST_ZERO = [*NO_NUMBERS, -1, True, math.inf, 10**400]
COUNTS = [*NO_NUMBERS, 0, -1, 1.5, True, 10**400]
WORDS = [3, True, b"x", "", "x", ["x"]]
OUTPUT_FILES: list[Any] = [*FOLDERS, "missing/x.jsonl", "x.csv", "folder"]

PLAN: dict[str, list[Any]] = {
    "pilot": [*ORIGINS, *NOTHING, EXAMPLES],
    "difference": ABOVE_ZERO,
    "metric": [*(name for name in METRIC_NAMES if not isinstance(name, list | tuple)), ["bleu", "length"]],
    "sd": but_none(AT_LEAST_ZERO),
    "rater_sd": but_none(AT_LEAST_ZERO),
    "icc": but_none(ABOVE_ZERO, 1.5),
    "systems": [*COUNTS, 1, 1001],
    "contexts": but_none(COUNTS, 1),
    "power": SHARES,
    "alpha": [*SHARES, 0.9],
}
PRECISION: dict[str, list[Any]] = {
    "agreement": but_none(NO_NUMBERS, -0.5, 1, 2, True, math.inf, 10**400),
    "correlation": but_none(NO_NUMBERS, -1, 1, 2, True, math.inf, 10**400),
    "width": [*NO_NUMBERS, 0, 2, -1, True, math.inf, 10**400],
    "raters": [3, None, "23", b"x", [], [1], ["2"], [2.5], [True], [10**400], {2: 3}],
    "kind": [*WORDS, None],
}
