"""`rejoinder calibrate model/ --judged FILE -o model/`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import add_reading, add_scale, add_seed, field_map, print_json, say

if TYPE_CHECKING:
    from rejoinder.evaluators.base import Evaluator
    from rejoinder.evaluators.calibration import Assessment
    from rejoinder.meta.experiments.partition import LabelledSet
    from rejoinder.stats.intervals import Interval
    from rejoinder.types import Scores


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("model", help="the folder of a trained evaluator")
    parser.add_argument("--judged", required=True, metavar="FILE", help="replies with human scores, not trained on")
    parser.add_argument(
        "--dimension", metavar="NAME", help="which human scores (default: the only one, or the overall)"
    )
    add_scale(parser)
    parser.add_argument(
        "--level", type=_share, default=0.9, help="how often an interval shall hold the human score (default: .9)"
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FOLDER",
        help="where the calibrated model goes; may be the same folder",
    )
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_seed(parser)
    parser.add_argument("--quiet", action="store_true", help="no remarks")


def _share(text: str) -> float:
    """A number between .5 and .99, or argparse's complaint."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.5 <= value <= 0.99:
        raise argparse.ArgumentTypeError(f"must be a number from 0.5 to 0.99, not {text!r}")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Fit a calibration, say what it is worth, save the evaluator with it."""
    from rejoinder.evaluators.calibration import Calibration, assess
    from rejoinder.evaluators.calibration_folder import check_calibrated_target, write_calibrated
    from rejoinder.registry import load_evaluator

    model, output = Path(arguments.model), Path(arguments.output)
    check_calibrated_target(model, output)
    evaluator: Evaluator = load_evaluator(model, {}).with_calibration(None)
    judged = _usable(evaluator, arguments)
    scale = tuple(arguments.scale) if arguments.scale else _observed_scale(judged)
    raw = _scores(evaluator, judged)
    chosen: dict[str, Any] = {"scale": scale, "level": arguments.level, "seed": arguments.seed}
    calibration = Calibration.fit(raw, judged.human, judged.groups, **chosen)
    found = _findings(raw, calibration.human(raw), judged, assess(raw, judged.human, judged.groups, **chosen))
    write_calibrated(model, output, evaluator.with_calibration(calibration))
    told = {
        "dimension": judged.dimension,
        "scale": list(scale),
        "level": arguments.level,
        "replies": calibration.replies,
        "contexts": calibration.contexts,
        **found,
    }
    if arguments.json:
        print_json(told)
    else:
        print(_shown(told))
    say(f"model: {output} (rejoinder score REPLIES -m {output} --intervals -o scores.jsonl)", arguments)
    return 0


def _usable(evaluator: Evaluator, arguments: argparse.Namespace) -> LabelledSet:
    """The judged replies, without those of the split `test` and those whose context the evaluator has learned from."""
    import numpy as np

    from rejoinder.errors import CallError
    from rejoinder.meta.experiments.partition import LabelledSet
    from rejoinder.meta.judged import read_judged

    judged = read_judged(arguments.judged, fields=field_map(arguments), on_error=arguments.on_error)
    tested = np.array([split == "test" for split in judged.splits], np.bool_)
    learned = evaluator.trained_contexts.holds(judged.examples) & ~tested
    for left_out, why in ((tested, "of the split test"), (learned, "whose context the evaluator was trained on")):
        if left_out.any():
            say(f"note: {int(left_out.sum())} of {len(judged)} replies are left out: {why}", arguments)
    kept = np.flatnonzero(~tested & ~learned)
    if not len(kept):
        raise CallError(f"{arguments.judged}: no reply is left to calibrate on: expected some that were not trained on")
    return LabelledSet.of(judged.take(kept), arguments.dimension)


def _observed_scale(judged: LabelledSet) -> tuple[float, float]:
    import numpy as np

    from rejoinder.errors import CallError

    ratings = judged.judged.ratings[judged.dimension]
    if np.isnan(ratings).all():
        raise CallError(f"{judged.judged.name}: nobody rated {judged.dimension}")
    return float(np.nanmin(ratings)), float(np.nanmax(ratings))


def _scores(evaluator: Evaluator, judged: LabelledSet) -> Scores:
    """The evaluator's own scores; an empty reply, whose score is a rule's, has none."""
    import warnings

    import numpy as np

    from rejoinder.metrics.base import ScoreWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)
        scores = evaluator.score(judged.judged.examples)
    blank = [not example.response.strip() for example in judged.judged.examples]
    return np.where(blank, np.nan, scores)


def _findings(raw: Scores, calibrated: Scores, judged: LabelledSet, held_out: Assessment) -> dict[str, Any]:
    """Correlations before and after; what intervals cover."""
    import numpy as np

    from rejoinder.stats.bootstrap_correlation import bootstrap_correlations

    matrix = np.stack([raw, held_out.scores, calibrated], axis=1)
    found = bootstrap_correlations(matrix, held_out.human, judged.groups)
    return {
        # Folds have curves of their own, which mixes ranks between them. The curve that is saved keeps them all.
        "pearson": {"before": _plain(found["pearson"][0]), "after": _plain(found["pearson"][1])},
        "spearman": {"before": _plain(found["spearman"][0]), "after": _plain(found["spearman"][2])},
        "coverage": _plain(held_out.coverage),
        "width": held_out.width,
        "error": held_out.error,
    }


def _plain(interval: Interval) -> dict[str, float | None]:
    from rejoinder.scoring.table import json_ready

    return json_ready({"estimate": interval.estimate, "low": interval.low, "high": interval.high})


def _shown(told: dict[str, Any]) -> str:
    from rejoinder.text.grid import grid

    lowest, highest = told["scale"]
    rows = [[kind, _said(told[kind]["before"]), _said(told[kind]["after"])] for kind in ("pearson", "spearman")]
    coverage = told["coverage"]
    bounds = "" if coverage["low"] is None else f" [{coverage['low']:.1%}, {coverage['high']:.1%}]"
    return "\n".join(
        [
            f"{told['dimension']}, {lowest:g} to {highest:g}: {told['replies']} replies, {told['contexts']} contexts",
            grid(["with people", "before", "after"], rows),
            f"{told['level']:.0%} intervals hold {coverage['estimate']:.1%}{bounds} of the human scores of contexts "
            "that they were made without;",
            f"on 1..5 they are {told['width']:.2f} long, and scores {told['error']:.2f} off, on average",
        ]
    )


def _said(interval: dict[str, float | None]) -> str:
    from rejoinder.text.grid import number

    estimate, low, high = (float("nan") if value is None else value for value in interval.values())
    return f"{number(estimate)} [{number(low)}, {number(high)}]"
