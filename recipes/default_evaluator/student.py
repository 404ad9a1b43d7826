"""Step 4: the evaluator without labels, a cross-encoder that learns the targets.

    python -m recipes.default_evaluator.student [--start FILE.safetensors] [--taught FILE.jsonl ...]

It starts from the averaged towers. The loss is the squared error of the logit, plus the squared error of the logits
less their mean within the context: the first makes replies to different contexts comparable, the second tells replies
to one context apart. With --start it learns on from a student that exists. Writes student.safetensors.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from recipes.default_evaluator.descent import Descent
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.targets import Floats, Taught, print_kinds, read_taught, targets
from recipes.default_evaluator.teacher import teach
from recipes.default_evaluator.towers import TwoTowers
from recipes.default_evaluator.train_towers import train_towers
from safetensors.torch import load_file, save_file
from scipy.stats import spearmanr
from torch import Tensor

from rejoinder.models.distill_stage import centred
from rejoinder.models.pairs import Encoded
from rejoinder.models.stored import HIGHEST, LOWEST
from rejoinder.models.torch_model import TorchModel, plain_state

RATE, RATE_AGAIN, WARM_UP = 5e-5, 3e-5, 60
HEAD_FASTER = 5
CONTEXTS = 8
"""In a batch, each with all its candidates."""
STRETCH = 40
"""Batches among which contexts are sorted by length."""
MOST_EPOCHS = 99
STEPS_A_SECOND = 3
"""More than a processor does: enough batches are planned for the time there is."""
HELD_OUT = 150
"""Contexts that the student is compared with its teacher on."""
_EDGE = 1e-4

Group = list[int]


def start_student(plan: Plan, *, towers: bool = False) -> TorchModel:
    """The pretrained encoder under a new match head: the shape of the student; from step 6 on with towers."""
    return TorchModel.start(
        str(plan.encoder_folder),
        max_length=128,
        max_response=64,
        speaker_marks=True,
        pooling="match",
        towers=towers,
        seed=0,
    )


def load_student(plan: Plan, weights: Path, *, towers: bool = False) -> TorchModel:
    """The student with trained weights."""
    model = start_student(plan, towers=towers)
    model.network.load_state_dict(load_file(weights))
    return model


def logits_of(scores: Tensor) -> Tensor:
    """What the sigmoid made scores from 1 to 5 of. (rows,)"""
    return torch.logit(((scores - LOWEST) / (HIGHEST - LOWEST)).clamp(_EDGE, 1 - _EDGE))


@dataclass(frozen=True, eq=False)
class Lesson:
    """Candidates as the student reads them, with their targets."""

    encoded: list[Encoded]
    aims: Tensor
    contexts: list[tuple[str, ...]]
    """That of each candidate."""

    @classmethod
    def of(cls, model: TorchModel, rows: Sequence[Taught], wanted: Floats) -> Lesson:
        """The candidates, with what shall be learned of each."""
        encoded = model.tokeniser.encode([row.pair for row in rows])
        return cls(encoded, torch.tensor(wanted, dtype=torch.float32), [row.context for row in rows])

    @cached_property
    def lengths(self) -> list[int]:
        """Tokens of each candidate with its context."""
        return [len(each.ids) for each in self.encoded]

    @property
    def groups(self) -> list[Group]:
        """The candidates of each context, by their numbers."""
        found: dict[tuple[str, ...], Group] = {}
        for number, context in enumerate(self.contexts):
            found.setdefault(context, []).append(number)
        return list(found.values())

    def loss(self, model: TorchModel, batch: Sequence[Group]) -> Tensor:
        """Of all candidates of the batch's contexts."""
        numbers = [number for group in batch for number in group]
        scores = model.network(**model.tensors([self.encoded[number] for number in numbers]))
        off = logits_of(scores) - self.aims[numbers]
        sizes = torch.tensor([len(group) for group in batch])
        return (off**2).mean() + (centred(off, sizes) ** 2).mean()


def plan_batches(
    groups: list[Group],
    lengths: Sequence[int],
    rng: random.Random,
    *,
    contexts: int = CONTEXTS,
    epochs: int = MOST_EPOCHS,
    enough: float = float("inf"),
) -> list[list[Group]]:
    """Batches of contexts of like length, epoch after epoch until there are enough."""
    batches: list[list[Group]] = []
    for _ in range(epochs):
        rng.shuffle(groups)
        for start in range(0, len(groups), contexts * STRETCH):
            part = sorted(
                groups[start : start + contexts * STRETCH], key=lambda rows: max(lengths[row] for row in rows)
            )
            cut = [part[at : at + contexts] for at in range(0, len(part), contexts)]
            rng.shuffle(cut)
            batches += cut
        if len(batches) > enough:
            break
    return batches


def distil(model: TorchModel, rows: Sequence[Taught], wanted: Floats, *, rate: float, minutes: float) -> None:
    """Train the student in place."""
    lesson = Lesson.of(model, rows, wanted)
    enough = minutes * 60 * STEPS_A_SECOND
    batches = plan_batches(lesson.groups, lesson.lengths, random.Random(0), enough=enough)
    descent = Descent(rate, WARM_UP, head_rate=HEAD_FASTER * rate, minutes=minutes)
    steps = descent.run(model.network, batches, lambda batch: lesson.loss(model, batch))
    print(f"student: {steps} steps of {CONTEXTS} contexts")


def train_student(plan: Plan, taught: Sequence[Path], start: Path | None = None) -> Path:
    """The file of the student's weights, made if it is not there."""
    output = plan.work / f"student.{plan.corpora}.safetensors"
    if output.exists():
        return output
    towers = TwoTowers.start(plan.encoder_folder)
    towers.load(train_towers(plan))
    rows = read_taught(taught, plan.student_contexts)
    _, cosines = towers.cosines([row.context for row in rows], [row.reply for row in rows])
    wanted = targets(rows, cosines)
    print_kinds(rows, wanted)
    held = held_out(rows)
    learned = [number for number, row in enumerate(rows) if row.context not in held]
    if start is None:
        model, rate = start_student(plan), RATE
        model.network.encoder.load_state_dict(towers.encoder.state_dict())
    else:
        model, rate = load_student(plan, start), RATE_AGAIN
    distil(model, [rows[number] for number in learned], wanted[learned], rate=rate, minutes=plan.student_minutes)
    save_file(plain_state(model.network), output)
    print_agreement(model, rows, wanted, [number for number, row in enumerate(rows) if row.context in held])
    return output


def held_out(rows: Sequence[Taught]) -> set[tuple[str, ...]]:
    """Contexts that are not learned from; none where there are few."""
    contexts = sorted({row.context for row in rows})
    return set(random.Random(0).sample(contexts, HELD_OUT)) if len(rows) > 20 * HELD_OUT else set()


def print_agreement(model: TorchModel, rows: Sequence[Taught], wanted: Floats, numbers: Sequence[int]) -> None:
    """How well the student follows its teacher on contexts that it did not learn from."""
    if numbers:
        scores = model.score([rows[number].pair for number in numbers])
        print(f"student and teacher: Spearman {spearmanr(scores, wanted[np.array(numbers)])[0]:.3f}")


def main() -> None:
    """Train a student."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, help="a student to learn on from")
    parser.add_argument("--taught", type=Path, nargs="+", help="files of the teacher; by default step 2's")
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    train_student(plan, given.taught or [teach(plan)], given.start)


if __name__ == "__main__":
    main()
