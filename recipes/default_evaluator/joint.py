"""Step 5: the student and the towers in one encoder.

    python -m recipes.default_evaluator.joint --student FILE.safetensors [--taught FILE.jsonl ...]

A student that learned to read context and reply together has forgotten how to read them apart. Here it learns on with
three losses at once. *Together*: that of step 4, with a target in which the cosine counts less, because the blend adds
the cosines again. *Apart*: each context, whole and by its last turn, against all replies of a batch. *Anchor*: the
squared difference of all those cosines from what the averaged towers of step 1 say. Writes joint.safetensors.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import torch
from recipes.default_evaluator.descent import Descent
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.student import HEAD_FASTER, Group, Lesson, load_student, plan_batches
from recipes.default_evaluator.targets import JOINT_WEIGHTS, read_taught, targets
from recipes.default_evaluator.teacher import teach
from recipes.default_evaluator.towers import TwoTowers
from recipes.default_evaluator.train_towers import cut_batches, draw_pairs, train_towers
from safetensors.torch import save_file
from torch import Tensor, nn

from rejoinder.models.in_batch import SCALE
from rejoinder.models.torch_model import TorchModel, plain_state
from rejoinder.models.towers import Towered

RATE, WARM_UP = 4e-5, 40
CONTEXTS, PAIRS = 6, 24
"""In a batch: contexts with all their candidates to read together, and places to read apart."""
EPOCHS = 4
"""Of the contexts, at most: more than the time allows."""
APART, ANCHOR = 0.25, 10.0
"""How much the losses count beside the student's."""
BATCH_SEED, PAIR_SEED = 1, 7

JointBatch = tuple[list[Group], list[Towered]]


def plan_joint(lesson: Lesson, pairs: Sequence[Towered]) -> list[JointBatch]:
    """Batches to read together, each beside one to read apart; these begin again when they run out."""
    rng = random.Random(BATCH_SEED)
    together = plan_batches(lesson.groups, lesson.lengths, rng, contexts=CONTEXTS, epochs=EPOCHS)
    apart = cut_batches(pairs, rng, PAIRS)
    if not apart:
        raise ValueError(f"there are {len(pairs)} places to read apart: expected {PAIRS} or more")
    return list(zip(together, itertools.cycle(apart), strict=False))


def apart_loss(towers: TwoTowers, anchor: TwoTowers, pairs: Sequence[Towered]) -> Tensor:
    """Cross-entropy of each context's own reply, and the distance of the cosines from the anchor's."""
    *contexts, replies = towers.vectors(pairs)
    with torch.no_grad():
        *contexts_before, replies_before = anchor.vectors(pairs)
    own = torch.arange(len(pairs))
    loss = torch.zeros(())
    for context, before in zip(contexts, contexts_before, strict=True):
        cosines = context @ replies.T
        moved = ((cosines - before @ replies_before.T) ** 2).mean()
        loss = loss + APART * nn.functional.cross_entropy(SCALE * cosines, own) + ANCHOR * moved
    return loss


def fit_joint(
    model: TorchModel, anchor: TwoTowers, lesson: Lesson, pairs: Sequence[Towered], *, minutes: float
) -> None:
    """Train the student in place, until the time or the batches run out."""
    towers = TwoTowers.of(model)

    def loss(batch: JointBatch) -> Tensor:
        """Of both ways of reading."""
        groups, places = batch
        return lesson.loss(model, groups) + apart_loss(towers, anchor, places)

    descent = Descent(RATE, WARM_UP, head_rate=HEAD_FASTER * RATE, minutes=minutes)
    steps = descent.run(model.network, plan_joint(lesson, pairs), loss)
    print(f"joint: {steps} steps of {CONTEXTS} contexts and {PAIRS} places")


def train_joint(plan: Plan, student: Path, taught: Sequence[Path]) -> Path:
    """The file of weights that read both ways, made if it is not there."""
    output = plan.work / f"joint.{plan.corpora}.safetensors"
    if output.exists():
        return output
    anchor = TwoTowers.start(plan.encoder_folder)
    anchor.load(train_towers(plan))
    rows = read_taught(taught)
    _, cosines = anchor.cosines([row.context for row in rows], [row.reply for row in rows])
    model = load_student(plan, student)
    lesson = Lesson.of(model, rows, targets(rows, cosines, JOINT_WEIGHTS))
    pairs = draw_pairs(plan, anchor, plan.joint_pairs, PAIR_SEED)
    torch.set_num_threads(plan.joint_threads)
    fit_joint(model, anchor, lesson, pairs, minutes=plan.joint_minutes)
    torch.set_num_threads(plan.threads)
    save_file(plain_state(model.network), output)
    return output


def main() -> None:
    """Train a student on, in both ways of reading."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--student", type=Path, required=True, help="weights of step 4 to start from")
    parser.add_argument("--taught", type=Path, nargs="+", help="files of the teacher; by default step 2's")
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    train_joint(plan, given.student, given.taught or [teach(plan)])


if __name__ == "__main__":
    main()
