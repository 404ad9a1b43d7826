"""The page `roberta-eval`: RoBERTa-eval trained with the settings of Zhao et al. 2020, as far as a CPU allows.

`train_roberta_eval.py` trains and writes what it measures to roberta-eval/ENCODER/curve.jsonl in the models' folder.
The file roberta-eval/note.md says what a reader must know of these runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from papers.documents import Document
from papers.inputs import Inputs
from papers.published.zhao2020 import DAILYDIALOG, PERSONACHAT, ROBERTA_EVAL, TABLE_3, TABLE_4
from papers.replies import OVERALL
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.encoder.model import PRESETS
from rejoinder.folders.schema import json_value
from rejoinder.options import RESAMPLES
from rejoinder.show.figures import PlotCurve
from rejoinder.show.plots import line_plot, panels, standalone
from rejoinder.show.text import number_text, signed
from rejoinder.stats.correlation_intervals import bootstrap_correlations
from rejoinder.trusting.probing import cell_text

FOLDER, CURVE = "roberta-eval", "curve.jsonl"
EPOCH = 18743
"""Steps of an epoch of ranking: 56,229 places of dailydialog.train in batches of 3."""

JUDGED = (DAILYDIALOG, PERSONACHAT)

_PAPER = PRESETS["paper"]

INTRODUCTION = f"""\
# RoBERTa-eval as published, on a CPU

Zhao et al. 2020 fine-tune RoBERTa-large in two stages: first to score true replies above random ones, without labels,
then to predict ratings. `rejoinder train encoder --preset paper` follows their settings: a batch of 3, a learning
rate of 3e-6, {_PAPER.ranking.epochs} epochs of ranking, and up to {_PAPER.regression.epochs} epochs on labels. The
margin and the pooling, which the paper does not give, are ours. This page shows how far these settings come on a CPU
with encoders that are a fraction of its size (355 million parameters): all-mpnet-base-v2 (12 layers, 109 million) and
all-MiniLM-L6-v2 (6 layers, 23 million). Neither was trained as long as the settings ask, which would take days. Other
evaluators fitted on the same labels are in [evaluator-figures.md](evaluator-figures.md) and
[default-blend.md](default-blend.md).

Ratings far from the median of their reply are left out, as in the paper. The published split divides replies, not
contexts, so that the contexts of the test replies also occur in training. Minutes are processor time on one core.

`papers/zhao2020/train_roberta_eval.py` trained the models and recorded all that is shown here
([roberta-eval.json](roberta-eval.json))."""

RANKING_TEXT = f"""\
## The first stage: ranking

The settings ask for {_PAPER.ranking.epochs} epochs of {EPOCH:,} steps. *Ranking accuracy* is the share of 250 held-out
replies that score above a random one. The last columns are Pearson / Spearman with 200 rated replies of the training
part of each set; no label was used. The learning rate is constant: the settings lower it after an epoch at the
earliest."""

LABELS_TEXT = """\
## The second stage: labels

The correlation with the 90 validation replies after each epoch on labels; the weights with the highest are kept. Zhao
et al. lower the learning rate to a tenth when the validation loss does not fall, and stop below 1e-7: a run that ended
by this rule is marked *ended*. The others were stopped for time."""

LABELS_FIGURE_TEXT = """\
![Correlation by steps on labels](roberta-eval-labels.svg)

Each line is a run on all labels, with its encoder and the number of ranking steps before."""

TEST_TEXT = """\
## On the test replies

The published test parts have 90 replies each. Brackets are 95 % intervals over contexts. SD is the standard deviation
of the scores. Our first stage was trained on DailyDialog alone, also where the labels are those of PersonaChat, whose
training dialogues we do not have."""

MORE_TEXT = """\
## What more steps, layers and labels change

The best correlation with the 90 validation replies of DailyDialog, so that nothing is judged by test replies. A
difference between two runs of less than about .1 may well be chance."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How intervals are computed."""

    resamples: int = RESAMPLES


Row = Mapping[str, Any]


@dataclass(frozen=True)
class LabelRun:
    """One training run of the second stage."""

    encoder: str
    start: str
    judged: str
    labels: int
    epochs: tuple[Row, ...]
    """One row per validation, in order."""
    tests: tuple[Row, ...]
    """One row per tested set."""

    @property
    def ranked(self) -> int:
        """Steps of the first stage before this one."""
        return int(self.start.removeprefix("rank-")) if self.start.startswith("rank-") else 0

    @property
    def validation(self) -> list[float]:
        """The correlation after each epoch."""
        return [row["validation"] for row in self.epochs]

    @property
    def curve(self) -> tuple[list[float], list[float]]:
        """The steps of all epochs, and the correlation after each."""
        return [row["steps"] for row in self.epochs], self.validation

    @property
    def ended(self) -> bool:
        """Whether training ended by the rule of the settings, not because time ran out."""
        return bool(self.epochs[-1]["ended"])


