"""Calibration of an evaluator's scores to the human scale, and its quality: docs/guide/calibration.md."""

from __future__ import annotations

import os
import shutil
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder.data.judged import read_judged
from rejoinder.data.records import Fields
from rejoinder.errors import LONGEST_SHOWN, CallError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.calibration import Calibration, assess
from rejoinder.folders.outputs import named_files, output_path, paths_of
from rejoinder.folders.saved import replacing_folder, write_config
from rejoinder.folders.schema import read_config
from rejoinder.metrics.base import ScoreWarning
from rejoinder.options import (
    FIELDS_OPTION,
    LEVEL,
    OnError,
    Option,
    Quiet,
    Scale,
    Seed,
    number,
    of_type,
    path,
    text,
    verb,
)
from rejoinder.progress import bar_inside
from rejoinder.registry import SHIPPED_FOLDERS, load_evaluator, shipped_folder
from rejoinder.scoring.table import json_ready
from rejoinder.show.document import Column, Document, Result, Say, Table
from rejoinder.show.text import one_line
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.stats.intervals import Interval
from rejoinder.training.train import reserved_folder
from rejoinder.trusting.experiments import LabelledSet
from rejoinder.types import Scores


@dataclass(frozen=True, repr=False)
class Calibrated(Result):
    """A calibrated evaluator, and how its scores agree with people before and after."""

    evaluator: Evaluator
    """The calibrated one."""
    dimension: str
    calibration: Calibration
    correlations: dict[str, tuple[Interval, Interval]]
    """`pearson` and `spearman` -> with ratings, before and after."""
    coverage: Interval
    """The share of ratings that lie in their interval, for contexts that the calibration was made without."""
    width: float
    """The mean length of the intervals."""
    error: float
    """The mean distance between score and rating."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the evaluator, as plain values."""
        made = self.calibration
        values = {
            "dimension": self.dimension,
            "scale": list(made.scale),
            "level": made.level,
            "replies": made.replies,
            "contexts": made.contexts,
            **{
                kind: {"before": asdict(before), "after": asdict(after)}
                for kind, (before, after) in self.correlations.items()
            },
            "coverage": asdict(self.coverage),
            "width": self.width,
            "error": self.error,
        }
        return json_ready(values)

    def document(self) -> Document:
        """The correlations with people before and after, and what the intervals contain."""
        made, coverage = self.calibration, self.coverage
        name, (lowest, highest) = one_line(self.dimension, LONGEST_SHOWN), made.scale
        title = f"{name}, {lowest:g} to {highest:g}: {made.replies} replies, {made.contexts} contexts"
        rows = [[kind, *both] for kind, both in self.correlations.items()]
        columns = ["correlation with people", Column("before", digits=3), Column("after", digits=3)]
        bounds = "" if np.isnan(coverage.low) else f" [{coverage.low:.1%}, {coverage.high:.1%}]"
        said = [
            f"{made.level:.0%} intervals contain {coverage.estimate:.1%}{bounds} of the ratings in "
            "cross-validation over contexts;",
            f"on the scale from 1 to 5, their mean length is {self.width:.2f}, and the mean error of the scores "
            f"{self.error:.2f}",
        ]
        table = Table(columns, rows, title=title, fit=False)
        return Document(f"Calibration: {title}", [table, Say(said, lines=True, fit=False, tight=True)])


