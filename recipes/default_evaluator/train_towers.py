"""Step 1: the encoder as two towers, tuned with in-batch negatives, then the mean of its weights before and after.

    python -m recipes.default_evaluator.train_towers

Tuning teaches what follows what; the mean keeps what the encoder knew before. Writes towers.tuned.safetensors and
towers.safetensors (the mean).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from recipes.default_evaluator.corpora import FREE, TURNS, read_corpus
from recipes.default_evaluator.descent import Descent
from recipes.default_evaluator.plan import Plan, plan_from_command_line
from recipes.default_evaluator.towers import TwoTowers, length_of
from safetensors.torch import load_file, save_file
from torch import Tensor

from rejoinder.evaluators.encoder.towers import Towered
from rejoinder.learning.in_batch import in_batch_loss, negatives_of
from rejoinder.learning.weights import plain_state

BATCH = 64
STRETCH = 50
"""Batches among which places are sorted by length."""
RATE, WARM_UP = 3e-5, 20
SEED = 0


def draw_pairs(plan: Plan, towers: TwoTowers, total: int, seed: int) -> list[Towered]:
    """About `total` places of the corpora, each with the turns before it, in random order."""
    rng = random.Random(seed)
    pairs: list[Towered] = []
    for name, share in FREE.items():
        dialogues = [dialogue.turns for dialogue in read_corpus(plan.data, name)]
        spots = [(number, turn) for number, turns in enumerate(dialogues) for turn in range(1, len(turns))]
        rng.shuffle(spots)
        drawn = [dialogues[number][max(0, turn - TURNS) : turn + 1] for number, turn in spots[: int(total * share)]]
        drawn = [turns for turns in drawn if all(turn.strip() for turn in turns)]
        pairs += towers.read([turns[:-1] for turns in drawn], [turns[-1] for turns in drawn])
    rng.shuffle(pairs)
    return pairs


def cut_batches(pairs: Sequence[Towered], rng: random.Random, size: int) -> list[list[Towered]]:
    """Full batches of like length, shuffled within each stretch."""
    batches: list[list[Towered]] = []
    for start in range(0, len(pairs), size * STRETCH):
        part = sorted(pairs[start : start + size * STRETCH], key=length_of)
        cut = [part[at : at + size] for at in range(0, len(part), size)]
        rng.shuffle(cut)
        batches += [batch for batch in cut if len(batch) == size]
    return batches


def towers_loss(towers: TwoTowers, batch: Sequence[Towered]) -> Tensor:
    """Each reply against all contexts of the batch, and each context, whole and by its last turn, against all replies.

    A reply that is there twice is no negative of itself.
    """
    context, last_turn, reply = towers.vectors(batch)
    allowed = negatives_of([" ".join(map(str, pair.reply)) for pair in batch])
    return (in_batch_loss(context, reply, allowed) + in_batch_loss(last_turn, reply, allowed)) / 2


def averaged(one: dict[str, Tensor], other: dict[str, Tensor]) -> dict[str, Tensor]:
    """The mean of two sets of weights, half and half."""
    return {name: (one[name] + other[name]) / 2 if one[name].is_floating_point() else one[name] for name in one}


def train_towers(plan: Plan) -> Path:
    """The file of the averaged weights, made if it is not there."""
    tuned, mean = plan.work / "towers.tuned.safetensors", plan.work / "towers.safetensors"
    if mean.exists():
        return mean
    torch.manual_seed(SEED)
    towers = TwoTowers.start(plan.encoder_folder)
    before = plain_state(towers.encoder)
    if not tuned.exists():
        pairs = draw_pairs(plan, towers, plan.tower_pairs, SEED)
        batches = cut_batches(pairs, random.Random(SEED), BATCH)
        descent = Descent(RATE, WARM_UP, frozen_layers=plan.tower_frozen, minutes=plan.tower_minutes)
        steps = descent.run(towers.encoder, batches, lambda batch: towers_loss(towers, batch))
        print(f"towers: {steps} steps of {BATCH} places")
        save_file(plain_state(towers.encoder), tuned)
    save_file(averaged(before, load_file(tuned)), mean)
    return mean


if __name__ == "__main__":
    train_towers(plan_from_command_line(__doc__))
