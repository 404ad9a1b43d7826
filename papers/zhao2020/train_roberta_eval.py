"""Trains RoBERTa-eval with the settings of Zhao et al. 2020, in two stages, and records its learning curves.

    python -m papers.zhao2020.train_roberta_eval rank ENCODER --dialogues dailydialog.train.jsonl.gz -o FOLDER
    python -m papers.zhao2020.train_roberta_eval label FOLDER/rank-500 --judged zhao2020_dailydialog.jsonl.gz -o FOLDER

`rank` is the first stage: true replies above random ones, without labels. It is measured every 500 steps on held-out
dialogues and on rated replies of the training part, and the model is saved each time. `label` is the second stage, on
the training part of a judged set, from any of these models or from a pretrained encoder; the test part is read once,
when training has ended. Both may be stopped at any time (Ctrl-C): the same command continues. What was measured is in
FOLDER/curve.jsonl; `python -m papers roberta-eval` makes a page of it, if FOLDER is roberta-eval/NAME in the folder
of its models.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from papers.replies import OVERALL
from papers.roberta_eval import CURVE, EPOCH
from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.judged import JudgedSet, read_judged
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.model import PRESETS
from rejoinder.evaluators.encoder.stages import EncoderRankingStage, EncoderRegressionStage
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.encoder.training import ranking_stage, regression_stage, start_model
from rejoinder.learning.checkpoints import Checkpoints
from rejoinder.learning.data import TrainingData
from rejoinder.learning.loop import StageOutcome, run_stage
from rejoinder.learning.run import PRECISIONS, StageValidation, TrainingRun, checkpoints_in
from rejoinder.learning.schedules import Schedule
from rejoinder.stats.correlation import pearson, spearman
from rejoinder.types import Scores

WATCHED = 200
"""Rated replies of each set's training part on which the first stage is measured."""
HELD_OUT = 250
"""Held-out places on which it is measured: half as many as the preset has, to save time."""
PAPER = PRESETS["paper"]


class Clock:
    """Processor minutes of a stage at each of its validations, over all interrupted runs."""

    def __init__(self, checkpoints: Path) -> None:
        self.file = checkpoints / "minutes.json"
        saved = checkpoints_in(checkpoints)
        step = int(saved[-1].name.rpartition("-")[2]) if saved else 0
        before = json.loads(self.file.read_text(encoding="utf-8")) if self.file.is_file() else {}
        self.before, self.began = before.get(str(step), 0.0), process_time()

    def read(self, step: int) -> dict[str, float]:
        """The step, and the minutes since training began."""
        minutes = self.before + (process_time() - self.began) / 60
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({str(step): minutes}), encoding="utf-8")
        return {"steps": step, "minutes": round(minutes, 1)}


def rank(arguments: argparse.Namespace) -> None:
    """Train the first stage up to a number of steps."""
    data = TrainingData.of(dialogue for path in arguments.dialogues for dialogue in DialogueSource(path))
    evaluator = Encoder(encoder=arguments.encoder, preset="paper")
    model = start_model(evaluator, data.seed)
    checkpoints = arguments.output / "checkpoints-rank"
    clock = Clock(checkpoints)
    watched = {_name(path): _sample(_part(path, "train"), WATCHED) for path in arguments.judged}

    def record(found: StageValidation) -> None:
        row: dict[str, Any] = {"stage": "rank", **clock.read(found.step), "ranking accuracy": found.figure}
        evaluator.with_model(model, data)
        for name, judged in watched.items():
            row[name] = _agreement(evaluator.score(judged.examples), judged)
        _record(arguments.output, row)
        _save(evaluator, arguments.output / f"rank-{found.step}")

    stage = ranking_stage(model, PAPER, data)
    stage = replace(stage, held_out=stage.held_out[:HELD_OUT])
    # In the first epoch this is the preset: its learning rate falls at the earliest after one.
    schedule = replace(PAPER.ranking, decay="constant", validate_every=arguments.every, patience=arguments.steps)
    _train(model, stage, schedule, arguments, checkpoints, record)


