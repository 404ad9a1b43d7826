"""`rejoinder report scores.jsonl --replies replies.jsonl -o report.html`."""

from __future__ import annotations

import argparse
from array import array
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import (
    add_reading,
    add_unit,
    files_read,
    open_source,
    print_json,
    report_outputs,
    say,
    say_skipped,
    write_report,
)
from rejoinder.errors import CallError

if TYPE_CHECKING:
    from rejoinder.arrays import Ints
    from rejoinder.scoring.table import ScoreTable
    from rejoinder.types import Example


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "scores", help="what `rejoinder score -o` wrote: a .jsonl, .csv or .parquet file, or a folder of parts"
    )
    parser.add_argument("--replies", metavar="FILE", help="the scored replies; without them the report has no texts")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.html",
        default="report.html",
        help="where the report goes (default: report.html)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object about what was written")
    parser.add_argument("--quiet", action="store_true", help="no notes")
    add_reading(parser)
    add_unit(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the report of a score file."""
    from rejoinder.folders.outputs import reserved
    from rejoinder.scoring.parts import PartsFolder
    from rejoinder.scoring.score_file import meta_path, read_scores

    target, scores = Path(arguments.output), Path(arguments.scores)
    arguments.report = arguments.output
    with (
        reserved(*report_outputs(arguments.output), reads=[*files_read(arguments), meta_path(scores)]),
        ExitStack() as stack,
    ):
        folder = PartsFolder(scores)
        in_parts = folder.exists
        table = folder.read() if in_parts else read_scores(scores)
        if arguments.replies:
            table = (_with_parts if in_parts else _with_replies)(table, arguments, stack)
        else:
            say("note: without --replies the report has no texts", arguments)
        write_report(arguments, table, f"Scores of {scores}")
    if arguments.json:
        print_json({"report": str(target), **table.to_dict()})
    else:
        say(f"report: {target}", arguments)
    return 0


@dataclass(frozen=True)
class _Placed:
    """The replies of a table's rows, which are in another order or in parts; some may be missing."""

    place_of: Callable[[int], Any]
    """The place of a row; None where its reply is missing."""
    taken: Callable[[Collection[Any]], Mapping[Any, Example]]
    """The replies at some places."""

    def take(self, rows: Collection[int]) -> dict[int, Example]:
        """The examples of some rows."""
        places = {row: place for row in rows if (place := self.place_of(row)) is not None}
        texts = self.taken(set(places.values()))
        return {row: texts[place] for row, place in places.items()}


def _with_replies(table: ScoreTable, arguments: argparse.Namespace, stack: ExitStack) -> ScoreTable:
    """The table with its replies, paired by context; a CallError where these are not the replies that were scored."""
    import numpy as np

    from rejoinder.data.contexts import GroupFinder
    from rejoinder.data.replay import Replay
    from rejoinder.data.source import survey
    from rejoinder.scoring.score_file import digest_of_scored

    names = (table.system_names[code] for code in table.system_of)
    scored, replies, groups = array("q"), array("q"), GroupFinder()  # hashes of ids and systems: eight bytes per reply
    scored.extend(map(hash, zip(table.ids, names, strict=True)))
    source = stack.enter_context(closing(open_source(arguments.replies, arguments)))
    replay = stack.enter_context(closing(Replay(source)))
    seen = survey(source)
    for example in replay:
        groups.add([example])
        replies.append(hash((example.id, example.system)))
    say_skipped([str(error) for error in source.skipped.values()], arguments)
    places = _places(np.frombuffer(scored, np.int64), np.frombuffer(replies, np.int64))
    if (places < 0).all():
        raise CallError(f"no reply of {arguments.replies} has the id and system of a score in {arguments.scores}")
    if digest_of_scored(Path(arguments.scores)) not in {None, seen.digest}:
        raise _other_replies(arguments)
    if (places >= 0).all():
        table = replace(table, grouping=groups.found().where(places))
    placed: Any = _Placed(lambda row: int(places[row]) if places[row] >= 0 else None, replay.take)
    return replace(table, replies=placed)


def _places(wanted: Ints, keys: Ints) -> Ints:
    """Where each wanted key is among the keys; -1 where it is not."""
    import numpy as np

    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    return np.where(keys[order[place]] == wanted, order[place], -1)


def _with_parts(table: ScoreTable, arguments: argparse.Namespace, stack: ExitStack) -> ScoreTable:
    """The table of parts with its replies, which are read from the parts of the files that have them.

    A CallError where these are not the replies that were scored.
    """
    from rejoinder.data.source import survey
    from rejoinder.data.spans import UNIT, SpanFinder, SpanReader
    from rejoinder.scoring.parts import PartsFolder

    told = PartsFolder(Path(arguments.scores)).complete()
    source = stack.enter_context(closing(open_source(arguments.replies, arguments)))
    spans = SpanFinder(source, min(UNIT, told.rows[0]))
    if survey(source, visitor=spans).digest != told.run.get("digest"):
        raise _other_replies(arguments)
    say_skipped([str(error) for error in source.skipped.values()], arguments)
    found = spans.found(told.rows[0])
    present = [found[number] for number in told.present]
    placed: Any = _Placed(lambda row: row, lambda rows: SpanReader.of(source).take(present, frozenset(rows)))
    return replace(table, replies=placed)


def _other_replies(arguments: argparse.Namespace) -> CallError:
    return CallError(
        f"{arguments.replies} is not what {arguments.scores} was made from: give the file that was scored, "
        "with the same reading options, or score this one again"
    )
