"""Step 6: how much the logit of the head and the two cosines count, by how widely each is spread.

    python -m recipes.default_evaluator.blending --joint FILE.safetensors [--taught FILE.jsonl ...]

Each part is standardised over candidates of the teacher; the cosines then level off (tanh), because a reply that says
its context over again is no better for being nearer; the weighted sum is scaled, so that scores fill the 1..5 scale
without pressing against its ends. No label enters. Writes blended.safetensors: encoder, head, level and blend.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.student import load_student
from recipes.default_evaluator.targets import Floats, Taught, read_taught
from recipes.default_evaluator.teacher import teach
from recipes.default_evaluator.towers import TwoTowers
from safetensors.torch import load_file, save_file
from torch import Tensor

from rejoinder.models.stored import HIGHEST, LOWEST
from rejoinder.models.torch_model import TorchModel

PARTS = ("logit of the head", "levelled cosine of the whole context", "levelled cosine of the last turn")
COUNTS = (0.5, 0.5, 0.5)
"""What each part counts once it is standardised."""
SPREAD = 1.1
"""The standard deviation of the blended logit."""
CANDIDATES, SEED = 1500, 0
_EDGE = 1e-6


def blend_parts(model: TorchModel, rows: Sequence[Taught]) -> Floats:
    """What is blended, of each candidate, by a student without a blend. (candidates, 3)"""
    within = (model.score([row.pair for row in rows]) - LOWEST) / (HIGHEST - LOWEST)
    within = within.clip(_EDGE, 1 - _EDGE)
    cosines = TwoTowers.of(model).cosines([row.context for row in rows], [row.reply for row in rows])
    return np.column_stack([np.log(within / (1 - within)), *cosines])


def blend_of(parts: Floats) -> dict[str, Tensor]:
    """The weights of level and blend, by the mean and the standard deviation of each part. (candidates, 3)"""
    mean, deviation = parts.mean(axis=0), parts.std(axis=0)
    logit, *cosines = ((parts - mean) / deviation).T
    said = np.column_stack([logit, *np.tanh(cosines)])
    weights = np.array(COUNTS) * SPREAD / (said @ COUNTS).std()
    weights[0] /= deviation[0]  # the network does not standardise the logit, so that the blend does
    found = {
        "level.weight": np.diag(1 / deviation[1:]),
        "level.bias": -mean[1:] / deviation[1:],
        "blend.weight": weights[None],
        "blend.bias": -mean[:1] * weights[0],
    }
    return {name: torch.tensor(values, dtype=torch.float32) for name, values in found.items()}


def set_blend(plan: Plan, joint: Path, taught: Sequence[Path]) -> Path:
    """The file of weights with their blend, made if it is not there."""
    output = plan.work / f"blended.{plan.corpora}.safetensors"
    if output.exists():
        return output
    rows = read_taught(taught)
    drawn = random.Random(SEED).sample(range(len(rows)), min(CANDIDATES, len(rows)))
    blend = blend_of(blend_parts(load_student(plan, joint), [rows[number] for number in drawn]))
    for name, weight in zip(PARTS, blend["blend.weight"][0].tolist(), strict=True):
        print(f"blend: {weight:7.3f} times {name}")
    save_file({**load_file(joint), **blend}, output)
    return output


def main() -> None:
    """Set the blend of weights that exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--joint", type=Path, required=True, help="weights of step 5")
    parser.add_argument("--taught", type=Path, nargs="+", help="files of the teacher; by default step 2's")
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    set_blend(plan, given.joint, given.taught or [teach(plan)])


if __name__ == "__main__":
    main()
