"""Step 3: the evaluator without labels.

    python -m recipes.default_evaluator.student [--taught FILE.jsonl ...]

It starts from the averaged towers and learns from all candidates of a context at once, with four losses. *Together*:
the squared error of the logit from its target, plus that of the logits less their mean within the context; the first
makes replies to different contexts comparable, the second tells replies to one context apart. *Ranked*: where no
teacher judged the candidates, the cross-entropy of the true reply among them. *Apart*: each context, whole and by its
last turn, must be nearer to its own reply than to those of the batch's other contexts. *Anchor*: the squared
difference of all cosines of the batch from what the averaged towers say. Writes student.safetensors.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from recipes.default_evaluator.descent import Descent
from recipes.default_evaluator.lesson import Group, grouped, plan_batches, read_groups
from recipes.default_evaluator.plan import Plan, add_options, plan_of
from recipes.default_evaluator.targets import Taught, print_kinds, read_taught, targets
from recipes.default_evaluator.teacher import draw, teach
from recipes.default_evaluator.towers import TwoTowers
from recipes.default_evaluator.train_towers import train_towers
from safetensors.torch import load_file, save_file
from scipy.stats import spearmanr
from torch import Tensor

from rejoinder.arrays import Floats
from rejoinder.evaluators.encoder.branch_encoder import FEATURES, BranchEncoder, Reading
from rejoinder.evaluators.encoder.distill_stage import centred
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.learning.in_batch import SCALE
from rejoinder.learning.weights import plain_state

RATE, WARM_UP = 6e-5, 30
HEAD_FASTER = 5
BATCH_TOKENS = 3000
EPOCHS, SLICES = 12, 3
"""Epochs at most: the time runs out before; candidates that nobody judged last for so many."""
RANKED, APART, ANCHOR = 0.5, 0.1, 10.0
"""How much these losses count beside the first."""
AS_GOOD = frozenset({"generic", "near-true", "truncated"})
"""Candidates that may fit as well as the true reply, for all we know without a teacher."""
HELD_OUT = 150
"""Contexts that the student is compared with its teacher on."""
COUNTED_MORE = {"cosine of last turn": 1.0, "late match": 0.5}
SAMPLE = 400
"""Contexts that set where each feature levels off."""


def start_student(plan: Plan) -> TorchModel:
    """The pretrained encoder under a new head: the shape of the student."""
    return TorchModel.start(
        str(plan.encoder_folder),
        max_length=128,
        max_response=64,
        speaker_marks=False,
        pooling="match",
        towers=True,
        seed=0,
    )


def load_student(plan: Plan, weights: Path) -> TorchModel:
    """The student with trained weights."""
    model = start_student(plan)
    model.network.load_state_dict(load_file(weights))
    return model


def branches(model: TorchModel) -> BranchEncoder:
    """The network of a model with towers."""
    if not isinstance(model.network, BranchEncoder):
        raise TypeError("a model without towers: expected one that reads context and reply apart, too")
    return model.network


@dataclass(frozen=True, eq=False)
class Lesson:
    """Candidates with their targets, and where the averaged towers see them."""

    model: TorchModel
    groups: list[Group]
    aims: Tensor
    """(candidates,)"""
    true: Tensor
    """Whether it is the reply that was really given. (candidates,)"""
    ranks: Tensor
    """Whether it is true, or worse than the true one for sure. (candidates,)"""
    contexts: Tensor
    """Whole ones by their place. (contexts, width)"""
    last_turns: Tensor
    """(contexts, width)"""
    replies: Tensor
    """(candidates, width)"""

    def plan(self) -> list[list[Group]]:
        """Batches of every epoch: all contexts that were judged, and a third of the others, each time another."""
        judged = [group for group in self.groups if self.aims[group.numbers[0]].isfinite()]
        ranked = [group for group in self.groups if not self.aims[group.numbers[0]].isfinite()]
        rng = random.Random(0)
        rng.shuffle(ranked)
        slices = [ranked[start::SLICES] for start in range(SLICES)]
        return [
            batch
            for epoch in range(EPOCHS)
            for batch in plan_batches([*judged, *slices[epoch % SLICES]], BATCH_TOKENS, 1, rng)
        ]

    def loss(self, batch: Sequence[Group]) -> Tensor:
        """Of all candidates of the batch's contexts."""
        reading, there = read_groups(
            branches(self.model), self.model.tokeniser.brancher, batch, self.model.settings.pad
        )
        numbers = torch.tensor([number for group in batch for number in group.numbers])
        sizes = torch.tensor([len(group.numbers) for group in batch])
        aims = self.aims[numbers]
        judged = aims.isfinite()
        off = torch.where(judged, reading.logits[there] - aims.nan_to_num(), 0)
        squares = (off**2 + centred(off, sizes) ** 2).mean()
        ranked = RANKED * self._ranked(reading.logits, there, numbers, sizes, judged)
        return squares + ranked + self._apart(reading, there, batch, numbers, sizes)

    def _ranked(self, logits: Tensor, there: Tensor, numbers: Tensor, sizes: Tensor, judged: Tensor) -> Tensor:
        """The cross-entropy of the true replies among the candidates of contexts that nobody judged."""
        asked = torch.zeros_like(there)
        asked[there] = self.ranks[numbers] & ~judged
        rows = asked.any(1)
        if not rows.any():
            return torch.zeros(())
        true = torch.zeros_like(there)
        true[there] = self.true[numbers]
        true &= asked  # a context may be judged in one place and not in another
        likely = logits.masked_fill(~asked, -torch.inf)[rows].log_softmax(1)
        return -likely[true[rows]].sum() / len(sizes)

    def _apart(self, reading: Reading, there: Tensor, batch: Sequence[Group], numbers: Tensor, sizes: Tensor) -> Tensor:
        """What the cosines of every context of the batch with every reply of it cost."""
        owner = torch.repeat_interleave(torch.arange(len(batch)), sizes)
        own = owner == torch.arange(len(batch))[:, None]
        true = self.true[numbers]
        places = torch.tensor([group.place for group in batch])
        replies, before_replies = reading.alone[there], self.replies[numbers]
        loss = torch.zeros(())
        for contexts, before in ((reading.context, self.contexts), (reading.last_turn, self.last_turns)):
            cosines = contexts @ replies.T
            loss = loss + ANCHOR * ((cosines - before[places] @ before_replies.T) ** 2).mean()
            # Its own candidates that are not true may fit as well, or be an echo: they are no negatives here.
            logits = (SCALE * cosines).masked_fill(own & ~true, -torch.inf)
            likely = logits.log_softmax(1).masked_fill(~(own & true), 0)
            loss = loss - APART * likely.sum() / len(batch)
        return loss


