"""Public functions with arguments that work, and with wrong values of each argument."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import rejoinder
from rejoinder import Dialogue
from rejoinder.registry import trainable_class
from wrong_values import (
    ABOVE_ZERO,
    AT_LEAST_ZERO,
    COUNTS,
    DIALOGUE_LISTS,
    DIALOGUES,
    EXAMPLES,
    FIELDS,
    FLAGS,
    FOLDERS,
    JUDGED,
    METRIC_NAMES,
    NO_NUMBERS,
    NOTHING,
    ORIGINS,
    OUTPUT_FILES,
    PLAN,
    PRECISION,
    PREFERENCES,
    RATINGS,
    SHARED,
    TABLE,
    TEXTS,
    WORDS,
    but_none,
)


@dataclasses.dataclass(frozen=True)
class Call:
    """A function, arguments that work, and wrong values of the arguments that only it has."""

    function: Callable[..., Any]
    works: dict[str, Any]
    wrong: dict[str, list[Any]]
    not_tried: frozenset[str] = frozenset()

    def misuses(self) -> Iterator[tuple[str, list[Any]]]:
        """Each argument with its wrong values."""
        names = inspect.signature(self.function).parameters
        yield from ((name, values) for name, values in (SHARED | self.wrong).items() if name in names)


CALLS: dict[str, Call] = {
    "read": Call(
        rejoinder.read,
        {"replies": EXAMPLES},
        {"replies": [*ORIGINS[:12], "a\0b", "a" * 5000, {"response": "x"}, EXAMPLES[0]]},
    ),
    "load": Call(
        rejoinder.load,
        {"name_or_folder": "bleu"},
        {"name_or_folder": [*FOLDERS, None, "bleuu", "folder", Path("folder"), "bleu(n=2", "bleu()()", "a" * 5000]},
        frozenset({"parameters"}),
    ),
    "score": Call(
        rejoinder.score,
        {"replies": EXAMPLES, "metrics": "length"},
        {
            "replies": [*ORIGINS, *NOTHING],
            "output": [*FOLDERS, "missing/x.jsonl", "x.txt", "folder"],
            "resume": [*FLAGS, True],
            "engine": [*WORDS, None],
            "intervals": [*FLAGS, True],
            "max_cost": but_none(ABOVE_ZERO),
        },
    ),
    "faults": Call(
        rejoinder.faults,
        {"replies": EXAMPLES},
        {"replies": [*ORIGINS, *NOTHING], "only": [*TEXTS, None, "lop", ["empty", "nope"]], "everything": FLAGS},
    ),
    "judge_costs": Call(
        rejoinder.judge_costs, {"replies": [EXAMPLES], "metrics": "length"}, {"replies": [*ORIGINS, *NOTHING]}
    ),
    "history": Call(
        rejoinder.history,
        {"folder": "releases", "add": EXAMPLES[::2], "name": "1.0", "metrics": "length", "resamples": 20},
        {
            "folder": [*FOLDERS, None, "broken.jsonl", "missing/releases"],
            "add": [*ORIGINS, *NOTHING, EXAMPLES],
            "name": [*TEXTS, None, "../x", "a/b"],
            "max_cost": but_none(ABOVE_ZERO),
        },
    ),
    "compare": Call(
        rejoinder.compare,
        {"replies": [EXAMPLES], "metrics": "length", "labels": [*JUDGED, {**JUDGED[0], "system": "A"}]},
        {
            "replies": [*ORIGINS, *NOTHING],
            "scores": [*(origin for origin in ORIGINS if origin is not None), *NOTHING],
            "allow_doubtful": FLAGS,
            "cluster": [*TEXTS, "nope", "system"],
            "margin": but_none(ABOVE_ZERO),
            "primary": [*TEXTS, "lenght"],
            "labels": [*(origin for origin in ORIGINS if origin is not None), *NOTHING],
            "faults": [*TEXTS, None, "lop", ["empty", "nope"]],
            "pair_by": [*TEXTS, "nope"],
            "predictor": [*TEXTS, "lenght"],
            "baseline": [*FOLDERS, "folder", "missing", "broken.jsonl"],
            "max_cost": but_none(ABOVE_ZERO),
        },
    ),
    "reference_points": Call(
        rejoinder.reference_points, {}, {"evaluator": [3, None, True, b"x", "", "bleu", "defualt", ["default"]]}
    ),
    "trust": Call(
        rejoinder.trust,
        {"judged": [JUDGED], "metrics": "length", "resamples": 20},
        {
            "max_cost": but_none(ABOVE_ZERO),
            "judged": [*ORIGINS, *NOTHING, EXAMPLES],
            "scores": [3, True, "scores.jsonl", [3], [None], ["missing.jsonl"], ["folder"], ["broken.jsonl"]],
            "probes": [3, True, "scatter", ["nope"], [3], [None]],
            "remove_outliers": FLAGS,
            "kind": [*WORDS, None],
        },
    ),
    "check": Call(rejoinder.check, {"replies": EXAMPLES}, {"replies": [*ORIGINS, *NOTHING]}),
    "describe": Call(rejoinder.describe, {}, {"name": [3, True, b"x", "", "bleuu", ["bleu"]]}),
    "doctor": Call(rejoinder.doctor, {}, {}),
    "convert": Call(
        rejoinder.convert,
        {"replies": EXAMPLES, "output": "converted.jsonl"},
        {
            "replies": [*ORIGINS, *NOTHING],
            "output": [*FOLDERS, None, "missing/x.jsonl", "x.txt", "folder"],
            "every_turn": FLAGS,
            "drop_duplicates": FLAGS,
            "sample": but_none(COUNTS[:-1]),
        },
    ),
    "plan": Call(rejoinder.plan, {"pilot": [JUDGED], "difference": 0.5}, PLAN | PRECISION),
    "experiment": Call(
        rejoinder.experiment,
        {
            "kind": "cross-validation",
            "evaluators": ["blend(members=[length,chrf],models=[ridge])"],
            "judged": [JUDGED],
            "folds": 2,
            "resamples": 20,
        },
        {
            "kind": [*WORDS, None],
            "evaluators": [3, None, b"x", [], "", "bleu", ["bleu"], [3], "folder"],
            "judged": [*ORIGINS, *NOTHING, EXAMPLES],
            "dialogues": [3, True, object(), "missing.jsonl", "folder", [3], [{}]],
            "folds": [*NO_NUMBERS, 0, 1, 1.5, True, "publish"],
            "allow_leakage": TEXTS,
            "fractions": [3, "x", [0], [2], [], [0.5]],
            "counts": [3, "x", [0], [1.5], [], [5]],
            "seeds": [3, "x", [-1], [1.5], [], [5]],
            "shared": [*WORDS, "drop"],
            "system_words": [*but_none(COUNTS), 2],
        },
    ),
    "new_study": Call(
        rejoinder.new_study,
        {"replies": "missing.jsonl", "output": "new.toml"},
        {
            "replies": [*FOLDERS, None, "missing.jsonl", "broken.jsonl"],
            "output": [*FOLDERS, None, "x.txt", "folder"],
            "difference": [*NO_NUMBERS[:-1], 0, -1, True],
            "pilot": [3, True, JUDGED],
            "sd": but_none(AT_LEAST_ZERO, 1.0),
            "icc": but_none(ABOVE_ZERO, 1.5, 0.5),
        },
        frozenset({"say"}),
    ),
    "open_study": Call(
        rejoinder.open_study,
        {"study": "missing.toml"},
        {"study": [*FOLDERS, None, "missing.toml", "folder", "broken.jsonl"], "store": FOLDERS},
    ),
    "read_scores": Call(
        rejoinder.read_scores,
        {"scores": "missing.jsonl"},
        {
            "scores": [*FOLDERS, None, "missing.jsonl", "folder", "broken.jsonl"],
            "replies": [3, True, "missing.jsonl", EXAMPLES],
        },
    ),
    "serve": Call(
        rejoinder.serve,
        {"metrics": "length", "port": 0},
        {
            "host": [3, None, "", "no such host"],
            "port": [*NO_NUMBERS, -1, 65536, 1.5, True],
            **dict.fromkeys(("max_body", "max_examples", "max_waiting", "max_batch", "max_seconds"), COUNTS),
        },
        frozenset({"say"}),
    ),
    "prefer": Call(
        rejoinder.prefer,
        {"preferences": [PREFERENCES], "resamples": 20},
        {
            "preferences": [*ORIGINS, *NOTHING, EXAMPLES],
            "model": [*WORDS, None],
            "judge": [*WORDS, "bleu"],
            "pair_by": [*TEXTS, "context_id"],
            "max_cost": but_none(ABOVE_ZERO, 1),
        },
    ),
    "agree": Call(
        rejoinder.agree,
        {"ratings": RATINGS, "aggregation": "mean", "resamples": 20},
        {
            "ratings": [*ORIGINS, *NOTHING, EXAMPLES],
            "replies": [*(origin for origin in ORIGINS if origin is not None), *NOTHING],
            "level": [*WORDS, None],
            "least_kappa": but_none(NO_NUMBERS, -2, 2, True, 10**400),
            "mad": but_none(AT_LEAST_ZERO),
            "aggregation": WORDS,
            "output": OUTPUT_FILES,
        },
    ),
    "setup": Call(
        rejoinder.setup,
        {"name": "default-large", "output": "large"},
        {
            "name": [3, True, None, "", "default", "defalt-large"],
            "output": [*FOLDERS, None],
            "mpnet": [3, None, "", ["x"], "missing/folder"],
            "smollm2": [3, None, "", ["x"], "missing/folder"],
        },
        frozenset({"template"}),
    ),
    "sample": Call(
        rejoinder.sample,
        {"replies": EXAMPLES, "labels": 4},
        {
            "replies": [*ORIGINS, *NOTHING],
            "labels": [*COUNTS, 1, 13],
            "scores": [*FOLDERS, "missing.jsonl", "folder", "broken.jsonl", "empty.jsonl", EXAMPLES],
            "design": WORDS,
            "pilot": [*(origin for origin in ORIGINS if origin is not None), *NOTHING],
            "predictor": [*TEXTS, "lenght"],
            "output": [*FOLDERS, "missing/x.jsonl", "x.parquet", "folder"],
        },
    ),
    "train": Call(
        rejoinder.train,
        {"name": "bm25", "dialogues": DIALOGUES},
        {
            "name": [3, None, True, b"x", ["bm25"], "", "bm26", "bleu"],
            "dialogues": [*DIALOGUE_LISTS, *NOTHING],
            "judged": [3, object(), "missing.jsonl", "folder", [3], [{}], EXAMPLES, JUDGED],
            "valid": DIALOGUE_LISTS,
        },
        frozenset({"on_read", "on_finished", "parameters"}),
    ),
    "generate": Call(
        rejoinder.generate,
        {"systems": "bm25-folder", "contexts": [["Tea?"]]},
        {
            "systems": [
                *(3, None, True, b"x", "", "missing", "folder", {}, [], [3], ["missing"]),
                *({"a": 3}, {"a": None}, {3: "bm25-folder"}, {"": "bm25-folder"}, {"true": "bm25-folder"}),
            ],
            "contexts": [*ORIGINS[:-1], "hello", ["hello"], [[3]], [[]]],
            "also": ["x", 3, None, [3], True, ["true"]],
            "drop": ["length<3", 3, None, True, [3], ["x"], ["length<"]],
            "keep_offensive": FLAGS,
            "decoding": [3, True, "", "x", "greedy"],
            "output": [*FOLDERS, "x.csv", "missing/x.jsonl", "folder"],
            "resume": FLAGS,
        },
    ),
    "distil": Call(
        rejoinder.distil,
        {"teachers": "length", "dialogues": DIALOGUES},
        {
            "teachers": [3, None, True, b"x", {}, [], "", "missing", "folder", "bm25", ["length", 3]],
            "dialogues": [*DIALOGUE_LISTS, *NOTHING],
            "candidates": [3, True, object(), "missing.jsonl", "folder", [3], [{}]],
            "judged": [3, True, object(), "missing.jsonl", "folder", [3], [{}], [{"response": "x"}]],
            "student": [3, True, "", "encodr", "bm25", ["static"]],
            "contexts": [*NO_NUMBERS, 0, -1, 1.5, True],
        },
        frozenset({"on_read", "on_check", "on_finished", "parameters"}),
    ),
    "calibrate": Call(
        rejoinder.calibrate,
        {"evaluator": "default-fast", "judged": JUDGED},
        {
            "evaluator": [3, None, True, b"x", [], "", "missing", "folder", "bleu", "bm25", "bm25-folder"],
            "judged": [*ORIGINS, *NOTHING],
            "scale": [3, True, "15", (1,), (1, 2, 3), (5, 1), (1, 1), ("a", "b"), (1, math.inf), (1, 10**400)],
            "level": [*NO_NUMBERS, 0, 1, -1, 2, True, 10**400],
        },
    ),
    "FieldMap": Call(
        rejoinder.FieldMap,
        {},
        {"names": FIELDS, "separator": ["", 3, None, True], "by": ["x", 3, None, ["x"], (3,), ("",)]},
    ),
    "TrainingRun": Call(
        rejoinder.TrainingRun,
        {},
        {
            "checkpoints": FOLDERS,
            "resume": FLAGS,
            "save_every": [*NO_NUMBERS, 0, -1, 1.5, True],
            "faster": [3, None, True, "x", ["x", 3]],
            "minutes": [0, -1, "x", math.nan, math.inf, True],
            "mixed_precision": [3, None, True, [], "fp8"],
        },
    ),
}

METHODS: dict[str, Call] = {
    "compare-scores": Call(
        rejoinder.compare,
        {"scores": TABLE, "metrics": ["rating"]},
        {
            "scores": [*(origin for origin in ORIGINS if origin is not None), *NOTHING, EXAMPLES],
            "metrics": [*(name for name in METRIC_NAMES if name != "length"), "id", "ratng"],
            "pair_by": [*TEXTS, "nope"],
            "cluster": [*TEXTS, "nope"],
            "margin": but_none(ABOVE_ZERO),
            "primary": [*TEXTS, "length", "ratng"],
            "labels": [3, JUDGED],
            "predictor": [*TEXTS, "rating"],
        },
    ),
    "trust-pooled": Call(
        rejoinder.trust,
        {"judged": [JUDGED, JUDGED[:30]], "metrics": "length", "resamples": 20},
        {"judged": [*ORIGINS, *NOTHING, EXAMPLES], "probes": [["all"]], "scores": [["scores.jsonl"]]},
    ),
    "prefer-judge": Call(
        rejoinder.prefer,
        {"preferences": [EXAMPLES], "judge": "judge(model=m, url='http://127.0.0.1:9/v1', retries=0)"},
        {
            "preferences": [*ORIGINS, *NOTHING],
            "judge": [3, None, True, b"x", "", "bleu", "judge", ["judge"], "judge(model=m)"],
            "pair_by": [*TEXTS, "nope"],
        },
    ),
    "plan-stated": Call(
        rejoinder.plan, {"difference": 0.5, "sd": 1.0}, {name: of for name, of in PLAN.items() if name != "pilot"}
    ),
    "plan-agreement": Call(rejoinder.plan, {"agreement": 0.5}, PRECISION | {"difference": [0.5], "sd": [1.0]}),
    "plan-correlation": Call(rejoinder.plan, {"correlation": 0.3}, PRECISION),
    "Metric.score": Call(rejoinder.load("bleu").score, {}, {"examples": ORIGINS}),
    "Metric.corpus_score": Call(rejoinder.load("distinct").corpus_score, {}, {"examples": ORIGINS}),
    "Evaluator.fit": Call(
        rejoinder.load("fm", order=2).fit,
        {"dialogues": [Dialogue("1", ("Tea?", "Yes."))]},
        {"dialogues": [*DIALOGUE_LISTS, []], "judged": ORIGINS[1:], "valid": ORIGINS},
    ),
    "ReplyModel.fit": Call(
        rejoinder.load("bm25").fit,
        {"dialogues": [Dialogue("1", ("Tea?", "Yes."))]},
        {"dialogues": [*DIALOGUE_LISTS, []], "judged": [[], 3, JUDGED], "valid": DIALOGUE_LISTS},
    ),
    "ReplyModel.reply": Call(
        rejoinder.train("bm25", DIALOGUES).reply,
        {"contexts": [["Tea?"]]},
        {
            "contexts": [3, None, True, {"a": 1}, "Tea?", ["Tea?"], [3], [[3]], [None]],
            "decoding": [3, True, "greedy"],
            "true_replies": [3, True, "a", [3], ["a", "b"]],
        },
    ),
    "Evaluator.save": Call(rejoinder.train("fm", DIALOGUES, order=2).save, {}, {}),
    "Evaluator.load": Call(trainable_class("fm").load, {}, {"folder": [*FOLDERS, "folder"]}),
    "ReplyModel.save": Call(rejoinder.train("bm25", DIALOGUES).save, {}, {}),
    "ReplyModel.load": Call(trainable_class("bm25").load, {}, {"folder": [*FOLDERS, "folder", "broken.jsonl"]}),
    "ScoreTable[]": Call(rejoinder.score(EXAMPLES, "length").__getitem__, {}, {"metric": [3, None, "", ["length"]]}),
}
