"""Step 2: candidate replies with what a language model says of them.

    python -m recipes.default_evaluator.teacher

Of the contexts that are drawn the first are judged, as many as --teacher-judged says: they are in random order.
Appends to teacher.jsonl a chunk of contexts at a time, and goes on where it stopped: {"corpus", "context", "cands":
[[kind, reply, log p(reply | context), log p(reply), tokens], ...]}. Judging is slow; drawing is not. So many more
candidates are drawn than judged, for the student to rank the true reply among them: unjudged.jsonl, with nulls.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from recipes.default_evaluator.candidates import CHUNK, Candidates, chunks
from recipes.default_evaluator.corpora import NON_COMMERCIAL, TEACHER
from recipes.default_evaluator.plan import Plan, plan_from_command_line
from recipes.default_evaluator.towers import TwoTowers
from recipes.default_evaluator.tree_likelihood import TreeLikelihood

from rejoinder.language_models.causal import CausalModel

EXTRA_SEED, UNJUDGED_SEED = 5, 20


def plan_chunks(plan: Plan) -> Iterator[list[Candidates]]:
    """The candidates that are judged: of the free corpora, then of the others in the variant that has them."""
    towers = TwoTowers.start(plan.encoder_folder)
    judged = -(-plan.teacher_judged // CHUNK)  # whole chunks
    yield from islice(chunks(plan.data, TEACHER, plan.teacher_contexts, plan.teacher_seed, towers), judged)
    if plan.corpora == "non-commercial":
        yield from chunks(plan.data, NON_COMMERCIAL, plan.extra_contexts, EXTRA_SEED, towers)


def draw(plan: Plan) -> Path:
    """The file of candidates that nobody judged, made if it is not there."""
    output = plan.work / "unjudged.jsonl"
    if not output.exists():
        drawn = chunks(plan.data, TEACHER, plan.unjudged_contexts, UNJUDGED_SEED, TwoTowers.start(plan.encoder_folder))
        lines = [
            _line(each, [[kind, reply, None, None, None] for kind, reply in each.replies])
            for chunk in drawn
            for each in chunk
        ]
        _keep(output, lines)
    return output


def judge(teacher: TreeLikelihood, chunk: Sequence[Candidates]) -> list[str]:
    """A line of JSON for each context."""
    replies = [[candidate.reply for candidate in each.replies] for each in chunk]
    after = teacher.after([each.spot.context for each in chunk], replies)
    alone = teacher.alone(list(chain.from_iterable(replies)))
    lines = []
    for each, values in zip(chunk, after, strict=True):
        judged = [
            [kind, reply, round(float(value), 2), round(alone[reply], 2), len(teacher.reply_ids(reply))]
            for (kind, reply), value in zip(each.replies, values, strict=True)
        ]
        lines.append(_line(each, judged))
    return lines


def teach(plan: Plan) -> Path:
    """The file of judged candidates, with what was missing of it."""
    output = plan.work / f"teacher.{plan.corpora}.jsonl"
    done = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    planned = count = 0
    start = time.monotonic()
    teacher: TreeLikelihood | None = None
    for chunk in plan_chunks(plan):
        planned += len(chunk)
        if planned <= len(done):
            continue
        if teacher is None:
            teacher = TreeLikelihood(CausalModel.load(str(plan.models / plan.language_model)))
            _keep(output, done[: planned - len(chunk)])
        with output.open("a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in judge(teacher, chunk))
        count += sum(len(each.replies) for each in chunk)
        print(f"teacher: {planned} contexts, {count / (time.monotonic() - start):.1f} replies/s", flush=True)
    return output


def _line(each: Candidates, judged: Sequence[Sequence[object]]) -> str:
    return json.dumps({"corpus": each.spot.corpus, "context": each.spot.context, "cands": judged})


def _keep(path: Path, lines: Sequence[str]) -> None:
    """Only these lines: a chunk that was cut off is judged again."""
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    planned = plan_from_command_line(__doc__)
    draw(planned)
    teach(planned)