def make_lesson(model: TorchModel, rows: Sequence[Taught], wanted: Floats, vectors: Tensor) -> Lesson:
    """The candidates as the student reads them; `vectors` are the anchor's. (3, candidates, width)"""
    groups = grouped(model.tokeniser.brancher, [row.context for row in rows], [row.reply for row in rows])
    contexts, last_turns, replies = vectors
    firsts = {group.place: group.numbers[0] for group in reversed(groups)}
    order = [firsts[place] for place in range(len(firsts))]
    true = torch.tensor([row.kind == "true" for row in rows])
    aims = torch.tensor(wanted, dtype=torch.float32)
    own = {row.context: row.reply for row in rows if row.kind == "true"}
    ranks = torch.tensor(
        [row.kind == "true" or (row.kind not in AS_GOOD and row.reply != own[row.context]) for row in rows]
    )
    return Lesson(model, groups, aims, true, ranks, contexts[order], last_turns[order], replies)


def level_features(model: TorchModel, groups: Sequence[Group]) -> None:
    """Set where each feature levels off, by its mean and standard deviation over some contexts."""
    network = branches(model)
    drawn = random.Random(0).sample(groups, min(SAMPLE, len(groups)))
    found = []
    with torch.no_grad():
        for batch in plan_batches(drawn, BATCH_TOKENS, 1, random.Random(0)):
            reading, there = read_groups(network, model.tokeniser.brancher, batch, model.settings.pad)
            found.append(reading.features[there])
        features = torch.cat(found)
        deviation = features.std(0).clamp(min=1e-3)
        network.level.weight.copy_(torch.diag(1 / deviation))
        network.level.bias.copy_(-features.mean(0) / deviation)


