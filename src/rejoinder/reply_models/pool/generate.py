"""Replies to contexts: by one reply model, or by a pool of several, to be judged.

`rejoinder.generate` and `rejoinder generate` both call this.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.arguments import checked, fitting, of_type, one_or_more, optional, path, text, texts
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError, Source
from rejoinder.data.unanswered import UnansweredSource
from rejoinder.errors import CallError
from rejoinder.output.named import named_files, paths_of
from rejoinder.output.targets import output_path, reserved
from rejoinder.reply_models.base import ReplyModel
from rejoinder.reply_models.decoding import Decoding
from rejoinder.reply_models.pool.offensive import Filter, MetricFilter, WordFilter
from rejoinder.reply_models.pool.pool import Pool
from rejoinder.reply_models.pool.run import PoolRun, PoolSummary, pool_output
from rejoinder.reply_models.pool.systems import System, also_of, check_decodes, check_names, systems_of
from rejoinder.threads import use_thread_pools
from rejoinder.types import Example

Model = str | Path | ReplyModel


@dataclass(frozen=True)
class GeneratedReplies:
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
        """Warnings for those who judge the replies."""
        held = self.summary.trained_on.items()
        return tuple(f"{name} was trained on {n} of the {self.summary.contexts} contexts" for name, n in held)

    def __str__(self) -> str:
        return str(self.summary)


@checked(
    also=one_or_more("'true', 'random' or both"),
    drop=texts("a list such as ['length<3']"),
    decoding=optional(of_type(str, Decoding, called="text such as 'beam(beam=4)', or a Decoding")),
)
def generate(
    systems: Model | Mapping[str, Model] | Sequence[str],
    contexts: Any,
    *,
    also: str | Sequence[str] = (),
    drop: Sequence[str] = (),
    keep_offensive: bool = False,
    decoding: str | Decoding | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    output: str | Path | None = None,
    resume: bool = False,
    quiet: bool = True,
) -> GeneratedReplies:
    """Reply to contexts: one model gives one reply per context, several give a pool of replies to be judged.

    `systems` is a reply model or the folder of one; or, for a pool, {name: model or folder} or a list of
    'NAME=FOLDER@DECODING'. In a pool, equal replies to a context become one row, and empty and offensive ones are left
    out; `also` adds the true reply or a random one ("true", "random"), and `drop` leaves out replies by a metric
    ("length<3").

    `contexts` is a file, a frame, or a list of records or of contexts, which are lists of turns. With an `output` the
    replies go into that .jsonl file, and `resume` continues an interrupted run.
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
        return GeneratedReplies(examples, summary, tuple(map(str, source.skipped.values())))


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
        system = _system("", systems, how)
        if how is not None:  # in a pool it is meant for the models that decode; here nothing would use it
            check_decodes(system.model, f"decoding {decoding}")
        return Pool([system], deduplicate=False, seed=seed)
    filters: list[Filter] = [] if keep_offensive else [WordFilter()]
    filters += [MetricFilter.parse(spec) for spec in drop]
    if isinstance(systems, Mapping):
        check_names(systems)
        several = [_system(fitting("the name of a system", name, text), model, how) for name, model in systems.items()]
    else:
        several = systems_of(fitting("systems", systems, texts("a reply model, its folder, or several of them")), how)
    return Pool(several, others, filters, seed=seed)


def _system(name: str, model: Model, decoding: Decoding | None) -> System:
    if not isinstance(model, ReplyModel):
        fitting("a system", model, path)
        [system] = systems_of([f"{name}={model}" if name else str(model)], decoding)
        return system
    return System(name or model.name, model, decoding if model.decodes else None)


def _records(contexts: Any) -> Any:
    """The contexts in a form that a source reads: in a list, contexts that are lists of turns become records."""
    if not isinstance(contexts, list | tuple | Iterator):
        return contexts
    return [{"context": item} if isinstance(item, list | tuple) else item for item in contexts]
