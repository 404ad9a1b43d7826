"""Replies to contexts: by one reply model, or by a pool of several, to be judged.

`rejoinder.generate` and `rejoinder generate` both call this.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.data.contexts import digest_of
from rejoinder.data.dialogues import UnansweredSource, each_once
from rejoinder.data.records import Fields
from rejoinder.data.source import Source, in_batches
from rejoinder.errors import LONGEST_SHOWN, CallError, DataError, NeedsError
from rejoinder.folders.outputs import (
    START_OVER,
    Output,
    UnfinishedRows,
    check_finished,
    check_same_run,
    content_digest,
    named_files,
    output_path,
    paths_of,
    reserved,
    write_text,
)
from rejoinder.options import (
    FIELDS_OPTION,
    OnError,
    Option,
    Quiet,
    Resume,
    Seed,
    either,
    fitting,
    of_type,
    one_or_more,
    path,
    text,
    texts,
    verb,
)
from rejoinder.progress import bar
from rejoinder.registry import load_reply_model
from rejoinder.replies.base import Decoding, ReplyModel, context_seed
from rejoinder.replies.filters import MetricFilter, ReplyFilter, WordFilter
from rejoinder.show.document import Document, Result, Table
from rejoinder.show.text import counted, one_line
from rejoinder.threads import use_thread_pools
from rejoinder.types import Example

Model = str | Path | ReplyModel


@dataclass(frozen=True, repr=False)
class Replies(Result):
    """The replies as examples, in order, and counts of what was left out; iterating over it gives the examples."""

    examples: Iterable[Example]
    """Read again from the output file at each iteration, or a list if there is no output file."""
    summary: PoolSummary
    skipped: tuple[str, ...] = ()
    """Why each record that could not be read was left out."""

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)

    def to_dict(self) -> dict[str, Any]:
        """Counts per system, and what was skipped, as plain values."""
        return {**self.summary.to_dict(), "skipped": list(self.skipped)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know for those who judge the replies."""
        held = self.summary.trained_on.items()
        return tuple(f"{name} was trained on {n} of the {self.summary.contexts} contexts" for name, n in held)

    def document(self) -> Document:
        """How many replies each system gave, and how many were left out."""
        kinds = ("replies", "duplicate", "offensive", "empty", "missing")
        rows = [
            [one_line(system, LONGEST_SHOWN), *(self.summary.count(kind, system) for kind in kinds)]
            for system in self.summary.systems
        ]
        title = f"Replies to {counted(self.summary.contexts, 'context')}"
        return Document(title, [Table(["system", *kinds], rows, ruled=False, fit=False)])


_POOL = "a pool for judging"


