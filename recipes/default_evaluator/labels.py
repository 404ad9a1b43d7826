"""Step 5: the evaluator with labels, trained on a mixture of judged sets.

    python -m recipes.default_evaluator.labels [--student FILE.safetensors] [--judged SET ...]

Each set asked something else of other people, and its mean says little of how good its replies are beside another's.
So its labels are standardised and moved to the mean that the student gives its replies; the loss is the squared error
of the logit. The lowest layers stay as they are; large sets count less a reply. Among the labelled replies stand
candidates of step 2 that are held at the student's own logits, and garbled ones below them (`polish.py`): what labels
do not speak of shall not change. Then the weights are drawn back towards those of the student (Wortsman et al. 2022,
"Robust fine-tuning of zero-shot models"): --label-share says how much of the way is kept; and the cosines, which labels
of replies that only look fitting take weight from, are given some of it back (--label-cosines). All of the way, without
candidates and cosines, is for those who judge replies like the labelled ones.

Without --student it starts from the pretrained encoder, whose cosines are all that it knows then: for an encoder that
is too large to be taught here.

Writes labelled.safetensors, which saw all labels, and out_of_fold.jsonl with scores by models that did not see the
reply's context, as rejoinder.reproduction.evaluators takes them. Folds 0..4 are by context, across all sets at once,
and nothing is learned from a dialogue that a scored reply belongs to, so that no set tells of another's test. Fold
"published" is zhao2020's own split, for comparison with its paper: test replies whose contexts have others in the
training part.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from recipes.default_evaluator.descent import Descent
from recipes.default_evaluator.judged_sets import JUDGED, LICENSED, Labelled, read_labels
from recipes.default_evaluator.lesson import Group, grouped, plan_batches, read_groups
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.polish import Polish
from recipes.default_evaluator.student import (
    add_to_blend,
    branches,
    level_features,
    load_student,
    score_rows,
    start_student,
)
from recipes.default_evaluator.targets import read_taught
from recipes.default_evaluator.teacher import draw
from safetensors.torch import save_file
from torch import Tensor

from rejoinder.arrays import Floats
from rejoinder.evaluators.encoder.branch_encoder import on_scale
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.weights import plain_state

BATCH_TOKENS = 1500
RATE, HEAD_FASTER, WARM_UP = 3e-5, 5, 20
SPREAD = 1.0
"""The standard deviation of what is learned of a set, as a logit."""
FOLDS = 5
PUBLISHED = "published"
EVERY_FOLD = (PUBLISHED, *range(FOLDS))
LONG_ENOUGH = 20
"""Letters of what tells one dialogue from another."""
SPLIT_SETS = ("zhao2020_dailydialog", "zhao2020_personachat")


def fold_of(item: Labelled) -> int:
    """The fold of a reply: by the last two turns of its context, whatever set it is of."""
    return int(hashlib.sha256(_ending(item).encode()).hexdigest(), 16) % FOLDS


def fit_labels(plan: Plan, model: TorchModel, items: Sequence[Labelled]) -> TorchModel:
    """The same model, trained on the labels, and then drawn back until the plan's share of the way is left."""
    before = plain_state(model.network)
    brancher, network = model.tokeniser.brancher, branches(model)
    contexts, replies = [item.example.context for item in items], [item.example.response for item in items]
    groups = grouped(brancher, contexts, replies)
    aims = torch.tensor(label_aims(items, score_rows(model, contexts, replies)), dtype=torch.float32)
    counts = Counter(item.set for item in items)
    weights = torch.tensor([(600 / max(counts[item.set], 300)) ** 0.5 for item in items])
    weights /= weights.mean()
    if plan.label_replay:
        again = replayed(plan, model)
        groups += [
            replace(group, numbers=tuple(len(aims) + number for number in group.numbers)) for group in again.groups
        ]
        aims, weights = torch.cat([aims, again.aims]), torch.cat([weights, torch.ones(len(again.aims))])

    def loss(batch: Sequence[Group]) -> Tensor:
        """The squared error, weighted by set."""
        reading, there = read_groups(network, brancher, batch, model.settings.pad)
        numbers = [number for group in batch for number in group.numbers]
        error: Tensor = (weights[numbers] * (reading.logits[there] - aims[numbers]) ** 2).mean()
        return error

    batches = plan_batches(groups, BATCH_TOKENS, plan.label_epochs, random.Random(0))
    descent = Descent(RATE, WARM_UP, head_rate=HEAD_FASTER * RATE, frozen_layers=plan.frozen_layers)
    descent.run(network, batches, loss)
    after = plain_state(network)
    network.load_state_dict({name: before[name] + plan.label_share * (after[name] - before[name]) for name in after})
    add_to_blend(model, plan.label_cosines)
    return model


def replayed(plan: Plan, model: TorchModel) -> Polish:
    """Candidates with the student's logits, and garbled ones below them; of the last contexts that were drawn, because
    polishing took the first."""
    rows = read_taught([draw(plan)])
    contexts = set(list(dict.fromkeys(row.context for row in rows))[-plan.label_replay :])
    return Polish(model, [row for row in rows if row.context in contexts])


