"""Step 4: the student learns to look down on broken language.

    python -m recipes.default_evaluator.polish --student FILE.safetensors

Cosines and a language model that is read word by word both like a heap of the context's words. Here the student sees
some of its candidates again with their own logits as the target, so that nothing else changes, and garbled forms of
them with a lower one (`garbling.py`). Writes polished.safetensors.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import torch
from recipes.default_evaluator.descent import Descent
from recipes.default_evaluator.garbling import garbled
from recipes.default_evaluator.lesson import Group, grouped, plan_batches, read_groups
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.student import HEAD_FASTER, branches, load_student, score_rows
from recipes.default_evaluator.targets import Taught, read_taught
from recipes.default_evaluator.teacher import draw
from safetensors.torch import save_file
from torch import Tensor

from rejoinder.evaluators.encoder.distill_stage import centred
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.weights import plain_state

RATE, WARM_UP, BATCH_TOKENS = 4e-5, 30, 2000
WHOLE = frozenset({"true", "next", "same", "near-true", "near-turn", "lexical"})
"""Kinds of candidates whose language is sound."""
KEPT, GARBLED = 5, 4
"""Candidates of a context that are seen again, and garbled ones, at most."""
LOWEST_AIM = -3.0
SEED = 3


class Polish:
    """Candidates with their logits, and garbled ones below them."""

    def __init__(self, model: TorchModel, rows: Sequence[Taught]) -> None:
        rng = random.Random(SEED)
        by_context: dict[tuple[str, ...], list[str]] = {}
        for row in rows:
            if row.kind in WHOLE:
                by_context.setdefault(row.context, []).append(row.reply)
        kept = [(context, reply) for context, replies in by_context.items() for reply in replies[:KEPT]]
        logits = score_rows(model, [context for context, _ in kept], [reply for _, reply in kept])
        contexts, replies, aims = [], [], []
        spoilt: dict[tuple[str, ...], int] = {}
        for (context, reply), logit in zip(kept, logits.tolist(), strict=True):
            contexts.append(context)
            replies.append(reply)
            aims.append(logit)
            made = garbled(reply, context[-1], rng)
            if made is not None and spoilt.get(context, 0) < GARBLED:
                spoilt[context] = spoilt.get(context, 0) + 1
                contexts.append(context)
                replies.append(made[0])
                aims.append(max(LOWEST_AIM, logit - made[1]))
        self.model = model
        self.aims = torch.tensor(aims, dtype=torch.float32)
        self.groups = grouped(model.tokeniser.brancher, contexts, replies)

    def loss(self, batch: Sequence[Group]) -> Tensor:
        """The squared error of the logits, and of the logits less their mean within the context."""
        reading, there = read_groups(
            branches(self.model), self.model.tokeniser.brancher, batch, self.model.settings.pad
        )
        numbers = [number for group in batch for number in group.numbers]
        off = reading.logits[there] - self.aims[numbers]
        sizes = torch.tensor([len(group.numbers) for group in batch])
        return (off**2).mean() + (centred(off, sizes) ** 2).mean()


def polish(plan: Plan, student: Path) -> Path:
    """The file of polished weights, made if it is not there."""
    output = plan.work / f"polished.{plan.corpora}.safetensors"
    if output.exists():
        return output
    torch.set_num_threads(plan.student_threads)
    model = load_student(plan, student)
    rows = read_taught([draw(plan)], plan.polish_contexts)
    lesson = Polish(model, rows)
    batches = plan_batches(lesson.groups, BATCH_TOKENS, 1, random.Random(SEED))
    descent = Descent(RATE, WARM_UP, head_rate=HEAD_FASTER * RATE, minutes=plan.polish_minutes)
    steps = descent.run(model.network, batches, lesson.loss)
    print(f"polish: {steps} steps, {len(lesson.aims)} candidates")
    save_file(plain_state(model.network), output)
    return output


def main() -> None:
    """Polish weights that exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--student", type=Path, required=True, help="weights of step 3")
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    polish(plan, given.student)


if __name__ == "__main__":
    main()
