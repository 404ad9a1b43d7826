"""Step 6: the folder that scores without torch.

    python -m recipes.default_evaluator.export --student FILE.safetensors -o FOLDER [--judged SET ...]

--judged names the sets whose labels the weights saw. With --out-of-fold, the file of step 5, scores are put on the
scale of people and get intervals: by the ratings in it, not by labels that follow from how a reply was made. The folder
says which dialogues and judged replies were learned from, so that nobody tests on them unawares, and what they look
like, so that input unlike them is noticed. What int8 and ONNX change is measured on real replies.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from recipes.default_evaluator.corpora import read_corpora
from recipes.default_evaluator.judged_sets import BY_CONSTRUCTION, JUDGED, Labelled, read_labels
from recipes.default_evaluator.labels import PUBLISHED, add_judged_option, chosen_sets, learnable
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.student import load_student

import rejoinder
from rejoinder.data.pairs import Pair
from rejoinder.evaluators.calibration import FEWEST_CONTEXTS, Calibration, assess
from rejoinder.evaluators.calibration_folder import write_calibrated
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.data import TrainingData
from rejoinder.learning.saving import WEIGHTS
from rejoinder.types import Dialogue, Example

SHIPPED, LARGEST = "minilm", 30_000_000
"""The encoder of what comes with the package, and the bytes that its folder may have."""
CHECKED = 40
"""Replies of each judged set that the precisions are compared on."""


def fitted_encoder(plan: Plan, model: TorchModel, dialogues: Sequence[Dialogue], labels: Sequence[Labelled]) -> Encoder:
    """The evaluator around a model that was trained elsewhere, with an account of what on."""

    class Trained(Encoder):
        """An Encoder that has nothing left to learn; it is saved, and loaded again, as an Encoder."""

        def learn(self, data: TrainingData) -> Mapping[str, Any]:  # noqa: ARG002 - it was learned before
            return {"model_": model}

    evaluator = Trained(encoder=plan.encoder_name, pooling="match", towers=True)
    return evaluator.fit(dialogues, [item.judged for item in labels])


def export(
    plan: Plan,
    weights: Path,
    output: Path,
    *,
    judged: Sequence[str] = (),
    out_of_fold: Path | None = None,
    full: bool = False,
) -> None:
    """Write the evaluator's folder, print how its precisions differ, and keep int8 alone unless `full`."""
    model = load_student(plan, weights)
    dialogues = read_corpora(plan.data, plan.corpus_names)
    labels = read_labels(plan.data, judged, plan.most_labels)
    evaluator = fitted_encoder(plan, model, dialogues, learnable(plan, labels))
    evaluator.export(output)
    print_differences(model, output, check_pairs(plan.data))
    if out_of_fold is not None:
        calibration = calibration_of(labels, out_of_fold)
        if calibration is not None:
            write_calibrated(output, output, evaluator.with_calibration(calibration))
    if not full:
        (output / WEIGHTS["fp32"]).unlink()
    packed = print_folder(output)
    if plan.encoder == SHIPPED and packed > LARGEST:
        raise ValueError(f"{output} has {packed} bytes: expected at most {LARGEST}")


def calibration_of(labels: Sequence[Labelled], out_of_fold: Path) -> Calibration | None:
    """From scores by models that did not see the reply's context to what people said of it; None of too few."""
    raw = {
        (row["judged"], row["id"]): row["score"]
        for row in map(json.loads, out_of_fold.read_text(encoding="utf-8").splitlines())
        if row["fold"] != PUBLISHED
    }
    rated = [item for item in labels if item.set not in BY_CONSTRUCTION and (item.set, item.example.id) in raw]
    scores = [raw[item.set, item.example.id] for item in rated]
    groups = ["\n".join(item.example.context) for item in rated]
    human = [item.human for item in rated]
    if len(set(groups)) < 2 * FEWEST_CONTEXTS:  # a fold is kept aside, and folds within the rest
        print(f"calibration: {len(set(groups))} contexts are too few")
        return None
    found = assess(scores, human, groups)
    print(f"calibration: {len(rated)} replies, coverage {found.coverage}, mean width {found.width:.2f}")
    return Calibration.fit(scores, human, groups)


def check_pairs(data: Path) -> list[Pair]:
    """Real replies, from all judged sets."""
    sets = (read_labels(data, [name], CHECKED) for name in JUDGED)
    return [item.pair for items in sets for item in itertools.islice(items, CHECKED)]


def print_differences(model: TorchModel, folder: Path, pairs: Sequence[Pair]) -> None:
    """How far the exported weights' scores are from torch's, on the 1..5 scale; ValueError where ONNX is not torch."""
    scores = model.score(pairs)
    for precision in ("fp32", "int8"):
        found = Encoder.load(folder, precision=precision).model_.score(pairs)
        apart = np.abs(found - scores)
        print(
            f"{precision}: mean difference {apart.mean():.2g}, 99 % below {np.quantile(apart, 0.99):.2g}, "
            f"most {apart.max():.2g}, correlation {_correlation(found, scores):.5f} ({len(pairs)} replies)"
        )
        if precision == "fp32" and apart.max() > 1e-3:
            raise ValueError(f"ONNX and torch differ by {apart.max():.4f}: expected at most .001")


def print_folder(folder: Path) -> int:
    """The files with their sizes, and a score by the evaluator as anyone would load it; the size without fp32."""
    evaluator = rejoinder.load(str(folder))
    print(evaluator.signature)
    context = ("Hi! What are you doing tonight?",)
    for reply in ("Not much, I was about to cook. Are you hungry?", "The engine of this car has four cylinders."):
        [score] = evaluator.score([Example("", context, reply)])
        print(f"{score:.2f}  {reply}")
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    for name, size in sizes.items():
        print(f"{size / 1e6:8.2f} MB  {name}")
    packed = sum(size for name, size in sizes.items() if name != WEIGHTS["fp32"])
    print(f"{packed / 1e6:8.2f} MB  without {WEIGHTS['fp32']}")
    return packed


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def main() -> None:
    """Export weights that exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--student", type=Path, required=True, help="weights of step 4 or 5")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder to write")
    add_judged_option(parser, [])
    parser.add_argument("--out-of-fold", type=Path, help="scores of step 5, to calibrate by")
    parser.add_argument("--full", action="store_true", help="keep full-precision ONNX weights beside int8")
    add_options(parser)
    given = parser.parse_args()
    export(
        plan_of(given),
        given.student,
        given.output,
        judged=chosen_sets(given.judged),
        out_of_fold=given.out_of_fold,
        full=given.full,
    )


if __name__ == "__main__":
    main()