@verb
def calibrate(
    evaluator: Annotated[
        str | Path | Evaluator,
        Option(
            "the folder of a trained evaluator, or the name of a bundled one",
            of_type(str, Path, Evaluator, called="an evaluator, or the name or folder of one"),
            metavar="model",
        ),
    ],
    judged: Annotated[
        Any, Option("replies with ratings, not used to train the evaluator", name="--judged", metavar="FILE")
    ],
    *,
    dimension: Annotated[
        str | None,
        Option("which ratings to use (default: the only ones, or the overall ones)", text, metavar="NAME"),
    ] = None,
    scale: Scale = None,
    level: Annotated[
        float,
        Option("the share of intervals that should contain the rating, from 0.5 to 0.99", number(0.5, 0.99)),
    ] = LEVEL,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    output: Annotated[
        str | Path | None,
        Option(
            "folder to save the calibrated model in; may be the model's own",
            path,
            short="-o",
            metavar="FOLDER",
            required=True,
        ),
    ] = None,
    quiet: Quiet = True,
) -> Calibrated:
    """Fit a calibration to replies with ratings, and save the calibrated evaluator in `output`.

    The evaluator is a fitted one, the folder of one, or the name of one that comes with the package. `judged` is a
    file, a data frame or a list of records; replies of the split `test`, and those whose context the evaluator was
    trained on, are left out. `scale` is the lowest and the highest score that people could give (by default, that they
    gave), and `level` the share of intervals that should contain the rating. `output` may be the evaluator's
    own folder.
    """
    target = None if output is None else output_path(output)
    folder = None if isinstance(evaluator, Evaluator) else _folder_of(evaluator)
    is_own_folder = folder is not None and target is not None and os.path.exists(target) and target.samefile(folder)
    # A calibrated folder keeps all files of the model's own folder, so that these may be read and replaced.
    reads = [] if is_own_folder else [*paths_of(judged), *named_files(paths_of(evaluator))]
    with reserved_folder(target, reads=reads):
        given: Any = evaluator if folder is None else load_evaluator(folder, {})
        raw_evaluator: Evaluator = given.with_calibration(None)
        labelled, notes = _usable(raw_evaluator, judged, dimension, fields, on_error)
        lowest, highest = map(float, scale or _observed_scale(labelled))
        chosen: dict[str, Any] = {"scale": (lowest, highest), "level": level, "seed": seed}
        raw = _scores(raw_evaluator, labelled, quiet=quiet)
        calibration = Calibration.fit(raw, labelled.human, labelled.groups, **chosen)
        held_out = assess(raw, labelled.human, labelled.groups, **chosen)
        calibrated = raw_evaluator.with_calibration(calibration)
        if target is not None:
            if folder is None:
                calibrated.save(target)
            else:
                write_calibrated(folder, target, calibrated)
    columns = np.stack([raw, held_out.scores, calibration.human(raw)], axis=1)
    found = bootstrap_correlations(columns, held_out.human, labelled.groups)
    pearson, spearman = found["pearson"], found["spearman"]
    return Calibrated(
        calibrated,
        labelled.dimension,
        calibration,
        # Each fold has a curve of its own, which mixes ranks between folds. The curve that is saved keeps all ranks.
        {"pearson": (pearson[0], pearson[1]), "spearman": (spearman[0], spearman[2])},
        held_out.coverage,
        held_out.width,
        held_out.error,
        notes,
    )


def _folder_of(evaluator: str | Path) -> Path:
    return shipped_folder(str(evaluator)) if str(evaluator) in SHIPPED_FOLDERS else Path(evaluator)


def _usable(
    evaluator: Evaluator, origin: Any, dimension: str | None, fields: Fields | None, on_error: OnError
) -> tuple[LabelledSet, tuple[str, ...]]:
    """The judged replies without those of the split `test` and those whose context the evaluator was trained on, and
    how many these were."""
    judged = read_judged(origin, fields=fields, on_error=on_error)
    tested = judged.in_split("test")
    learned = evaluator.trained_contexts.holds(judged.examples) & ~tested
    reasons = ((tested, "they are of the split test"), (learned, "the evaluator was trained on their context"))
    notes = tuple(
        f"{int(rows.sum())} of {len(judged)} replies are left out: {why}" for rows, why in reasons if rows.any()
    )
    kept = np.flatnonzero(~tested & ~learned)
    if not len(kept):
        raise CallError(f"{judged.name}: no reply is left to calibrate on: expected some that were not trained on")
    return LabelledSet.of(judged.take(kept), dimension), notes


def _observed_scale(labelled: LabelledSet) -> tuple[float, float]:
    ratings = labelled.judged.ratings[labelled.dimension]
    if np.isnan(ratings).all():
        raise CallError(f"{labelled.judged.name}: nobody rated {labelled.dimension}")
    return float(np.nanmin(ratings)), float(np.nanmax(ratings))


def _scores(evaluator: Evaluator, labelled: LabelledSet, *, quiet: bool) -> Scores:
    """The evaluator's own scores; NaN for an empty reply, whose score is set by a rule."""
    examples = labelled.judged.examples
    with (
        warnings.catch_warnings(),
        bar_inside("scoring", len(examples), "replies", quiet=quiet, faster=("fewer judged replies",)),
    ):
        warnings.simplefilter("ignore", ScoreWarning)
        scores = evaluator.score(examples)
    return np.where([not example.response.strip() for example in examples], np.nan, scores)


# A saved evaluator with a calibration added: every other file of its folder is copied unchanged.


def write_calibrated(model: Path, output: Path, calibrated: Evaluator) -> None:
    """Copy the evaluator's folder, and put the calibration into its config.json.

    The loaded evaluator is not saved anew: a folder may hold its weights in several precisions, of which only one is
    loaded.
    """
    calibration = calibrated.fitted.calibration
    if calibration is None:
        raise ValueError("expected an evaluator that was calibrated")
    with replacing_folder(output) as fresh:
        shutil.copytree(model, fresh, dirs_exist_ok=True)
        config = read_config(fresh)
        config |= {"signature": calibrated.signature, "calibration": calibration.to_dict()}
        write_config(fresh, config)
