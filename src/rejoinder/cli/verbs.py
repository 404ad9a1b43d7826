"""The verbs: which public function each one calls, and what only the command line has."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.parameters import located
from rejoinder.cli.running import GateChecks, Verb, call_of, run_verb
from rejoinder.errors import CallError
from rejoinder.options import origin_of, unit_given

if TYPE_CHECKING:
    from rejoinder.judge.cost import CostPlan

# What single verbs check and say.


def _add_report_file(parser: argparse.ArgumentParser) -> None:
    """Where the report of a score file goes."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.html",
        default="report.html",
        help="where the report goes (default: report.html)",
    )


def _check_plan(arguments: argparse.Namespace) -> None:
    if arguments.report and (arguments.agreement is not None or arguments.correlation is not None):
        raise CallError("--report is for a comparison of systems, not for --agreement or --correlation")


def _check_agree(arguments: argparse.Namespace) -> None:
    if arguments.aggregation and not arguments.output:
        raise CallError("--aggregation needs -o, the file to write the scores to")


def _check_history(arguments: argparse.Namespace) -> None:
    if arguments.config and not arguments.add:
        raise CallError("--config is for scoring: expected --add, or -m for the metrics to show")


def _add_scatter(arguments: argparse.Namespace) -> None:
    """A report also has a scatter plot of every metric against human ratings."""
    asked = arguments.probes or []
    if arguments.report and len(arguments.judged) == 1 and not {"all", "scatter"} & set(asked):
        arguments.probes = [*asked, "scatter"]


def _finished_fits(arguments: argparse.Namespace) -> str:
    from rejoinder.trusting.experiments import FILE

    if arguments.folder is None:
        return "no fit was kept: with --folder FOLDER, the same command continues from the finished fits"
    kept = Path(arguments.folder, FILE)
    if kept.exists():
        return f"finished fits are in {kept}: run the same command to continue"
    return f"no fit was finished, so none is in {arguments.folder}"


def _unfinished_replies(arguments: argparse.Namespace) -> str:
    from rejoinder.folders.outputs import UnfinishedRows

    unfinished = UnfinishedRows(Path(arguments.output)).rows
    return (
        f"replies so far are in {unfinished}: run the same command with --resume to continue"
        if unfinished.exists()
        else ""
    )


def _add_of_score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="NAME=X",
        help="a check for continuous integration: exit code 3 if a system's mean of this metric is below X, "
        "4 if the metric cannot judge these replies; may be repeated",
    )
    parser.add_argument(
        "--log",
        choices=("mlflow",),
        help="log the means in a run of MLflow, at MLFLOW_TRACKING_URI (pip install mlflow)",
    )


def _check_score(arguments: argparse.Namespace) -> None:
    from importlib.util import find_spec

    if arguments.log and find_spec(arguments.log) is None:
        raise CallError(f"--log {arguments.log} needs a package that is not installed: pip install {arguments.log}")
    if arguments.intervals and arguments.output is None:
        raise CallError("--intervals needs -o: the bounds are written next to the scores")


def _score_costs(arguments: argparse.Namespace, origins: Sequence[list[str]]) -> CostPlan:
    """What the judges among the metrics would be sent for the replies of all files."""
    metrics = located("scoring.score:metrics_given")(arguments.metric, arguments.config)
    fields = located("data.records:fields_given")(arguments.field, arguments.separator)
    unit = unit_given(arguments.unit, arguments.every_turn) or "reply"
    costs: CostPlan = located("scoring.score:judge_costs")(
        *map(origin_of, origins), metrics=metrics, fields=fields, on_error=arguments.on_error, unit=unit
    )
    return costs


def _add_of_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-if",
        choices=("worse", "not-better"),
        help="a check for continuous integration: exit code 3 if the second system is significantly worse than the "
        "first, or is not significantly better; with --margin, `worse` fails unless the second system is shown to be "
        "no worse than the first by the margin or more; exit code 4 if the metric cannot judge these replies",
    )
    parser.add_argument(
        "--fail-if-more",
        action="append",
        default=[],
        metavar="FAULT[:POINTS]",
        help="a check for continuous integration: exit code 3 if the second system has this fault significantly more "
        "often than the first, or with a margin in percentage points (cut-off:2), unless it is shown not to have it "
        "more often by that or more; exit code 4 if the fault cannot be judged; may be repeated",
    )
    parser.add_argument("--pairwise", metavar="JUDGE", help="the same as `rejoinder prefer --judge JUDGE`")


