"""The verb: a score file and its replies as a table again, which can be reported."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Collection
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder.arrays import Ints
from rejoinder.data.contexts import GroupFinder
from rejoinder.data.records import Fields
from rejoinder.data.replay import Replay, TakenReplies
from rejoinder.data.source import Source, survey
from rejoinder.data.spans import UNIT, SpanFinder, SpanReader
from rejoinder.errors import CallError
from rejoinder.options import FIELDS_OPTION, OnError, Option, UnitOption, path, verb
from rejoinder.scoring import score_file
from rejoinder.scoring.parts import PartsFolder
from rejoinder.scoring.table import ScoreTable
from rejoinder.types import Example


@verb
def read_scores(
    scores: Annotated[
        str | Path,
        Option("what `rejoinder score -o` wrote: a .jsonl, .csv or .parquet file, or a folder of parts", path),
    ],
    *,
    replies: Annotated[Any, Option("the scored replies; without them the report has no texts", metavar="FILE")] = None,
    unit: UnitOption = "reply",
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
) -> ScoreTable:
    """The table of scores that were written to a file, or to a folder of parts.

    With its `replies`, replies to one context are known as such, and a report shows texts; a CallError where these are
    not the replies that were scored.
    """
    place = Path(scores)
    folder = PartsFolder(place)
    table = folder.read() if folder.exists else score_file.read_score_file(place)
    if replies is None:
        return table
    source = Source(replies, fields, on_error, unit=unit)
    read = _with_parts if folder.exists else _with_replies
    try:
        found = read(table, place, source)
    except BaseException:
        source.close()
        raise
    skipped = list(source.skipped.values())
    if skipped:
        warnings.warn(f"left out {len(skipped)} unreadable examples; the first: {skipped[0]}", stacklevel=3)
    return found


def _with_replies(table: ScoreTable, scores: Path, source: Source) -> ScoreTable:
    """The table with its replies paired by context, and their texts."""
    names = (table.system_names[code] for code in table.system_of)
    scored, found, groups = array("q"), array("q"), GroupFinder()  # hashes of ids and systems: eight bytes per reply
    scored.extend(map(hash, zip(table.ids, names, strict=True)))
    with closing(source):
        replay, seen = Replay(source), survey(source)
        for example in replay:
            groups.add([example])
            found.append(hash((example.id, example.system)))
    places = _places(np.frombuffer(scored, np.int64), np.frombuffer(found, np.int64))
    if (places < 0).all():
        raise CallError(f"no reply of {source.name} has the id and system of a score in {scores}")
    if score_file.digest_of_scored(scores) not in {None, seen.digest}:
        raise _other_replies(source, scores)

    def taken(rows: Collection[int]) -> dict[int, Example]:
        wanted = {row: int(places[row]) for row in rows if places[row] >= 0}
        texts = replay.take(wanted.values())
        return {row: texts[place] for row, place in wanted.items()}

    grouping = groups.found().where(places) if (places >= 0).all() else table.grouping
    return replace(table, grouping=grouping, replies=TakenReplies(taken, source.name))


def _places(wanted: Ints, keys: Ints) -> Ints:
    """Where each wanted key is among the keys; -1 where it is not."""
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    return np.where(keys[order[place]] == wanted, order[place], -1)


def _with_parts(table: ScoreTable, scores: Path, source: Source) -> ScoreTable:
    """The table of scores in parts, with texts that are read from the parts of the replies that have them."""
    told = PartsFolder(scores).complete()
    spans = SpanFinder(source, min(UNIT, told.rows[0]))
    if survey(source, visitor=spans).digest != told.run.get("digest"):
        raise _other_replies(source, scores)
    found = spans.found(told.rows[0])
    present = [found[number] for number in told.present]
    reader = SpanReader.of(source)
    return replace(table, replies=TakenReplies(lambda rows: reader.take(present, rows), source.name))


def _other_replies(source: Source, scores: Path) -> CallError:
    return CallError(
        f"{source.name} is not what {scores} was made from: give the file that was scored, with the same reading "
        "options, or score this one again"
    )
