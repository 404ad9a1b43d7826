"""Writing a pool batch by batch, so that an interrupted run can be resumed.

During the run, `replies.jsonl.part` holds the finished rows and `replies.jsonl.part.json` records the run and its
progress. At the end they are replaced by the complete `replies.jsonl`, with `replies.pool.json` next to it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from rejoinder._version import __version__
from rejoinder.data.digests import digest_of
from rejoinder.data.survey import in_batches
from rejoinder.data.unanswered import each_once
from rejoinder.errors import LONGEST_SHOWN, CallError, DataError
from rejoinder.output.targets import Output
from rejoinder.output.unfinished import START_OVER, UnfinishedRows, check_finished, check_same_run, content_digest
from rejoinder.output.writing import write_text
from rejoinder.progress import bar
from rejoinder.reply_models.pool.pool import Pool, Tally, true_reply
from rejoinder.reply_models.pool.systems import RANDOM
from rejoinder.text.terminal import one_line
from rejoinder.types import Example

_BATCH = 64


@dataclass(frozen=True)
class PoolSummary:
    """The counts of a finished pool."""

    contexts: int
    systems: tuple[str, ...]
    tally: Tally
    trained_on: dict[str, int]
    """System -> how many of the contexts its model was trained on."""
    was_finished: bool = False
    """Whether an earlier run had finished it, so that nothing was left to do."""

    def count(self, what: str, system: str) -> int:
        """How many `replies`, `duplicate`, `offensive`, `empty` or `missing` a system has."""
        return self.tally[f"{what}:{system}"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        kinds = ("replies", "duplicate", "offensive", "empty", "missing")
        counts = {system: {kind: self.count(kind, system) for kind in kinds} for system in self.systems}
        return {"contexts": self.contexts, "systems": counts, "trained_on": self.trained_on}

    def __str__(self) -> str:
        names = {system: one_line(system, LONGEST_SHOWN) for system in self.systems}
        width = max(len("system"), *map(len, names.values()))
        lines = [f"{'system':<{width}}  replies  duplicate  offensive  empty  missing"]
        for system, counts in self.to_dict()["systems"].items():
            cells = (f"{counts[kind]:>{len(kind)}}" for kind in counts)
            lines.append(f"{names[system]:<{width}}  {'  '.join(cells)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class PoolRun:
    """One run of a pool over contexts that can be iterated more than once."""

    pool: Pool
    contexts: Iterable[Example]
    name: str = "contexts"
    quiet: bool = True

    def write(self, target: Path, *, resume: bool = False) -> PoolSummary:
        """Write the pool to the target; with `resume`, what an earlier run of the same settings wrote is kept."""
        count, digest, trained_on, pool = self._look_through()
        part, run = UnfinishedRows(target), self._run(digest, count)
        if resume and target.exists() and not part.exist():
            tally = _finished_tally(target, run)
            return PoolSummary(count, tuple(pool.signatures), tally, trained_on, was_finished=True)
        done, tally = _restored(part, run) if resume else (0, Counter())
        if not done:
            tally = Counter()
            part.start(_state(part, run, 0, tally))
        with part.kept_only_for_resuming():
            self._fill(
                pool, part, done, count, tally, lambda so_far: part.write_state(_state(part, run, so_far, tally))
            )
        summary = PoolSummary(count, tuple(pool.signatures), tally, trained_on)
        settings = {key: value for key, value in run.items() if key != "digest"}
        about = {**settings, "data": {"name": self.name, "digest": digest}, **summary.to_dict()}
        about |= {"run": run, "content": content_digest(part.rows)}
        write_text(about_path(target), json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        part.rows.replace(target)
        part.discard()
        return summary

    def _look_through(self) -> tuple[int, str, dict[str, int], Pool]:
        """The number of contexts, their digest, how many each system was trained on, and the pool with its `others`."""
        count, parts, others = 0, list[str](), list[str]()
        trained_on = {system.name: 0 for system in self.pool.systems}
        for batch in in_batches(each_once(self.contexts), 4096):
            count += len(batch)
            parts.append(digest_of(map(_written, batch)))
            others += [truth for one in batch if (truth := true_reply(one)) is not None]
            for system in self.pool.systems:
                trained_on[system.name] += int(system.model.trained_contexts.holds(batch).sum())
        if not count:
            raise DataError("contains no contexts: expected at least one", file=self.name)
        pool = self.pool
        if RANDOM in pool.also:
            pool = replace(pool, others=others).without_offensive_others()
        return count, digest_of(parts), {name: held for name, held in trained_on.items() if held}, pool

    def _run(self, digest: str, count: int) -> dict[str, Any]:
        """Everything that the replies depend on: what `--resume` compares."""
        return {
            "version": __version__,
            "digest": digest,
            "contexts": count,
            "seed": self.pool.seed,
            "signatures": self.pool.signatures,
            "filters": [one.signature for one in self.pool.filters],
            "deduplicate": self.pool.deduplicate,
        }

    def _fill(
        self, pool: Pool, part: UnfinishedRows, done: int, count: int, tally: Tally, keep: Callable[[int], None]
    ) -> None:
        with (
            part.appending() as file,
            bar("replying", total=count, unit="contexts", quiet=self.quiet, done=done, faster=self._faster) as moving,
        ):
            for batch in in_batches(self._left(done), _BATCH):
                file.writelines(row.json for row in pool.rows(batch, tally))
                file.flush()
                done += len(batch)
                keep(done)
                moving.update(len(batch))

    @property
    def _faster(self) -> list[str]:
        """What would take less time."""
        systems = self.pool.systems
        ways = ["fewer contexts (`rejoinder convert --sample`)"]
        if any(system.decoding is not None and system.decoding.method == "beam" for system in systems):
            ways.append("greedy decoding in place of beam search")
        return [*ways, "fewer systems"] if len(systems) > 1 else ways

    def _left(self, done: int) -> Iterator[Example]:
        return islice(each_once(self.contexts), done, None)


def about_path(target: Path) -> Path:
    """The file for signatures, seed, version and counts: replies.jsonl -> replies.pool.json."""
    return target.with_suffix(".pool.json")


def pool_output(target: Path) -> Output:
    """The file for replies, with the other files that are written with it."""
    unfinished, about = UnfinishedRows(target), about_path(target)

    def check() -> None:
        unfinished.check()
        if os.path.lexists(about) and not _is_about_replies(about):
            raise CallError(f"{about} was not written with replies, but {target} would need it: expected another name")

    return Output(target, (".jsonl",), beside=(unfinished.rows, unfinished.state, about), check=check)


def _is_about_replies(path: Path) -> bool:
    return {"signatures", "systems"} <= _about(path).keys()


def _about(path: Path) -> dict[str, Any]:
    """What was written about replies; empty where the file is missing or something else."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def _written(context: Example) -> list[Any]:
    """Everything of a context that the replies or their rows depend on."""
    labels = [context.id, context.context_id, context.dialogue_id]
    return [*labels, context.context, context.speakers, context.references]