def label_aims(items: Sequence[Labelled], logits: Floats) -> Floats:
    """The logit to learn of each reply: its label, standardised within its set, about the student's mean there."""
    aims = np.zeros(len(items))
    for name in {item.set for item in items}:
        rows = np.array([item.set == name for item in items])
        human = np.array([item.human for item in items])[rows]
        aims[rows] = logits[rows].mean() + SPREAD * (human - human.mean()) / max(human.std(), 1e-6)
    return aims


def parts_of(items: Sequence[Labelled], fold: int | str) -> tuple[list[Labelled], list[Labelled]]:
    """What is learned from and what is scored in a fold."""
    if fold != PUBLISHED:
        scored = [item for item in items if fold_of(item) == fold]
        return without_dialogues_of(scored, [item for item in items if fold_of(item) != fold]), scored
    scored = [item for item in items if item.set in SPLIT_SETS and item.split == "test"]
    own = [item for item in items if item.set in SPLIT_SETS and item.split == "train"]
    rest = [item for item in items if item.set not in SPLIT_SETS]
    return [*own, *without_dialogues_of(scored, rest)], scored


def without_dialogues_of(scored: Sequence[Labelled], items: Sequence[Labelled]) -> list[Labelled]:
    """The items that share no dialogue with what is scored: several sets judged replies in the same dialogues."""
    seen = {key for item in scored for key in dialogue_keys(item.example.context)}
    return [item for item in items if seen.isdisjoint(dialogue_keys(item.example.context))]


def dialogue_keys(context: Sequence[str]) -> list[str]:
    """What tells a dialogue: each two neighbouring turns, and the last turn where it is long enough to be its own."""
    bare = [" ".join("".join(filter(_letter_or_space, turn.casefold())).split()) for turn in context]
    keys = [f"{one}\n{other}" for one, other in itertools.pairwise(bare) if len(one) + len(other) > LONG_ENOUGH]
    return keys + [turn for turn in bare[-1:] if len(turn) > LONG_ENOUGH]


def _letter_or_space(character: str) -> bool:
    return character.isalnum() or character == " "


def score_folds(plan: Plan, student: Path, items: Sequence[Labelled], folds: Sequence[int | str] = EVERY_FOLD) -> Path:
    """The file of out-of-fold scores, with the folds that were missing of it."""
    output = plan.work / f"out_of_fold.{plan.corpora}.jsonl"
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    done = {json.loads(line)["fold"] for line in lines}
    for fold in folds:
        learned, scored = parts_of(items, fold)
        if fold in done or not scored:
            continue
        model = fit_labels(plan, load_student(plan, student), learned)
        logits = score_rows(
            model, [item.example.context for item in scored], [item.example.response for item in scored]
        )
        scores = on_scale(torch.from_numpy(logits)).tolist()
        rows = [
            {
                "judged": f"{item.set}/test" if fold == PUBLISHED else item.set,
                "id": item.example.id,
                "score": round(float(score), 4),
                "fold": fold,
                "out_of_fold": True,
            }
            for item, score in zip(scored, scores, strict=True)
        ]
        lines += [json.dumps(row) for row in rows]
        fresh = output.with_suffix(".part")
        fresh.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        fresh.replace(output)
        print(f"labels: fold {fold}, {len(learned)} learned from, {len(scored)} scored", flush=True)
    return output


def train_labels(plan: Plan, student: Path, items: Sequence[Labelled]) -> Path:
    """The file of weights that saw all labels that may be learned from, made if it is not there."""
    output = plan.work / f"labelled.{plan.corpora}.safetensors"
    if not output.exists():
        model = fit_labels(plan, load_student(plan, student), learnable(plan, items))
        save_file(plain_state(model.network), output)
    return output


def start_from_encoder(plan: Plan, items: Sequence[Labelled]) -> Path:
    """The file of the pretrained encoder under a head that knows nothing; contexts, not labels, level its features."""
    output = plan.work / "start.safetensors"
    model = start_student(plan)
    contexts, replies = [item.example.context for item in items], [item.example.response for item in items]
    level_features(model, grouped(model.tokeniser.brancher, contexts, replies))
    save_file(plain_state(model.network), output)
    return output


def learnable(plan: Plan, items: Sequence[Labelled]) -> list[Labelled]:
    """The items that share no dialogue with a judged set that is not among them: figures on that set stay honest."""
    others = [name for name in JUDGED if name not in {item.set for item in items}]
    return without_dialogues_of(read_labels(plan.data, others, plan.most_labels), items)


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
    parser.add_argument("--student", type=Path, help="weights to start from, of step 4")
    add_judged_option(parser, ["all"])
    parser.add_argument("--only-published", action="store_true", help="score zhao2020's own split, and no more")
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    items = read_labels(plan.data, chosen_sets(given.judged), plan.most_labels)
    student = given.student or start_from_encoder(plan, [item for item in items if item.split != "test"])
    if given.only_published:
        score_folds(plan, student, items, [PUBLISHED])
        return
    score_folds(plan, student, items)
    train_labels(plan, student, items)


if __name__ == "__main__":
    main()