@verb
def generate(
    systems: Annotated[
        Model | Mapping[str, Model] | Sequence[str],
        Option(
            "one reply model, or several by the names of their systems",
            parts=(
                Option(
                    "one trained reply model: one reply per context, none left out",
                    name="--model",
                    metavar="FOLDER",
                    alternative="who",
                    required=True,
                ),
                Option(
                    "a pool for judging: trained reply models, each with the system name for its replies; a decoding "
                    "may follow, hred=FOLDER@nucleus(p=0.9); may be repeated",
                    name="--systems",
                    metavar="NAME=FOLDER,...",
                    many="repeat",
                    alternative="who",
                    required=True,
                ),
            ),
            read=either,
        ),
    ],
    contexts: Annotated[
        Any,
        Option(
            "what to reply to: .jsonl(.gz), .csv, .tsv, .parquet, or - for JSON lines on standard input; records with "
            "`context` or `messages`, or with the `turns` of a dialogue, whose last turn is taken as the true reply"
        ),
    ],
    *,
    also: Annotated[
        str | Sequence[str],
        Option(
            "add the true reply, a random reply, or both",
            one_or_more("'true', 'random' or both"),
            metavar="true,random",
            group=_POOL,
        ),
    ] = (),
    drop: Annotated[
        Sequence[str],
        Option(
            "leave out replies that a metric scores above (or, with <, below) a number; may be repeated",
            texts("a list such as ['length<3']"),
            metavar="METRIC>NUMBER",
            many="repeat",
            group=_POOL,
        ),
    ] = (),
    keep_offensive: Annotated[bool, Option("do not leave out replies with offensive words", group=_POOL)] = False,
    decoding: Annotated[
        str | Decoding | None,
        Option(
            "how models that generate word by word choose the words: greedy, beam(beam=4), ancestral, top-k(k=40), "
            "nucleus(p=0.9) (default: the model's own choice)",
            of_type(str, Decoding, called="text such as 'beam(beam=4)', or a Decoding"),
            metavar="HOW",
        ),
    ] = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    output: Annotated[
        str | Path | None,
        Option("file to write the replies to", path, short="-o", metavar="FILE.jsonl", required=True),
    ] = None,
    resume: Resume = False,
    quiet: Quiet = True,
) -> Replies:
    """Reply to contexts: one model gives one reply per context, several give a pool of replies to be judged.

    `systems` is a reply model or the folder of one; or, for a pool, {name: model or folder} or a list of
    'NAME=FOLDER@DECODING'. In a pool, equal replies to a context become one row, and empty and offensive ones are left
    out; `also` adds the true reply or a random one ("true", "random"), and `drop` leaves out replies by a metric
    ("length<3").

    `contexts` is a file, a data frame, or a list of records or of contexts, which are lists of turns. With an `output`
    the replies go into that .jsonl file, and `resume` continues an interrupted run.
    """
    use_thread_pools()
    target = None if output is None else output_path(output)
    with ExitStack() as stack:
        if target is not None:
            reads = [*paths_of(contexts), *named_files(systems, drop)]
            stack.enter_context(reserved(pool_output(target), reads=reads))
        pool = _pool(systems, list(also), drop, decoding, keep_offensive=keep_offensive, seed=seed)
        source = stack.enter_context(closing(UnansweredSource(_records(contexts), fields, on_error)))
        run = PoolRun(pool, source, source.name, quiet)
        examples: Iterable[Example]
        if target is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rejoinder-"))
            written = Path(folder, "replies.jsonl")
            summary, examples = run.write(written), list(Source(written))
        else:
            summary, examples = run.write(target, resume=resume), Source(target)
        return Replies(examples, summary, tuple(map(str, source.skipped.values())))


def _pool(
    systems: Model | Mapping[str, Model] | Sequence[str],
    also: Sequence[str],
    drop: Sequence[str],
    decoding: str | Decoding | None,
    *,
    keep_offensive: bool,
    seed: int,
) -> Pool:
    """The systems and filters: no filters for one model; for a pool, those of replies that should not be judged."""
    others = also_of(",".join(also))
    how = Decoding.parse(decoding) if isinstance(decoding, str) else decoding
    if isinstance(systems, str | Path | ReplyModel):
        if others or drop:
            raise CallError("the options also and drop are for a pool: expected several systems, not one model")
        system = _system_of("", systems, how)
        if how is not None:  # in a pool it is meant for the models that decode; here nothing would use it
            check_decodes(system.model, f"decoding {decoding}")
        return Pool([system], deduplicate=False, seed=seed)
    filters: list[ReplyFilter] = [] if keep_offensive else [WordFilter()]
    filters += [MetricFilter.parse(spec) for spec in drop]
    if isinstance(systems, Mapping):
        check_names(systems)
        several = [
            _system_of(fitting("the name of a system", name, text), model, how) for name, model in systems.items()
        ]
    else:
        several = pool_systems(fitting("systems", systems, texts("a reply model, its folder, or several of them")), how)
    return Pool(several, others, filters, seed=seed)


def _system_of(name: str, model: Model, decoding: Decoding | None) -> PoolSystem:
    if not isinstance(model, ReplyModel):
        fitting("a system", model, path)
        [system] = pool_systems([f"{name}={model}" if name else str(model)], decoding)
        return system
    return PoolSystem(name or model.name, model, decoding if model.decodes else None)


def _records(contexts: Any) -> Any:
    """The contexts in a form that a source reads: in a list, contexts that are lists of turns become records."""
    if not isinstance(contexts, list | tuple | Iterator):
        return contexts
    return [{"context": item} if isinstance(item, list | tuple) else item for item in contexts]


# A pool of replies to be judged: several systems' replies to the same contexts, without duplicate or offensive
# ones.
#
# The data sets of the papers were built in this way: every context is answered by each system, by a random reply and by
# the true one (Liu et al. 2016, section 4; Zhao et al. 2020, section 3), and offensive replies are left out (Lowe et
# al. 2017, section 3). A row is an example as `score` and `annotate` read it.


