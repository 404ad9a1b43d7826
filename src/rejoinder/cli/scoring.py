"""`score` and `report`: what these verbs show besides the table of scores."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from rejoinder.cli.output import (
    check_failed,
    files_read,
    print_json,
    put,
    report_outputs,
    say,
    say_skipped,
    terminal_width,
)
from rejoinder.cli.running import call_of, called, options_named, page
from rejoinder.options import described

if TYPE_CHECKING:
    from rejoinder.scoring.table import ScoreTable


def score_verb(arguments: argparse.Namespace) -> int:
    """Score replies as `rejoinder.score` does, and show what the run is made from as well."""
    from pathlib import Path

    from rejoinder.data.records import FieldMap
    from rejoinder.folders.outputs import write_text
    from rejoinder.options import bound_to
    from rejoinder.scoring import score as scoring
    from rejoinder.scoring.advice import meaning
    from rejoinder.scoring.table import check_lowest_means, lowest_means
    from rejoinder.show.text import wrapped

    lowest = lowest_means(arguments.fail_under)
    with options_named(described("scoring.score:score"), arguments):
        bound = bound_to(scoring.score, *call_of("scoring.score:score", arguments))
    bound.apply_defaults()
    given = dict(bound.arguments)
    with scoring.prepared(
        given.pop("replies"),
        scoring.choose_metrics(given.pop("metrics")),
        fields=replace(FieldMap.given(given.pop("fields")), by=tuple(given.pop("by"))),
        **given,
        reads=files_read(arguments) if arguments.output or arguments.report else (),
        beside=report_outputs(arguments.report),
        say=lambda message: say(message, arguments),
        option="--resume",
        digest=bool(arguments.output or arguments.json),
    ) as ready:
        if lowest:
            check_lowest_means(lowest, {label: one.higher_is_better for label, one in ready.run.metrics.items()})
        if ready.is_finished:
            ready.check_finished()
            say(f"{arguments.output} is finished: there is nothing left to do", arguments)
            if not (arguments.report or arguments.log or arguments.fail_under or arguments.json):
                return 0
        if arguments.report and (replies := ready.run.replies) is not None:
            replies.copies = True  # cheaper than to parse the replies once more for the report
        table = ready.table()
        if arguments.report:
            write_text(Path(arguments.report), page(table, arguments, f"Replies of {ready.source.name}"))
    if arguments.log:
        from rejoinder.adapters.mlflow import log_scores

        log_scores(table)
    failed, undecided = (table.failures(lowest), table.undecided(lowest)) if lowest else ([], [])
    skipped, is_new = [*map(str, ready.source.skipped.values())], not ready.is_finished
    if arguments.json:
        checks = {"failed_checks": failed, "undecided_checks": undecided} if lowest else {}
        print_json({**ready.run.metadata(table), "skipped": skipped, **checks})
    elif is_new:
        put(table.text(terminal_width()))
        for sentence in meaning(table):
            put(wrapped(sentence, terminal_width()))
    for note in table.notes:
        say(f"note: {note}", arguments)
    say_skipped(skipped, arguments)
    for what, path in (("scores", arguments.output if is_new else None), ("report", arguments.report)):
        if path:
            say(f"{what}: {path}", arguments)
    return check_failed(failed, undecided)


def report(arguments: argparse.Namespace) -> int:
    """Write the report of a score file."""
    from pathlib import Path

    from rejoinder.folders.outputs import reserved, write_text
    from rejoinder.scoring.score_file import metadata_path

    target, scores = Path(arguments.output), Path(arguments.scores)
    with reserved(*report_outputs(arguments.output), reads=[*files_read(arguments), metadata_path(scores)]):
        table: ScoreTable = called("scoring.reported:read_scores", arguments)
        if table.replies is None:
            say("note: without --replies the report has no texts", arguments)
        write_text(target, table.page(title=f"Scores of {scores}"))
    if arguments.json:
        print_json({"report": str(target), **table.to_dict()})
    else:
        say(f"report: {target}", arguments)
    return 0
