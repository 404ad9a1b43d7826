"""What the fast evaluator learns from: candidates with the scores of trained weights.

    python -m recipes.default_evaluator.fast_rows --student FILE.safetensors -o rows.jsonl [--contexts 3000]

Candidates that the teacher of step 2 did not judge, garbled ones among them. A line is
{"context", "response", "score"}, as recipes/default_fast.py takes them.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import torch
from recipes.default_evaluator.garbling import garbled
from recipes.default_evaluator.plan import add_options, plan_of
from recipes.default_evaluator.student import load_student, score_rows
from recipes.default_evaluator.targets import read_taught
from recipes.default_evaluator.teacher import draw

from rejoinder.evaluators.encoder.branch_encoder import on_scale

SEED = 6


def main() -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--student", type=Path, required=True, help="weights of step 4 or 5")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--contexts", type=int, default=3000)
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    rng = random.Random(SEED)
    pairs = []
    for row in read_taught([draw(plan)], given.contexts):
        pairs.append((row.context, row.reply))
        made = garbled(row.reply, row.context[-1], rng) if row.kind == "true" else None
        if made is not None:
            pairs.append((row.context, made[0]))
    model = load_student(plan, given.student)
    logits = score_rows(model, [context for context, _ in pairs], [reply for _, reply in pairs])
    with given.output.open("w", encoding="utf-8") as lines:
        for (context, reply), score in zip(pairs, on_scale(torch.from_numpy(logits)).tolist(), strict=True):
            lines.write(json.dumps({"context": context, "response": reply, "score": round(score, 3)}) + "\n")


if __name__ == "__main__":
    main()
