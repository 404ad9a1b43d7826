"""Makes `default`, the evaluator that comes with the package: README.md says how, settings.toml how much of what.

    python -m recipes.default_evaluator -o FOLDER

A step whose result is in --work is skipped, and an interrupted step is resumed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from recipes.default_evaluator.labels import (
    Label,
    dialogue_groups,
    learnable,
    read_labels,
    set_weights,
    wanted_scores,
)

from rejoinder.data.dialogues import DialogueSource
from rejoinder.errors import RejoinderError
from rejoinder.evaluators.calibration import FEWEST_CONTEXTS, HIGHEST, LOWEST, Calibration, assess
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.model import EncoderModel
from rejoinder.evaluators.encoder.networks import BranchEncoder
from rejoinder.evaluators.encoder.reading import FEATURES
from rejoinder.evaluators.encoder.replay import TRUE, candidate_kind, candidates_of, replay_of
from rejoinder.evaluators.encoder.stages import DistillStage, EncoderRegressionStage, LossWeights, by_context
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.encoder.training import in_batch_stage, standardise_features, start_model
from rejoinder.evaluators.ensemble import Ensemble
from rejoinder.evaluators.simple import Likelihood
from rejoinder.folders.outputs import write_text
from rejoinder.folders.saved import WEIGHTS
from rejoinder.learning.checkpoints import Checkpoints, interpolated, plain_state
from rejoinder.learning.data import TrainingData, fold_of_groups
from rejoinder.learning.loop import Stage, run_stage
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.schedules import Schedule
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import Batch
from rejoinder.training.distil import distill_encoder
from rejoinder.types import Dialogue, Scores

HERE = Path(__file__).parent
CHECKED = 400
"""Labelled replies that the precisions of the exported weights are compared on."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.default_evaluator",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder to write")
    parser.add_argument("--settings", type=Path, default=HERE / "settings.toml", help="default: settings.toml")
    parser.add_argument("--tiny", action="store_true", help="the sizes of tiny.toml, to see that all steps work")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="holds dialogues/ and judged/")
    parser.add_argument("--models", type=Path, default=Path("models-cache"), help="holds the pretrained models")
    parser.add_argument("--work", type=Path, default=Path("build/default_evaluator"), help="gets what each step makes")
    given = parser.parse_args(arguments)
    settings = tomllib.loads(given.settings.read_text(encoding="utf-8"))
    if given.tiny:
        settings = overridden(settings, tomllib.loads((HERE / "tiny.toml").read_text(encoding="utf-8")))
    torch.set_num_threads(settings["threads"])
    given.work.mkdir(parents=True, exist_ok=True)
    dialogues = drawn_dialogues(given.data / "dialogues", settings)
    recipe = Recipe(settings, given.models, given.work, dialogues)

    towers = [recipe.towers(name) for name in (settings["encoder"], *settings["anchors"])]
    student = recipe.student(towers)
    polished = recipe.polished(student)
    known = read_labels(given.data / "judged", settings["judged"])
    items = learnable(known, settings["labels"]["sets"])
    model, calibration = recipe.model(polished), None
    if items:
        calibration = calibration_of(items, recipe.out_of_fold(polished, items))
        recipe.learn_labels(model, items, "labels")
    recipe.export(model, items, calibration, given.output, known[:: max(1, len(known) // CHECKED)])


def overridden(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with what the others say in place of it, table by table."""
    both = {
        name: overridden(settings[name], value) if isinstance(value, dict) and name in settings else value
        for name, value in others.items()
    }
    return {**settings, **both}


def drawn_dialogues(folder: Path, settings: Mapping[str, Any]) -> tuple[Dialogue, ...]:
    """Random dialogues of each corpus, until they have its share of the replies."""
    rng, drawn = np.random.default_rng(settings["seed"]), []
    for name, share in settings["corpora"].items():
        dialogues = list(DialogueSource(folder / f"{name}.jsonl.gz", on_error="skip"))
        missing = share * settings["places"]
        for number in rng.permutation(len(dialogues)).tolist():
            if missing <= 0:
                break
            drawn.append(dialogues[number])
            missing -= len(dialogues[number].turns) - 1
    return tuple(drawn)


@dataclass(frozen=True)
class Recipe:
    """The steps, each of which gives the folder of what it made."""

    settings: Mapping[str, Any]
    models: Path
    work: Path
    dialogues: tuple[Dialogue, ...]

    def towers(self, name: str) -> Path:
        """Step 1: an encoder that learned which reply belongs to which context, averaged with itself before."""
        folder, table = self.work / f"towers-{name}", self.settings["towers"]
        if folder.exists():
            return folder
        data = TrainingData(self.dialogues, seed=self.settings["seed"])
        model = self.model(self.models / name)
        before = plain_state(model.network)
        self.train(model, in_batch_stage(model, data), table["schedule"] | table.get(name, {}), folder.name)
        model.network.load_state_dict(interpolated(before, plain_state(model.network), table["kept"]))
        standardise_features(model, data)
        return self.save(model, folder)

    def student(self, towers: Sequence[Path]) -> Path:
        """Steps 2 and 3: the towers with a head, trained on the scores of a teacher."""
        folder, table, seed = self.work / "student", self.settings["student"], self.settings["seed"]
        if folder.exists():
            return folder
        contexts, ranked = (self.settings["teacher"][name] for name in ("contexts", "ranked"))
        student = distill_encoder(
            self.encoder(towers[0]),
            self.teacher(towers),
            self.dialogues,
            candidates_of(self.dialogues, contexts, seed),
            ranked=ranked,
            losses=LossWeights(**table["losses"]),
            anchors=[str(each) for each in towers],
            head_rate=table["head_rate"],
            schedule=Schedule(**table["schedule"]),
            seed=seed,
            run=self.run(folder.name),
            scores_file=self.work / "teacher.jsonl",
        )
        add_to_blend(student.model_, table["blend"])
        student.save(folder)
        return folder

    def teacher(self, towers: Sequence[Path]) -> Metric:
        """A language model's likelihoods and the towers' cosines, standardised and averaged."""
        table, source = self.settings["teacher"], str(self.models / self.settings["language_model"])
        for name, form in (("share", "pmi-share"), ("likelihood", "conditional")):
            Likelihood(model=source, form=form).fit().save(self.work / name)
        members = tuple(map(str, (self.work / "share", self.work / "likelihood", *towers)))
        weights = (table["share"], table["likelihood"], *[table["towers"] / len(towers)] * len(towers))
        ensemble = Ensemble(members=members, weights=weights).fit(self.dialogues, seed=self.settings["seed"])
        return Corrected(teacher=ensemble, bonus=table["true_bonus"], ceilings=tuple(table["ceilings"].items()))

    def polished(self, student: Path) -> Path:
        """Step 4: the student, which has learned that broken language is worse, and nothing else."""
        folder, table = self.work / "polished", self.settings["polish"]
        if folder.exists():
            return folder
        model = self.model(student)
        replay = replay_of(model, self.dialogues, table["contexts"], self.settings["seed"])
        groups = by_context(replay.pairs, [range(len(replay.pairs))])
        stage = DistillStage(model, *replay, groups, [], self.settings["seed"], self.settings["student"]["head_rate"])
        self.train(model, stage, table["schedule"], folder.name)
        return self.save(model, folder)

    def learn_labels(self, model: TorchModel, items: Sequence[Label], name: str) -> None:
        """Step 5: ratings, among replies that keep theirs; then part of the way back."""
        table, seed = self.settings["labels"], self.settings["seed"]
        before, pairs = plain_state(model.network), [item.pair for item in items]
        replay = replay_of(model, self.dialogues, table["replay"], seed + 1)
        wanted = np.concatenate([wanted_scores(items, model.score(pairs)), replay.wanted])
        weights = np.concatenate([set_weights(items), np.ones(len(replay.pairs))])
        pairs += replay.pairs
        groups, rate = by_context(pairs, [range(len(pairs))]), self.settings["student"]["head_rate"]
        stage = EncoderRegressionStage(model, pairs, wanted, groups, [], seed, rate, weights)
        self.train(model, stage, table["schedule"], name)
        model.network.load_state_dict(interpolated(before, plain_state(model.network), table["kept"]))
        add_to_blend(model, self.settings["student"]["blend"], table["blend"])

    def out_of_fold(self, polished: Path, items: Sequence[Label]) -> Scores:
        """The score of each labelled reply by a model that learned from other dialogues.

        One file per fold, so that an interrupted run skips the folds that are complete; and one file of them all.
        """
        seed, parts = self.settings["seed"], []
        folds = fold_of_groups(dialogue_groups(items), self.settings["labels"]["folds"], seed)
        for fold in sorted(set(folds.tolist())):
            part = self.work / f"out_of_fold.{fold}.jsonl"
            if not part.exists():
                model, scored = self.model(polished), list(compress(items, folds == fold))
                self.learn_labels(model, list(compress(items, folds != fold)), f"fold-{fold}")
                write_text(part, out_of_fold_rows(scored, model.score([item.pair for item in scored]), fold))
            parts.append(part.read_text(encoding="utf-8"))
        write_text(self.work / "out_of_fold.jsonl", "".join(parts))
        rows = map(json.loads, "".join(parts).splitlines())
        score_of = {(row["judged"], row["id"]): row["score"] for row in rows}
        return np.array([score_of[item.set, item.example.id] for item in items])

    def export(
        self,
        model: TorchModel,
        items: Sequence[Label],
        calibration: Calibration | None,
        output: Path,
        checked: Sequence[Label],
    ) -> None:
        """Step 6: the folder that scores without torch, with an account of what was learned from."""
        data = TrainingData.of(self.dialogues, [item.judged for item in items], seed=self.settings["seed"])
        evaluator = self.encoder(self.settings["published_as"], pooling="match").with_model(model, data)
        evaluator.with_calibration(calibration).export(output)
        pairs = [item.pair for item in checked]
        for precision, limit in (("fp32", 1e-3), ("int8", 0.5)):
            off = np.abs(Encoder.load(output, precision=precision).model_.score(pairs) - model.score(pairs))
            print(f"{precision}: mean difference from torch {off.mean():.2g}, largest {off.max():.2g}")
            if off.max() > limit:
                raise RejoinderError(f"{precision} is {off.max():.2g} from torch: expected at most {limit}")
        (output / WEIGHTS["fp32"]).unlink()
        size = sum(path.stat().st_size for path in output.iterdir())
        print(f"{output}: {size / 1e6:.1f} MB")
        if size > self.settings["largest"]:
            raise RejoinderError(f"{output} has {size} bytes: expected at most {self.settings['largest']}")

    def encoder(self, source: str | Path, **parameters: Any) -> Encoder:
        """The evaluator that all steps train, from a pretrained encoder or from the folder of an earlier step."""
        limits = {name: self.settings[name] for name in ("max_length", "max_response")}
        return Encoder(encoder=str(source), towers=True, **limits, **parameters)

    def model(self, source: Path) -> TorchModel:
        """The model to train."""
        return start_model(self.encoder(source), self.settings["seed"])

    def save(self, model: TorchModel, folder: Path) -> Path:
        """Keep what a step made; the account of what it learned from comes with the last step."""
        self.encoder(self.settings["published_as"]).with_model(model, TrainingData()).save(folder)
        return folder

    def run(self, name: str) -> TrainingRun:
        """How a step is trained."""
        return TrainingRun(checkpoints=self.work / "checkpoints" / name, resume=True, quiet=False)

    def train(self, model: TorchModel, stage: Stage, schedule: Mapping[str, Any], name: str) -> None:
        """Train a step, from its checkpoints if there are any."""
        run = self.run(name)
        run_stage(model, stage, Schedule(**schedule), self.settings["seed"], run, Checkpoints.of(run, name))
        shutil.rmtree(self.work / "checkpoints" / name, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Corrected(Metric):
    """A teacher, corrected by what is known of replies that were made: which is the true one, and which are broken."""

    name: ClassVar[str] = "corrected"
    measures: ClassVar[str] = "what a teacher says, corrected for replies of known kinds"
    citation: ClassVar[str] = "recipes/default_evaluator"
    range: ClassVar[tuple[float, float]] = (LOWEST, HIGHEST)

    teacher: Metric
    bonus: float
    ceilings: tuple[tuple[str, float], ...]

    def score_batch(self, batch: Batch) -> Scores:
        """From 1 to 5."""
        scores, highest = self.teacher.score_batch(batch), dict(self.ceilings)
        kinds = [candidate_kind(example) for example in batch.examples]
        scores = scores + self.bonus * np.array([kind == TRUE for kind in kinds])
        corrected: Scores = np.minimum(scores, [highest.get(kind, self.range[1]) for kind in kinds])
        return corrected

    @property
    def signature(self) -> str:
        """That of the teacher, and the corrections."""
        return f"{self.teacher.signature}|true:+{self.bonus}|ceilings:{self.ceilings}"


def out_of_fold_rows(items: Sequence[Label], scores: Scores, fold: int) -> str:
    """One line of JSON per labelled reply of the fold."""
    lines = []
    for item, score in zip(items, scores.tolist(), strict=True):
        row = {"judged": item.set, "id": item.example.id, "score": score, "fold": fold, "out_of_fold": True}
        lines.append(json.dumps(row) + "\n")
    return "".join(lines)


def add_to_blend(model: EncoderModel, blend: Mapping[str, float], times: float = 1.0) -> None:
    """Let some features count for more than was learned: the student follows its teacher too closely where people do
    not. How much was chosen on development sets."""
    if not (isinstance(model, TorchModel) and isinstance(model.network, BranchEncoder)):
        raise RejoinderError("the model has no features to blend: expected a network with towers")
    with torch.no_grad():
        for name, more in blend.items():
            model.network.blend.weight[0, FEATURES.index(name)] += times * more


def calibration_of(items: Sequence[Label], scores: Scores) -> Calibration | None:
    """From scores of models that did not see the reply's dialogue to ratings; None where there are too few."""
    rated = [row for row, item in enumerate(items) if item.rated]
    human, groups = [items[row].human for row in rated], ["\n".join(items[row].example.context) for row in rated]
    if len(set(groups)) < 2 * FEWEST_CONTEXTS:  # a fold is held out, and folds within the rest
        print(f"no calibration: {len(set(groups))} contexts are too few")
        return None
    found = assess(scores[rated], human, groups)
    print(f"calibration: {len(rated)} replies, coverage {found.coverage.estimate:.3f}, mean width {found.width:.2f}")
    return Calibration.fit(scores[rated], human, groups)


if __name__ == "__main__":
    main()