@dataclass(frozen=True)
class Study:
    """What was recorded for all encoders, and the replies that they were tested on."""

    inputs: Inputs
    settings: Settings
    records: Mapping[str, tuple[Row, ...]]
    """Encoder -> the rows of its curve."""

    def ranking(self, encoder: str) -> list[Row]:
        """The measurements of the first stage; of one that was repeated after an interruption, the last."""
        found = {row["steps"]: row for row in self.records[encoder] if row["stage"] == "rank"}
        return [found[step] for step in sorted(found)]

    @cached_property
    def runs(self) -> list[LabelRun]:
        """All runs of the second stage, those on most labels after the longest ranking first."""
        found = []
        for encoder, rows in self.records.items():
            learned = [row for row in rows if row["stage"] == "label"]
            for start, judged, labels in dict.fromkeys((row["start"], row["judged"], row["labels"]) for row in learned):
                mine = [row for row in rows if (row.get("start"), row.get("judged")) == (start, judged)]
                mine = [row for row in mine if row["labels"] == labels]
                epochs = {row["steps"]: row for row in mine if row["stage"] == "label"}
                tests = {row["tested"]: row for row in mine if row["stage"] == "test"}
                ordered = tuple(epochs[step] for step in sorted(epochs))
                found.append(LabelRun(encoder, start, judged, labels, ordered, tuple(tests.values())))
        return sorted(found, key=lambda run: (run.judged, -run.labels, run.encoder, -run.ranked))

    def judged(self, name: str) -> JudgedSet:
        """The test part of a judged set, without outlying ratings."""
        return self.inputs.judged(name).without_outliers().part("test")


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """The sections in order."""
    study = Study(inputs, settings, _records(inputs.models / FOLDER))
    document = Document("roberta-eval")
    note = inputs.note(FOLDER)
    document.beside["roberta-eval.json"] = json.dumps({"note": note, "curves": study.records}, indent=1) + "\n"
    document.text(INTRODUCTION, note)
    for section in sections:
        SECTIONS[section](study, document)
    return document


def _records(home: Path) -> dict[str, tuple[Row, ...]]:
    found = {path.parent.name: _read(path) for path in sorted(home.glob(f"*/{CURVE}"))}
    if not found:
        raise CallError(
            f"{home} holds no {CURVE}: expected one per encoder, "
            "as `python -m papers.zhao2020.train_roberta_eval` writes it"
        )
    return found


def _read(path: Path) -> tuple[Row, ...]:
    rows = []
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            rows.append(json_value(line))
        except ValueError as error:
            raise DataError(f"is not JSON: {error}", file=str(path), line=place) from None
    return tuple(rows)


def _ranking(study: Study, document: Document) -> None:
    """Each measurement of the first stage, as a table and a figure."""
    document.text(RANKING_TEXT)
    rows, lines = [], []
    for encoder in study.records:
        curve = study.ranking(encoder)
        for row in curve:
            cells = [f"{row['steps']:,}", f"{row['steps'] / EPOCH:.3f}", f"{row['minutes']:.0f}"]
            rows.append(
                [encoder, *cells, number_text(row["ranking accuracy"]), *(_pair(row.get(name)) for name in JUDGED)]
            )
        steps = [math.log2(row["steps"]) for row in curve]
        if len(curve) > 1:
            lines.append(PlotCurve(encoder, steps, [row["ranking accuracy"] for row in curve]))
    document.table(["encoder", "steps", "epochs", "minutes", "ranking accuracy", *JUDGED], rows)
    if lines:
        label = "Ranking accuracy by steps"
        plot = line_plot(lines, label=label, x_label="log2 of the steps", y_label="ranking accuracy")
        document.figure("roberta-eval-ranking", standalone(str(plot)))
        document.text(f"![{label}](roberta-eval-ranking.svg)")


def _labels(study: Study, document: Document) -> None:
    """The validation of each run, epoch by epoch."""
    document.text(LABELS_TEXT)
    rows = [
        [
            *_described(run),
            f"{run.epochs[-1]['steps']:,}" + (", ended" if run.ended else ""),
            f"{run.epochs[-1]['minutes']:.0f}",
            ", ".join(map(number_text, run.validation)),
        ]
        for run in study.runs
    ]
    header = ["judged", "encoder", "ranking steps", "labels", "label steps", "minutes", "after each epoch"]
    document.table(header, rows)
    if study.runs:
        _label_curves(study, document)


def _label_curves(study: Study, document: Document) -> None:
    """The validation of the runs on all labels, a figure with one panel per judged set."""
    most = max(run.labels for run in study.runs)
    drawn = []
    for judged in dict.fromkeys(run.judged for run in study.runs):
        runs = [run for run in study.runs if run.judged == judged and run.labels == most]
        lines = [PlotCurve(f"{run.encoder}, {run.ranked:,}", *run.curve) for run in runs]
        label = f"Pearson with the validation part of {judged}"
        drawn.append([line_plot(lines, label=label, x_label="steps on labels", y_label=f"{judged}: Pearson")])
    document.figure("roberta-eval-labels", panels(drawn))
    document.text(LABELS_FIGURE_TEXT)