_TRIES = 50

Tally = Counter[str]
"""Event -> count: 'replies:hred', 'duplicate:hred', 'offensive:hred', 'empty:hred', 'missing:true'."""


@dataclass(frozen=True)
class PoolReply:
    """One reply of the pool."""

    example: Example
    also: tuple[str, ...] = ()
    """Other systems that gave the same reply."""

    @property
    def json(self) -> str:
        """One line of JSON; empty fields are left out."""
        example = self.example
        fields: dict[str, Any] = {
            "id": example.id,
            "system": example.system,
            "context_id": example.context_id,
            "dialogue_id": example.dialogue_id,
            "context": example.context,
            "speakers": example.speakers,
            "response": example.response,
            "references": example.references,
            "also": self.also,
        }
        kept = {name: value for name, value in fields.items() if value or name == "response"}
        return json.dumps(kept, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Pool:
    """The systems that reply, and the filters."""

    systems: Sequence[PoolSystem]
    also: Sequence[str] = ()
    """Of `true` and `random`."""
    filters: Sequence[ReplyFilter] = ()
    deduplicate: bool = True
    """Whether equal replies to a context become one row, and empty ones are left out."""
    seed: int = 0
    others: Sequence[str] = field(default=(), repr=False)
    """The true replies of all contexts, from which random replies are drawn."""

    @property
    def signatures(self) -> dict[str, str]:
        """System -> everything that determines its replies."""
        return {system.name: system.signature for system in self.systems} | {name: name for name in self.also}

    def without_offensive_others(self) -> Pool:
        """The same pool, which draws random replies only from those that pass the filters."""
        examples = [Example(str(number), (), text) for number, text in enumerate(self.others)]
        refused = np.zeros(len(examples), np.bool_)
        for one in self.filters:
            refused |= one.refuses(examples)
        kept = [text for text, out in zip(self.others, refused.tolist(), strict=True) if not out and text.strip()]
        if RANDOM in self.also and len({compared_form(text) for text in kept}) < 2:
            raise NeedsError("random replies are drawn from true ones: expected at least two different true replies")
        return replace(self, others=tuple(dict.fromkeys(kept)))

    def rows(self, contexts: Sequence[Example], tally: Tally) -> list[PoolReply]:
        """The rows for some contexts; what was kept and left out is added to the tally."""
        replies = self._replies(contexts)
        rows = [
            row for number, context in enumerate(contexts) for row in self._rows_of(context, replies, number, tally)
        ]
        for one in self.filters:
            refused = one.refuses([row.example for row in rows])
            tally.update(f"offensive:{row.example.system}" for row, out in zip(rows, refused, strict=True) if out)
            rows = [row for row, out in zip(rows, refused, strict=True) if not out]
        tally.update(f"replies:{row.example.system}" for row in rows)
        tally["contexts"] += len(contexts)
        return rows

    def _replies(self, contexts: Sequence[Example]) -> dict[str, list[str]]:
        """System -> one reply per context; the true reply comes first."""
        truths = [true_reply(context) or "" for context in contexts]
        turns = [context.context for context in contexts]
        replies = {TRUE: truths} if TRUE in self.also else {}
        for system in self.systems:
            replies[system.name] = system.model.reply(
                turns, decoding=system.decoding, seed=self.seed, true_replies=truths
            )
        return replies

    def _rows_of(
        self, context: Example, replies: Mapping[str, Sequence[str]], number: int, tally: Tally
    ) -> Iterator[PoolReply]:
        kept: dict[str, PoolReply] = {}
        for system, written in replies.items():
            text, key = written[number], compared_form(written[number]) if self.deduplicate else system
            if system == TRUE and not text.strip():
                tally["missing:true"] += 1
            elif not key:
                tally[f"empty:{system}"] += 1
            elif key in kept:
                tally[f"duplicate:{system}"] += 1
                kept[key] = replace(kept[key], also=(*kept[key].also, system))
            else:
                kept[key] = PoolReply(_answered(context, system, text))
        yield from kept.values()
        if RANDOM in self.also:
            drawn = self._random(context, {*kept, *map(compared_form, context.references)})
            if drawn is None:
                tally["missing:random"] += 1
            else:
                yield PoolReply(_answered(context, RANDOM, drawn))

    def _random(self, context: Example, taken: set[str]) -> str | None:
        """A true reply of another context that differs from all replies in the pool so far."""
        rng = np.random.default_rng([self.seed, context_seed(context.context, self.seed)])
        drawn = (self.others[int(place)] for place in rng.integers(len(self.others), size=_TRIES))
        return next((text for text in drawn if compared_form(text) not in taken), None)


def true_reply(context: Example) -> str | None:
    """The first reference of a context, or None."""
    return context.references[0] if context.references else None


def compared_form(text: str) -> str:
    """The form in which replies are compared: lower case, white space normalised."""
    return " ".join(text.casefold().split())


def _answered(context: Example, system: str, reply: str) -> Example:
    return replace(context, system=system, response=reply, context_id=context.context_id or context.id)


# The systems of a pool: trained reply models, each under a name and with its decoding.


TRUE, RANDOM = "true", "random"
"""Systems that are not models: the true reply, and the true reply of another context."""

_SEPARATOR = re.compile(r",(?![^()]*\))")  # a comma outside the parentheses of a decoding


@dataclass(frozen=True)
class PoolSystem:
    """A reply model, and the name that is given to its replies."""

    name: str
    model: ReplyModel
    decoding: Decoding | None = None

    @property
    def signature(self) -> str:
        """Everything that determines its replies, in one line."""
        decoded = "" if self.decoding is None else f"|decoding:{self.decoding.signature}"
        return f"{self.model.signature}{decoded}"


def pool_systems(specs: Iterable[str], decoding: Decoding | None = None) -> list[PoolSystem]:
    """From 'NAME=FOLDER' or 'NAME=FOLDER@nucleus(p=0.9)', several of them separated by commas.

    NAME defaults to the model's own name. `decoding` is used for models that decode and are given none.
    """
    systems: dict[str, PoolSystem] = {}
    for spec in (part.strip() for given in specs for part in _SEPARATOR.split(given)):
        system = _system_from_spec(spec, decoding)
        if system.name in systems:
            raise CallError(f"two systems are named {system.name!r}: expected a different name for each, NAME=FOLDER")
        systems[system.name] = system
    check_names(systems)
    return list(systems.values())


def check_names(names: Collection[str]) -> None:
    """Raise a CallError where no system is named, or one as a system that is not a model."""
    if not names:
        raise CallError("no system is named: expected at least one reply model")
    for name in (TRUE, RANDOM):
        if name in names:
            raise CallError(f"a system is named {name!r}, as the {name} reply: expected another name, NAME=FOLDER")


def also_of(given: str) -> list[str]:
    """From 'true,random'."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in {TRUE, RANDOM} or names.count(name) > 1:
            raise CallError(f"also takes {TRUE} and {RANDOM}, each once, not {given!r}")
    return names


def check_decodes(model: ReplyModel, asked: str) -> None:
    """Raise a CallError if a model that copies replies is given a decoding; `asked` is what the user wrote."""
    if not model.decodes:
        raise CallError(f"{model.name} copies replies of its corpus: it takes no decoding, but {asked!r} gives one")


def _system_from_spec(spec: str, decoding: Decoding | None) -> PoolSystem:
    name, folder, how = "", spec, ""
    if not Path(folder).is_dir():
        name, equals, rest = spec.partition("=")
        name, folder = (name.strip(), rest.strip()) if equals and "@" not in name else ("", spec)
    if not Path(folder).is_dir():
        folder, _, how = folder.rpartition("@") if "@" in folder else (folder, "", "")
    if not folder:
        raise CallError(f"cannot read the system {spec!r}: expected NAME=FOLDER")
    model = load_reply_model(folder)
    chosen = Decoding.parse(how) if how else decoding if model.decodes else None
    if chosen is not None:
        check_decodes(model, spec)
    return PoolSystem(name or model.name, model, chosen)


# Writing a pool batch by batch, so that an interrupted run can be resumed.
#
# During the run, `replies.jsonl.part` holds the finished rows and `replies.jsonl.part.json` records the run and its
# progress. At the end they are replaced by the complete `replies.jsonl`, with `replies.pool.json` next to it.


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