def add_to_blend(model: TorchModel, times: float = 1) -> None:
    """Let some features count for more than the student learned: it follows its teacher too closely where people
    disagree with that one. How much was chosen on the development sets. -1 takes it away again."""
    with torch.no_grad():
        for name, more in COUNTED_MORE.items():
            branches(model).blend.weight[0, FEATURES.index(name)] += times * more


def score_rows(model: TorchModel, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Floats:
    """The logit of each reply, all replies to a context in one row."""
    groups = grouped(model.tokeniser.brancher, contexts, replies)
    found = np.zeros(len(replies))
    with torch.inference_mode():
        for batch in plan_batches(groups, BATCH_TOKENS, 1, random.Random(0)):
            reading, there = read_groups(branches(model), model.tokeniser.brancher, batch, model.settings.pad)
            found[[number for group in batch for number in group.numbers]] = reading.logits[there].numpy()
    return found


def train_student(plan: Plan, taught: Sequence[Path], start: Path | None = None) -> Path:
    """The file of the student's weights, made if it is not there; `start` is that of one that goes on learning."""
    output = plan.work / f"student.{plan.corpora}.safetensors"
    if output.exists():
        return output
    torch.set_num_threads(plan.student_threads)
    rows = read_taught(taught)
    held = held_out(rows)
    vectors = anchor_vectors(plan, rows)
    model = start_student(plan)
    wanted = targets(rows, (vectors[1] * vectors[2]).sum(1).double().numpy())
    print_kinds(rows, wanted)
    mask = np.array([row.context not in held for row in rows])
    learned = [row for row in rows if row.context not in held]
    lesson = make_lesson(model, learned, wanted[mask], vectors[:, torch.from_numpy(mask)])
    if start is None:
        model.network.encoder.load_state_dict(load_file(train_towers(plan)))
        level_features(model, lesson.groups)
    else:
        model.network.load_state_dict(load_file(start))
        add_to_blend(model, -1)
    batches = lesson.plan()
    descent = Descent(
        RATE,
        WARM_UP,
        head_rate=HEAD_FASTER * RATE,
        frozen_layers=plan.student_frozen,
        minutes=plan.student_minutes,
    )
    print(f"student: {len(learned)} candidates, {len(batches) // EPOCHS} steps an epoch", flush=True)
    steps = descent.run(model.network, batches, lesson.loss)
    print(f"student: {steps} steps")
    add_to_blend(model)
    save_file(plain_state(model.network), output)
    if held:
        rest = [row for row in rows if row.context in held]
        scores = score_rows(model, [row.context for row in rest], [row.reply for row in rest])
        agreement = spearmanr(scores, wanted[~mask], nan_policy="omit").statistic
        print(f"student and teacher: Spearman {agreement:.3f}")
    return output


def anchor_vectors(plan: Plan, rows: Sequence[Taught]) -> Tensor:
    """Where averaged towers see the contexts, their last turns and the replies. (3, candidates, width)

    By the student's own towers; or side by side with those of a larger encoder, so that cosines are the mean of both.
    """
    plans = [plan]
    if plan.anchor and plan.anchor != plan.encoder:
        plans.append(replace(plan, encoder=plan.anchor, work=plan.work / plan.anchor))
    found = []
    for each in plans:
        each.work.mkdir(parents=True, exist_ok=True)
        towers = TwoTowers.start(each.encoder_folder)
        towers.load(train_towers(each))
        found.append(towers.unit_vectors([row.context for row in rows], [row.reply for row in rows]))
    beside: Tensor = torch.cat(found, 2) / len(found) ** 0.5
    return beside


def held_out(rows: Sequence[Taught]) -> set[tuple[str, ...]]:
    """Contexts that are not learned from; none where there are few."""
    contexts = sorted({row.context for row in rows if row.after is not None})
    return set(random.Random(0).sample(contexts, HELD_OUT)) if len(rows) > 20 * HELD_OUT else set()


def main() -> None:
    """Train a student."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taught", type=Path, nargs="+", help="files of the teacher; by default step 2's")
    parser.add_argument("--start", type=Path, help="weights of a student that goes on; by default the towers")
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    train_student(plan, given.taught or [teach(plan), draw(plan)], given.start)


if __name__ == "__main__":
    main()