def label(arguments: argparse.Namespace) -> None:
    """Train the second stage to its end, and test it."""
    name = "-".join([arguments.start.name, _name(arguments.judged), str(arguments.labels or "all")])
    judged = read_judged(arguments.judged).without_outliers()
    learned = judged.part("train")
    if arguments.labels:
        learned = _sample(learned, arguments.labels)
    valid = judged.part("valid")
    data = TrainingData.of((), [*learned.judged_examples(), *valid.judged_examples()])
    evaluator = Encoder(encoder=str(arguments.start), preset="paper", dimension=OVERALL)
    model = start_model(evaluator, data.seed)
    stage = regression_stage(model, evaluator, data)
    checkpoints = arguments.output / f"checkpoints-{name}"
    clock = Clock(checkpoints)
    about = {"start": arguments.start.name, "judged": _name(arguments.judged), "labels": len(learned)}

    def record(found: StageValidation) -> None:
        ended = found.finished and found.step != arguments.steps  # by the rule of the settings
        measured = {"validation": found.figure, "validation loss": found.loss, "ended": ended}
        _record(arguments.output, {"stage": "label", **about, **clock.read(found.step), **measured})

    outcome = _train(model, stage, PAPER.regression, arguments, checkpoints, record)
    evaluator.with_model(model, data)
    _save(evaluator, arguments.output / f"label-{name}")
    for path in [arguments.judged, *arguments.tested]:
        tested = _part(path, "test")
        scores = evaluator.score(tested.examples)
        row = {"stage": "test", **about, "steps": outcome.steps, "tested": _name(path), **_agreement(scores, tested)}
        ids = [example.id for example in tested.examples]
        _record(arguments.output, row | {"scores": dict(zip(ids, scores.tolist(), strict=True))})


def _train(
    model: TorchModel,
    stage: EncoderRankingStage | EncoderRegressionStage,
    schedule: Schedule,
    arguments: argparse.Namespace,
    checkpoints: Path,
    record: Callable[[StageValidation], None],
) -> StageOutcome:
    """Train a stage; there is one checkpoint per validation, since only then are its minutes known."""
    run = TrainingRun(
        checkpoints=checkpoints,
        resume=True,
        save_every=sys.maxsize,
        mixed_precision=arguments.mixed_precision,
        quiet=False,
        on_validation=record,
    )
    schedule = replace(schedule, most_steps=arguments.steps)
    return run_stage(model, stage, schedule, 0, run, Checkpoints.of(run, stage.name))


def _save(evaluator: Encoder, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    evaluator.save(folder)


def _part(path: str, split: str) -> JudgedSet:
    return read_judged(path).without_outliers().part(split)


def _sample(judged: JudgedSet, most: int) -> JudgedSet:
    return judged.take(np.random.default_rng(0).permutation(len(judged))[:most])


def _agreement(scores: Scores, judged: JudgedSet) -> dict[str, float]:
    """Pearson's and Spearman's correlation with the mean ratings."""
    people = judged.human(OVERALL)
    return {name: measure(scores, people).coefficient for name, measure in (("r", pearson), ("rho", spearman))}


def _name(path: str) -> str:
    return Path(path).name.split(".")[0]


def _record(folder: Path, row: dict[str, Any]) -> None:
    with (folder / CURVE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    ranking = verbs.add_parser("rank")
    ranking.add_argument("encoder", help="the folder or name of a pretrained encoder")
    ranking.add_argument("--dialogues", nargs="+", required=True, metavar="FILE")
    ranking.add_argument("--judged", nargs="+", default=[], metavar="FILE", help="rated replies to measure it on")
    asked = PAPER.ranking.epochs * EPOCH
    ranking.add_argument("--steps", type=int, default=asked, help="all epochs on DailyDialog if absent")
    ranking.add_argument("--every", type=int, default=500, help="steps between measurements")
    ranking.set_defaults(run=rank)
    labelling = verbs.add_parser("label")
    labelling.add_argument("start", type=Path, help="the folder of a model of the first stage, or of an encoder")
    labelling.add_argument("--judged", required=True, metavar="FILE")
    labelling.add_argument("--tested", nargs="+", default=[], metavar="FILE", help="other sets to test it on")
    labelling.add_argument("--labels", type=int, help="rated replies to learn from; all of the training part if absent")
    labelling.add_argument("--steps", type=int, help="steps at most; the preset's if absent")
    labelling.set_defaults(run=label)
    for verb in (ranking, labelling):
        verb.add_argument("-o", "--output", type=Path, required=True)
        verb.add_argument("--mixed-precision", choices=PRECISIONS, default="no", help="as in `rejoinder train`")
    arguments = parser.parse_args(given)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