def _tests(study: Study, document: Document) -> None:
    """Tables 3 and 4 of the paper: each run on the test replies of its own set and of the other."""
    document.text(TEST_TEXT)
    rows = []
    for (trained, tested), theirs in TABLE_4.correlations(ROBERTA_EVAL).items():
        deviation = TABLE_3.column("SD")[ROBERTA_EVAL] if trained == tested == DAILYDIALOG else math.nan
        published = [f"{theirs.pearson:.2f}", f"{theirs.spearman:.2f}"]
        spread = "-" if math.isnan(deviation) else f"{deviation:.2f}"
        rows.append([trained, tested, f"{ROBERTA_EVAL} (Zhao et al. 2020)", "", "720", *published, spread])
        for run in study.runs:
            test = next((row for row in run.tests if row["tested"] == tested), None)
            if run.judged == trained and test is not None:
                judged = study.judged(tested)
                scores = np.array([test["scores"][example.id] for example in judged.examples])
                found = bootstrap_correlations(scores, judged.human(OVERALL), judged.contexts, study.settings.resamples)
                cells = [cell_text(found[kind][0]) for kind in ("pearson", "spearman")]
                _, encoder, ranked, labels = _described(run)
                rows.append([trained, tested, encoder, ranked, labels, *cells, f"{np.std(scores):.2f}"])
    header = ["trained on", "tested on", "evaluator", "ranking steps", "labels", "Pearson", "Spearman", "SD"]
    document.table(header, rows)


def _more(study: Study, document: Document) -> None:
    """The best validation of each run, and what ranking steps, layers and labels change."""
    document.text(MORE_TEXT)
    runs = [run for run in study.runs if run.judged == DAILYDIALOG]
    rows = [[*_described(run)[1:], number_text(max(run.validation))] for run in runs]
    document.table(["encoder", "ranking steps", "labels", "best validation"], rows)
    document.text("\n".join(f"- {finding}" for finding in (*_by_steps(study), *_by_run(runs))))


def _by_steps(study: Study) -> list[str]:
    """How much each doubling of the ranking steps has added, and how many doublings are missing."""
    found = []
    for encoder in study.records:
        curve = study.ranking(encoder)
        last = curve[-1]
        missing = math.log2(_PAPER.ranking.epochs * EPOCH / last["steps"])
        sentence = (
            f"*Steps*, {encoder}: the settings ask for {missing:.1f} doublings of its {last['steps']:,} ranking steps"
        )
        if len(curve) > 1:
            gains = [signed(_gain(curve, name), 3) for name in ("ranking accuracy", *JUDGED)]
            sentence += (
                f"; from {curve[0]['steps']:,} steps on, each doubling changed ranking accuracy by {gains[0]} and the "
                f"correlation without labels by {gains[1]} (DailyDialog) and {gains[2]} (PersonaChat)"
            )
        found.append(f"{sentence}.")
    return found


def _gain(curve: Sequence[Row], name: str) -> float:
    """The mean change per doubling of the steps."""
    first, last = curve[0], curve[-1]
    return (_figure(last, name) - _figure(first, name)) / math.log2(last["steps"] / first["steps"])


def _figure(row: Row, name: str) -> float:
    """The ranking accuracy, or Pearson's correlation with a set."""
    return float(row[name]["r"] if name in JUDGED else row[name])


def _by_run(runs: Sequence[LabelRun]) -> list[str]:
    """Pairs of runs that differ in one respect alone."""
    found = []
    for place, one in enumerate(runs):
        for other in runs[place + 1 :]:
            pairs = {
                "Layers": (one.encoder, other.encoder),
                "Ranking": (f"{one.ranked:,} steps", f"{other.ranked:,} steps"),
                "Labels": (f"{one.labels} labels", f"{other.labels} labels"),
            }
            different = {name: both for name, both in pairs.items() if both[0] != both[1]}
            if len(different) == 1:
                [(name, (first, second))] = different.items()
                best = [number_text(max(run.validation)) for run in (one, other)]
                same = ", ".join(both[0] for each, both in pairs.items() if each != name)
                found.append(f"*{name}* ({same}): {first} {best[0]}, {second} {best[1]}.")
    return found


SECTIONS: Mapping[str, Callable[[Study, Document], None]] = {
    "ranking": _ranking,
    "labels": _labels,
    "test": _tests,
    "more": _more,
}
"""In the order of the page."""


def _described(run: LabelRun) -> list[str]:
    return [run.judged, run.encoder, f"{run.ranked:,}", str(run.labels)]


def _pair(found: Row | None) -> str:
    return "-" if found is None else f"{number_text(found['r'])} / {number_text(found['rho'])}"