_FOR_SCORES = (
    *("metric", "config", "labels", "dimension", "predictor", "primary", "margin", "scores", "baseline"),
    *("cluster", "by", "fail_if", "fail_if_more", "faults", "report", "details"),
)
"""Options of `compare` that pairs have no use for: an option that is ignored would look as if it had worked."""


def _asked_in_pairs(arguments: argparse.Namespace) -> int | None:
    """`compare --pairwise JUDGE` is `prefer --judge JUDGE`."""
    if arguments.pairwise is None:
        return None
    for option in _FOR_SCORES:
        if getattr(arguments, option, None):
            name = "fault" if option == "faults" else option.replace("_", "-")
            raise CallError(f"--{name} is for scores of single replies: expected it without --pairwise")
    same = vars(arguments) | {"preferences": arguments.replies, "judge": arguments.pairwise, "model": "davidson"}
    return run_verb(VERB_GROUPS["Ask people"]["prefer"], argparse.Namespace(**same))


def _pair_costs(arguments: argparse.Namespace) -> CostPlan:
    positional, named = call_of("comparing.pairwise:prefer", arguments)
    if "judge" not in named:
        raise CallError("--dry-run is for a judge: expected --judge")
    reading = {
        name: value for name, value in named.items() if name in {"judge", "pair_by", "unit", "fields", "on_error"}
    }
    costs: CostPlan = located("comparing.pairwise:pair_costs")(*positional, **reading)
    return costs


def _add_of_prefer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-if",
        choices=("worse", "not-better"),
        help="a check for continuous integration: exit code 3 if --baseline is significantly preferred to the other "
        "system, or if the other one is not significantly preferred to it",
    )
    parser.add_argument("--baseline", metavar="NAME", help="the system that --fail-if compares the other one with")


def _check_prefer(arguments: argparse.Namespace) -> None:
    if (arguments.fail_if is None) != (arguments.baseline is None):
        raise CallError("--fail-if needs --baseline, the name of a system, and the other way round")


def _name_faults(arguments: argparse.Namespace) -> None:
    """A fault that is checked is looked for."""
    if arguments.fail_if_more:
        names = [located("comparing.fault_shares:fault_limit")(spec)[0] for spec in arguments.fail_if_more]
        for name in names:
            located("faulting.fault:card")(name)  # an unknown name is an error before anything is scored
        if not (arguments.baseline or arguments.scores):
            arguments.faults = [*(arguments.faults or []), *names]


def _checks_of_compare(result: Any, arguments: argparse.Namespace) -> GateChecks:
    """What --fail-if and --fail-if-more say of a comparison."""
    gate = _gate(result, arguments)
    found = result.check_faults(*arguments.fail_if_more)
    if not found:
        return gate
    return GateChecks(
        [*gate.failed, *(one.reason for one in found if one.decided and not one.passed)],
        [*gate.undecided, *(one.reason for one in found if not one.decided)],
        gate.shown | {"fault_checks": [one.to_dict() for one in found]},
    )


def _gate(result: Any, arguments: argparse.Namespace) -> GateChecks:
    """What --fail-if says of a comparison or of preferences."""
    if arguments.fail_if is None:
        return GateChecks()
    named = {"baseline": arguments.baseline} if arguments.verb == "prefer" else {}
    checked = result.gate(arguments.fail_if, **named)
    reasons = [] if checked.passed else [checked.reason]
    shown = {"check": checked.to_dict()}
    return GateChecks(reasons, shown=shown) if checked.decided else GateChecks(undecided=reasons, shown=shown)


