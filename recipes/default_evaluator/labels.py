"""Step 7: the evaluator with labels, trained on a mixture of judged sets.

    python -m recipes.default_evaluator.labels --student FILE.safetensors [--judged SET ...]

Squared error on the 1..5 scale; the three lowest layers stay as they are; large sets count less a reply. Writes
labelled.safetensors, which saw all labels, and out_of_fold.jsonl with scores by models that did not see the reply's
context: {"set", "id", "score", "fold"}. Folds 0..4 are by context, across all sets at once, so that no set tells of
another's test. Fold "published" is zhao2020's own split, for comparison with its paper: test replies whose contexts
have other replies in the training part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from recipes.default_evaluator.descent import Descent
from recipes.default_evaluator.judged_sets import JUDGED, LICENSED, Labelled, read_labels
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.student import load_student
from safetensors.torch import save_file
from torch import Tensor

from rejoinder.models.torch_model import TorchModel, plain_state

EPOCHS, BATCH, STRETCH = 2, 32, 30
RATE, WARM_UP, FROZEN_LAYERS = 3e-5, 20, 3
FOLDS = 5
PUBLISHED = "published"
SPLIT_SETS = ("zhao2020_dailydialog", "zhao2020_personachat")


def fold_of(item: Labelled) -> int:
    """The fold of a reply: by the last two turns of its context, whatever set it is of."""
    return int(hashlib.sha256(_ending(item).encode()).hexdigest(), 16) % FOLDS


def fit_labels(model: TorchModel, items: Sequence[Labelled]) -> TorchModel:
    """The same model, trained on the labels."""
    encoded = model.tokeniser.encode([item.pair for item in items])
    human = torch.tensor([item.human for item in items], dtype=torch.float32)
    counts = Counter(item.set for item in items)
    weights = torch.tensor([(600 / max(counts[item.set], 300)) ** 0.5 for item in items])

    def loss(rows: list[int]) -> Tensor:
        """The squared error, weighted by set."""
        scores = model.network(**model.tensors([encoded[row] for row in rows]))
        error: Tensor = (weights[rows] * (scores - human[rows]) ** 2).mean()
        return error

    batches = plan_batches([len(each.ids) for each in encoded])
    Descent(RATE, WARM_UP, frozen_layers=FROZEN_LAYERS).run(model.network, batches, loss)
    return model


def plan_batches(lengths: Sequence[int]) -> list[list[int]]:
    """Batches of replies of like length, shuffled, for all epochs."""
    rng = random.Random(0)
    batches: list[list[int]] = []
    for _ in range(EPOCHS):
        order = list(range(len(lengths)))
        rng.shuffle(order)
        for start in range(0, len(order), BATCH * STRETCH):
            part = sorted(order[start : start + BATCH * STRETCH], key=lambda row: lengths[row])
            cut = [part[at : at + BATCH] for at in range(0, len(part), BATCH)]
            rng.shuffle(cut)
            batches += cut
    return batches


def parts_of(items: Sequence[Labelled], fold: int | str) -> tuple[list[Labelled], list[Labelled]]:
    """What is learned from and what is scored in a fold."""
    if fold != PUBLISHED:
        return [item for item in items if fold_of(item) != fold], [item for item in items if fold_of(item) == fold]
    scored = [item for item in items if item.set in SPLIT_SETS and item.split == "test"]
    tested = {_ending(item) for item in scored}
    # Of zhao2020 its own training part; of any other set what has no context of the test part.
    learned = [
        item for item in items if (item.split == "train" if item.set in SPLIT_SETS else _ending(item) not in tested)
    ]
    return learned, scored


def score_folds(plan: Plan, student: Path, items: Sequence[Labelled]) -> Path:
    """The file of out-of-fold scores, with the folds that were missing of it."""
    output = plan.work / f"out_of_fold.{plan.corpora}.jsonl"
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    done = {json.loads(line)["fold"] for line in lines}
    for fold in (*range(FOLDS), PUBLISHED):
        learned, scored = parts_of(items, fold)
        if fold in done or not scored:
            continue
        model = fit_labels(load_student(plan, student, towers=True), learned)
        scores = model.score([item.pair for item in scored])
        rows = [
            {"set": item.set, "id": item.example.id, "score": round(float(score), 4), "fold": fold}
            for item, score in zip(scored, scores, strict=True)
        ]
        lines += [json.dumps(row) for row in rows]
        fresh = output.with_suffix(".part")
        fresh.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        fresh.replace(output)
        print(f"labels: fold {fold}, {len(learned)} learned from, {len(scored)} scored", flush=True)
    return output


def train_labels(plan: Plan, student: Path, items: Sequence[Labelled]) -> Path:
    """The file of weights that saw all labels, made if it is not there."""
    output = plan.work / f"labelled.{plan.corpora}.safetensors"
    if not output.exists():
        model = fit_labels(load_student(plan, student, towers=True), items)
        save_file(plain_state(model.network), output)
    return output


def chosen_sets(given: Sequence[str]) -> list[str]:
    """The names of judged sets; `all`, or `licensed` for those that state a licence."""
    groups = {"all": list(JUDGED), "licensed": list(LICENSED)}
    return [name for each in given for name in groups.get(each, [each])]


def add_judged_option(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    """The option that names judged sets."""
    names = ["all", "licensed", *JUDGED]
    parser.add_argument("--judged", nargs="*", default=default, choices=names, metavar="SET", help=", ".join(names))


def _ending(item: Labelled) -> str:
    return " ".join(" ".join(item.example.context[-2:]).lower().split())


def main() -> None:
    """Train on labels, and score out of fold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--student", type=Path, required=True, help="weights to start from, of step 6")
    add_judged_option(parser, ["all"])
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    items = read_labels(plan.data, chosen_sets(given.judged), plan.most_labels)
    score_folds(plan, given.student, items)
    train_labels(plan, given.student, items)


if __name__ == "__main__":
    main()
