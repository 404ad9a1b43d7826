"""A file of any tool to a file in our own format, from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.arguments import checked, flag, optional, path, whole
from rejoinder.data.converting.sampling import dialogue_rank, sampled_dialogues, without_duplicates
from rejoinder.data.converting.writers import SUFFIXES, example_record, write_records
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError, Source
from rejoinder.data.survey import survey
from rejoinder.output.targets import Output, output_path, reserved
from rejoinder.types import Example


@dataclass(frozen=True)
class Conversion:
    """What was written."""

    output: str
    read: int
    """Examples in the input."""
    written: int
    duplicates: int
    """Examples left out because an earlier one had the same system, context and response."""
    skipped: tuple[str, ...] = ()
    """Records that could not be read, each with the reason."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        names = ("output", "read", "written", "duplicates")
        return {**{name: getattr(self, name) for name in names}, "skipped": list(self.skipped)}

    def __str__(self) -> str:
        sampled = self.read - self.duplicates - self.written
        reasons = [f"{self.duplicates:,} duplicates"] * bool(self.duplicates)
        reasons += [f"{sampled:,} not in the sample"] * bool(sampled)
        left_out = f" (left out: {', '.join(reasons)})" if reasons else ""
        return f"{self.output}: {self.written:,} of {self.read:,} examples{left_out}"


class _RatedSource(Source):
    """A source that also remembers the human scores and the split of the example that was read last."""

    extra: Mapping[str, Any]

    def _example(self, record: Any, number: int) -> Example:
        names = {name: self.fields.of(name) for name in ("scores", "split")}
        found = record if isinstance(record, dict) else {}
        self.extra = {name: found[theirs] for name, theirs in names.items() if found.get(theirs) is not None}
        return super()._example(record, number)


@checked(output=path, every_turn=flag, drop_duplicates=flag, sample=optional(whole(1)))
def convert(
    origin: Any,
    output: str | Path,
    *,
    every_turn: bool = False,
    drop_duplicates: bool = False,
    sample: int | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    quiet: bool = True,
) -> Conversion:
    """Write the examples of a file, a folder, a frame or a list to `output`: .jsonl, .csv, .parquet or .xlsx.

    With `every_turn` each assistant message of a chat is an example, instead of the last one. `drop_duplicates` keeps
    one of all examples with the same system, context and response. `sample` is a number of dialogues to choose at
    random; all examples of a dialogue (with one `dialogue_id`, else with one context) are kept together.
    """
    target = output_path(output)
    with ExitStack() as stack:
        source = stack.enter_context(closing(_RatedSource(origin, fields, on_error, every_turn=every_turn)))
        stack.enter_context(reserved(Output(target, SUFFIXES), reads=source.files))
        count = survey(source, quiet=quiet, digest=False).count

        def kept() -> Iterator[Example]:
            return without_duplicates(source) if drop_duplicates else iter(source)

        chosen = None if sample is None else sampled_dialogues(kept(), sample, seed)
        tally = {"kept": 0, "written": 0}

        def records() -> Iterator[dict[str, Any]]:
            for example in kept():
                tally["kept"] += 1
                if chosen is None or dialogue_rank(example, seed) in chosen:
                    tally["written"] += 1
                    yield example_record(example, source.extra)

        write_records(target, records())
        skipped = tuple(map(str, source.skipped.values()))
    return Conversion(str(target), count, tally["written"], count - tally["kept"], skipped)