VERB_GROUPS: dict[str, dict[str, Verb]] = {
    "Judge replies": {
        "demo": Verb(
            "compare two versions of an assistant, or (demo metrics) check which metrics can be trusted", module="demo"
        ),
        "check": Verb(
            "show how a file of replies is read, what it contains and what is missing",
            "scoring.check:check",
            tells_readings=False,  # the result contains them
        ),
        "faults": Verb(
            "name what is wrong with replies, show where, and count it",
            "faulting.found:faults",
            forms="latex details report texts",
        ),
        "score": Verb(
            "score replies with metrics and evaluators",
            "scoring.score:score",
            forms="report texts",
            extra=_add_of_score,
            start=_check_score,
            instead=lambda arguments: None if arguments.dry_run else located("cli.scoring:score_verb")(arguments),
            costs=lambda arguments: _score_costs(arguments, [arguments.replies]),
        ),
        "compare": Verb(
            "test whether one system's replies are better than another's",
            "comparing.compare:compare",
            forms="latex details report texts",
            extra=_add_of_compare,
            instead=_asked_in_pairs,
            costs=lambda arguments: _score_costs(arguments, [[each] for each in arguments.replies]),
            title=lambda arguments: ", ".join(arguments.replies or arguments.scores),
            start=_name_faults,
            checks=_checks_of_compare,
        ),
        "history": Verb(
            "record the scores of each release, and show how they change from release to release",
            "comparing.history:history",
            forms="report",
            told="recorded {name}: {folder}/{name}.jsonl",
            start=_check_history,
            title=lambda arguments: f"Releases in {arguments.folder}",
        ),
        "trust": Verb(
            "measure which metrics agree with people, on judged replies",
            "trusting.trust:trust",
            forms="latex report",
            start=_add_scatter,
        ),
        "metrics": Verb("list metrics, evaluators and reply models, or explain one of them", "scoring.cards:describe"),
        "report": Verb(
            "turn a file of scores into report.html",
            "scoring.reported:read_scores",
            extra=_add_report_file,
            instead=lambda arguments: int(located("cli.scoring:report")(arguments)),
        ),
        "convert": Verb(
            "write chat logs and exports of other tools in rejoinder's own format; sample them, drop duplicates",
            "data.convert:convert",
        ),
    },
    "Ask people": {
        "plan": Verb(
            "say how many contexts, raters and labels an evaluation needs, before they are collected",
            "people.plan:plan",
            forms="latex report",
            start=_check_plan,
        ),
        "sample": Verb(
            "choose the replies that people should label, each with a known probability",
            "people.sample:sample",
            told="replies: {output} (once they are rated: rejoinder compare ... --labels {output})",
        ),
        "annotate": Verb("collect ratings of replies in a browser", module="annotate"),
        "agree": Verb(
            "measure how well raters agree, and turn their ratings into one score per reply",
            "people.agreement:agree",
            told="judged replies: {output} (rejoinder trust {output})",
            start=_check_agree,
        ),
        "prefer": Verb(
            "rank systems by pairwise preferences: which of two replies is better",
            "comparing.pairwise:prefer",
            forms="latex",
            extra=_add_of_prefer,
            start=_check_prefer,
            costs=_pair_costs,
            checks=_gate,
        ),
    },
    "Train": {
        "train": Verb("train an evaluator, a sentence encoder or a reply model", module="train"),
        "calibrate": Verb(
            "put a trained evaluator's scores on the human scale, with an interval for each reply",
            "training.calibrate:calibrate",
            told="model: {output} (rejoinder score REPLIES -m {output} --intervals -o scores.jsonl)",
        ),
        "distil": Verb(
            "train a small evaluator to predict the scores of larger ones",
            "training.distil:distil",
            instead=lambda arguments: int(located("cli.train:distil_verb")(arguments)),
            prints=False,
        ),
        "generate": Verb(
            "reply to contexts with one trained reply model, or with a pool of them for judging",
            "replies.pool:generate",
            told="replies: {output}",
            kept=_unfinished_replies,
            was_finished=lambda replies: bool(replies.summary.was_finished),
        ),
        "experiment": Verb(
            "train an evaluator many times, to test it on new contexts, systems and corpora",
            "trusting.experiment:experiment",
            forms="latex report",
            kept=_finished_fits,
        ),
        "reproduce": Verb(
            "print the command that makes a table or figure of the papers again, in a checkout", module="reproduce"
        ),
    },
    "Run": {
        "serve": Verb("score replies over HTTP", "service.serve:serve", prints=False),
        "setup": Verb(
            "set up an evaluator that needs models which do not come with the package",
            "training.train:setup",
            prints=False,
            told="model: {output} (rejoinder score REPLIES -m {output})",
        ),
        "doctor": Verb(
            "show what is installed, which extras are missing, and whether the evaluators in the package work",
            "scoring.doctor:doctor",
            checks=lambda found, _: GateChecks(found.problems),
        ),
        "completion": Verb("print a script that lets the shell complete verbs and options", module="completion"),
    },
}
"""Heading -> verb, in the order of `rejoinder --help`."""