def _finished_tally(target: Path, run: dict[str, Any]) -> Tally:
    """The counts of finished replies; an error unless they are of this run, and as they were written."""
    path = about_path(target)
    about = _about(path)
    check_finished(target, about, run, "" if about else f"no {path.name} next to the replies")
    try:
        counts = {f"{kind}:{name}": int(n) for name, kinds in about["systems"].items() for kind, n in kinds.items()}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise DataError(f"is damaged: expected the counts of replies; {START_OVER}", file=str(path)) from None
    return Counter({key: n for key, n in counts.items() if n})


def _state(part: UnfinishedRows, run: dict[str, Any], done: int, tally: Tally) -> dict[str, Any]:
    size = part.rows.stat().st_size if done else 0
    return {"run": run, "done": done, "bytes": size, "tally": dict(tally)}


def _restored(part: UnfinishedRows, run: dict[str, Any]) -> tuple[int, Tally]:
    """How many contexts an interrupted run finished, and its tally; incomplete rows after them are cut off."""
    kept = part.read_state() if part.exist() else None
    if kept is None:
        return 0, Counter()
    try:
        found, done, size, tally = dict(kept["run"]), int(kept["done"]), int(kept["bytes"]), Counter(kept["tally"])
    except (ValueError, LookupError, TypeError):
        raise DataError(
            f"is damaged: expected the state of an unfinished run; {START_OVER}", file=str(part.state)
        ) from None
    check_same_run(found, run, part.rows)
    if part.rows.stat().st_size < size:
        raise DataError(f"is damaged: expected at least {size} bytes; {START_OVER}", file=str(part.rows))
    with part.rows.open("r+b") as file:
        file.truncate(size)
    return done, tally
