"""ADEM, its variants and baselines over several encoders, the papers' figures beside ours, as Markdown.

    python benchmarks/adem.py ../shared/data --models models-cache -o docs/results/adem-figures.md

Encoders are those found in MODELS/adem (vhred, hred, tweet2vec) and MODELS/minilm; each text is encoded once and kept
in MODELS/adem/vectors. Components, gamma and what the penalty draws to are chosen on training folds alone. What was
fitted is kept in MODELS/adem/cells, so that a run that was broken off goes on; remove the folder when the code changes.
`--sets`, `--encoders`, `--sections` and `--contexts` make a smaller run; `--speed FOLDER` measures replies a second
with an encoder instead.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adem_figures import curves, write_curves
from adem_published import (
    ADEM_TABLE_3,
    AMOUNTS,
    LEFT_OUT,
    LENGTH,
    ZHAO_HUMAN_DEVIATION,
    ZHAO_TABLE_1,
    ZHAO_TABLE_1_WITHOUT_TRUTH,
)
from adem_sets import SETS, read_sets, stored_encoders, unseen
from rejoinder.evaluators.adem.adem import Adem, ContextAdem, ReferenceAdem
from rejoinder.evaluators.adem.dot import EncoderDot
from rejoinder.evaluators.adem.human_likeness import HUMAN, HumanLikeness
from rejoinder.evaluators.adem.human_likeness import LEFT_OUT as NEITHER
from rejoinder.evaluators.base import Evaluator
from rejoinder.meta.experiments.amounts import label_amounts
from rejoinder.meta.experiments.cross_validation import cross_validate
from rejoinder.meta.experiments.left_out import leave_one_system_out
from rejoinder.meta.experiments.partition import PUBLISHED, LabelledSet
from rejoinder.meta.experiments.result import measure
from rejoinder.meta.judged import JudgedSet
from rejoinder.meta.studies.length_bias import study as length_bias
from rejoinder.meta.studies.spread import study as spread
from rejoinder.meta.studies.true_replies import of_true_systems
from rejoinder.meta.study import ScoredSet, StudyResult, shown
from rejoinder.types import Scores

BY_REPLY = "the paper's split is by reply"
FIXED: dict[str, Any] = {"components": 50, "gamma": 0.02, "towards": "identity"}
"""For studies of very many fits: roberta-eval's components, adem's gamma."""
DD = "zhao2020_dailydialog"
SECTIONS = ("tables", "figure_7", "length", "spread", "left_out", "amounts", "likeness")
"""Those of the page, in its order; length and spread need the tables."""
Columns = dict[str, Scores]


def main() -> None:
    """Write the page, or print the speed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with judged/ and dialogues/")
    parser.add_argument("--models", type=Path, default=Path("models-cache"))
    parser.add_argument("-o", "--output", type=Path, help="the page; the figure goes beside it")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--contexts", type=int, help="of each set so many contexts, drawn at random")
    parser.add_argument("--encoders", nargs="+", help="only these of the encoders that there are")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--speed", metavar="FOLDER", help="measure ADEM's replies a second with this encoder instead")
    arguments = parser.parse_args()
    sets = read_sets(arguments.data, arguments.sets, arguments.contexts)
    if arguments.speed:
        print_speed(next(iter(sets.values())), arguments.speed)
        return
    encoders = stored_encoders(arguments.models, sets, arguments.encoders)
    page = Page(sets, encoders, arguments.output.parent, arguments.models / "adem" / "cells")
    parts = [INTRODUCTION, *page.parts(arguments.sections), f"\nMade by `{command(arguments)}`."]
    arguments.output.write_text("\n".join(parts) + "\n", encoding="utf-8")


def command(arguments: argparse.Namespace) -> str:
    """The call that made the page, with what was left out of it."""
    made = ["python benchmarks/adem.py ../shared/data -o docs/results/adem-figures.md"]
    everything: dict[str, Any] = {"sets": list(SETS), "encoders": None, "sections": list(SECTIONS), "contexts": None}
    for name, whole in everything.items():
        value = getattr(arguments, name)
        if value != whole:
            made += [f"--{name}", *(map(str, value) if isinstance(value, list) else [str(value)])]
    return " ".join(made)


class Page:
    """The whole study."""

    def __init__(self, sets: Mapping[str, JudgedSet], encoders: Mapping[str, str], figures: Path, cells: Path) -> None:
        self.encoders, self.figures, self.cells = encoders, figures, cells
        self.sets = {name: LabelledSet.of(unseen(judged, encoders), SETS[name]) for name, judged in sets.items()}
        self.dropped = {name: len(judged) - len(self.sets[name]) for name, judged in sets.items()}
        self.kept: dict[str, Columns] = {}
        """Set -> evaluator and encoder -> out-of-fold scores."""

    def parts(self, sections: Sequence[str]) -> list[str]:
        """Section after section; progress goes to the screen."""
        made: list[str] = []
        for name in sections:
            started = time.process_time()
            made += getattr(self, name)()
            print(f"{name}: {time.process_time() - started:.0f} s of the processor", flush=True)
        return made

    def tables(self) -> list[str]:
        """Every evaluator over every encoder, on every set."""
        lost = ", ".join(f"{count} of {name}" for name, count in self.dropped.items())
        made = [SECTION_TABLES.format(lost)]
        for name, tested in self.sets.items():
            columns = self.kept[name] = self.scored(tested, 5)
            made += [f"\n### {name}, {tested.dimension}: five folds that share no context\n"]
            made += [self.table(tested, columns, adem_beside)]
            if not set(tested.judged.splits) >= {"train", "test"}:
                continue
            tested = LabelledSet(tested.judged.without_outliers(), tested.dimension)  # as in roberta-eval
            columns = self.scored(tested, PUBLISHED)
            made += [f"\n### {name}, published split, whose test replies share contexts with training\n"]
            made += [self.table(tested, columns, zhao_beside if name == DD else adem_beside)]
            truth = of_true_systems(tested.judged.examples)
            others = {label: np.where(truth, np.nan, column) for label, column in columns.items()}
            made += ["\nWithout the true replies:\n"]
            made += [self.table(tested, others, zhao_beside_without_truth if name == DD else adem_beside)]
        return made

    def scored(self, tested: LabelledSet, folds: int | str) -> Columns:
        """One score a reply by each evaluator that was fitted on other folds."""
        reason = BY_REPLY if folds == PUBLISHED else None
        found: Columns = {}
        for encoder, folder in self.encoders.items():
            made = {f"{label}, {encoder}": evaluator for label, evaluator in evaluators(folder).items()}
            options: dict[str, Any] = {"folds": folds, "allow_leakage": reason, "folder": self.cells}
            result = cross_validate(made, tested.judged, tested.dimension, **options)
            found |= result.scores
        return found

    def table(self, tested: LabelledSet, columns: Columns, beside: Any) -> str:
        """Correlations and standard deviations, the papers' beside them."""
        each, _ = measure(list(columns.values()), tested, resamples=1000, seed=0)
        known = ~np.isnan(tested.human) & ~np.isnan(next(iter(columns.values())))
        rows = [
            [label, shown(one.pearson), shown(one.spearman), f"{np.nanstd(column[known], ddof=1):.2f}", beside(label)]
            for (label, column), one in zip(columns.items(), each, strict=True)
        ]
        rows.append(["people", "", "", f"{np.std(tested.human[known], ddof=1):.2f}", ""])
        header = ["evaluator, encoder", "Pearson", "Spearman", "sd", "published: Pearson / Spearman (/ sd)"]
        return markdown(header, rows)

    def figure_7(self) -> list[str]:
        """Correlation while it trains."""
        tested = next(iter(self.sets.values()))
        found = {name: curves(tested, folder) for name, folder in self.encoders.items()}
        write_curves(self.figures / "adem-training.svg", found)
        rows = [
            [f"{name}, {kind}", *(f"{values[epoch]:.3f}" for epoch in SHOWN_EPOCHS)]
            for name, curve in found.items()
            for kind, values in curve.items()
        ]
        return [
            SECTION_7.format(set=tested.name),
            markdown(["encoder", *(f"epoch {epoch}" for epoch in SHOWN_EPOCHS)], rows),
        ]

    def length(self) -> list[str]:
        """Length bias of the scores, and of those from which the trend with length was taken out."""
        made = [SECTION_LENGTH]
        for name, tested in self.sets.items():
            columns = {label: column for label, column in self.kept[name].items() if label.startswith("adem")}
            result = length_bias(ScoredSet(tested.judged, tested.dimension, columns))
            made += [f"\n### {name}\n", *of_study(result)]
        rows = [[who, *(f"{value:g}" for value in values)] for who, values in LENGTH.items()]
        return [*made, "\nadem, Table 8:\n", markdown(["", "within 6 words", "further off", "p"], rows)]

    def spread(self) -> list[str]:
        """Standard deviations."""
        made = [SECTION_SPREAD.format(*ZHAO_HUMAN_DEVIATION)]
        for name, tested in self.sets.items():
            columns = {label: column for label, column in self.kept[name].items() if "dot" not in label}
            anything = {label: Adem(encoder="any") for label in columns}  # for their range, 1 to 5
            made += [
                f"\n### {name}\n",
                *of_study(spread(ScoredSet(tested.judged, tested.dimension, columns, anything))),
            ]
        return made

    def left_out(self) -> list[str]:
        """One system left out of training."""
        made = [SECTION_LEFT_OUT]
        for name, tested in self.sets.items():
            if len(set(tested.judged.systems.tolist())) < 2:
                continue
            fixed = self.fixed()
            published = dict.fromkeys(fixed, LEFT_OUT)
            options: dict[str, Any] = {"published": published, "folder": self.cells}
            result = leave_one_system_out(fixed, tested.judged, tested.dimension, **options)
            made += [f"\n### {name}\n", *of_study(result)]
        return made

    def amounts(self) -> list[str]:
        """By amount of labels."""
        made = [SECTION_AMOUNTS]
        for name, tested in self.sets.items():
            fixed = self.fixed()
            published = dict.fromkeys(fixed, AMOUNTS)
            options: dict[str, Any] = {"published": published, "folder": self.cells}
            result = label_amounts(fixed, tested.judged, tested.dimension, **options)
            made += [f"\n### {name}\n", *of_study(result)]
        return made

    def likeness(self) -> list[str]:
        """People's replies told from those of models, on contexts that were not learned from."""
        rows = []
        for name, tested in self.sets.items():
            systems = tested.judged.systems
            by_people, by_models = np.isin(systems, HUMAN), ~np.isin(systems, [*HUMAN, *NEITHER])
            if not by_people.any() or not by_models.any():
                continue
            for encoder, folder in self.encoders.items():
                evaluator = HumanLikeness(encoder=folder)
                result = cross_validate(evaluator, tested.judged, tested.dimension, folder=self.cells)
                (scores,) = result.scores.values()
                only = np.where(by_models, scores, np.nan)
                each, _ = measure([scores, only], tested, resamples=1000, seed=0)
                area = area_under(scores[by_people], scores[by_models])
                groups = (by_people, by_models, by_models & given_often(tested))
                means = [f"{scores[rows_of].mean():.2f} ({int(rows_of.sum())})" for rows_of in groups]
                rows.append([name, encoder, f"{area:.3f}", *means, *(shown(one.pearson) for one in each)])
        header = ["set", "encoder", "area", "mean, people", "models", "generic", "Pearson", "of models' replies alone"]
        return [SECTION_LIKENESS, markdown(header, rows)]

    def fixed(self) -> dict[str, Evaluator]:
        """ADEM with settings that nothing was chosen for, over each encoder."""
        return {f"adem, {name}": Adem(encoder=folder, **FIXED) for name, folder in self.encoders.items()}


SHOWN_EPOCHS = (0, 1, 2, 5, 10, 20, 30)


def evaluators(folder: str) -> dict[str, Evaluator]:
    """All that is compared, over one encoder."""
    return {
        "dot": EncoderDot(encoder=folder),
        "adem": Adem(encoder=folder),
        "c-adem": ContextAdem(encoder=folder),
        "r-adem": ReferenceAdem(encoder=folder),
        "adem, length taken out": Adem(encoder=folder, debias=True),
        "adem, 7 components, sgd": Adem(encoder=folder, components=7, gamma=0.02, towards="zero", solver="sgd"),
        "adem, 50 components": Adem(encoder=folder, components=50, gamma=0.02, towards="zero"),
    }


def adem_beside(label: str) -> str:
    """What adem reports of the like, on its own data."""
    evaluator, _, encoder = label.rpartition(", ")
    names = {"dot": {"vhred": "vhred-dot", "tweet2vec": "t2v-dot"}.get(encoder, "")}
    key = names.get(evaluator, evaluator)
    found = ADEM_TABLE_3.get(f"{key}, {encoder}") or (ADEM_TABLE_3.get(key) if encoder != "minilm" else None)
    return "" if found is None else f"{found[0]:.3f} / {found[1]:.3f} (adem, Twitter)"


def zhao_beside(label: str, table: Mapping[str, tuple[float, float, float]] = ZHAO_TABLE_1) -> str:
    """What roberta-eval reports of ADEM over HRED on the same split."""
    evaluator, _, encoder = label.rpartition(", ")
    found = table.get(evaluator) if encoder in {"hred", "vhred"} or evaluator == "adem" else None
    return "" if found is None else f"{found[0]:.2f} / {found[1]:.2f} / {found[2]:.2f} (roberta-eval, HRED)"


def zhao_beside_without_truth(label: str) -> str:
    """The same without true replies."""
    return zhao_beside(label, ZHAO_TABLE_1_WITHOUT_TRUTH)


def of_study(result: StudyResult | None) -> list[str]:
    """A study as a table and its sentences."""
    if result is None:
        return ["There are too few replies for it."]
    rows = [[shown(cell) for cell in row] for row in result.rows]
    return [markdown(list(result.header), rows), "", *(f"- {finding}" for finding in result.findings)]


def area_under(higher: Scores, lower: Scores) -> float:
    """How often one of the first is above one of the second, ties counting half."""
    order = np.sort(lower)
    below = (np.searchsorted(order, higher, "left") + np.searchsorted(order, higher, "right")) / 2
    return float(below.mean() / len(lower))


def given_often(tested: LabelledSet, least: int = 3) -> NDArray[np.bool_]:
    """Which replies were given to so many contexts."""
    contexts: dict[str, set[int]] = {}
    for example, group in zip(tested.judged.examples, tested.groups.tolist(), strict=True):
        contexts.setdefault(example.response, set()).add(group)
    return np.array([len(contexts[example.response]) >= least for example in tested.judged.examples])


def print_speed(judged: JudgedSet, encoder: str) -> None:
    """Replies a second on one core, encoding included; texts that occur twice are encoded once."""
    import torch

    torch.set_num_threads(1)
    rated = judged.judged_examples()
    evaluator = Adem(encoder=encoder, components=50, gamma=0.02, towards="zero", dimension=SETS[judged.name])
    evaluator.fit((), rated)
    evaluator.score(judged.examples[:50])
    began, cpu = time.perf_counter(), time.process_time()
    evaluator.score(judged.examples)
    taken, busy = time.perf_counter() - began, time.process_time() - cpu
    count = len(judged)
    print(
        f"{judged.name}: {count} replies in {taken:.2f} s ({count / taken:,.0f}/s), {count / busy:,.0f}/s by processor"
    )


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


INTRODUCTION = """\
# ADEM measured

What [adem.md](adem.md) describes, on judged sets that anyone can have; adem's own data were never released. Intervals
are of 95 %, over contexts. Components, gamma and what the penalty draws to are chosen within each training fold, unless
a row says otherwise. `dot` is c^T r^ + r^T r^ of the encoder's own vectors, with nothing learned: vhred-dot, t2v-dot.
On published splits, ratings that stray from their reply's median are left out, as in roberta-eval.

The grid of settings was drawn up after both zhao2020 sets had been looked at, and the length-debiased variant was
mended (true replies left out of the trend) after its first result on DailyDialog had been seen.
"""

SECTION_TABLES = """
## Agreement with people

Replies to a context that one of the encoders was trained on are left out: {}.
"""

SECTION_7 = """
## While it trains (adem, Figure 7)

![correlation by epoch](adem-training.svg)

{set}: gradient descent as in adem (7 components, gamma .02, learning rate .01, batches of 16) on
four fifths of the contexts, correlation on the others, mean of five folds. Epoch 0 is M = N = I. In adem it is about 0
there; ours begin above, since the dot product of these vectors already tells something (the rows `dot` above).
"""

SECTION_LENGTH = """
## Length bias (adem, Table 8)

Out-of-fold scores, put to people's mean and variance. `length taken out`: the trend of training scores with the reply's
length, and with its distance from the reference's, is subtracted.
"""

SECTION_SPREAD = """
## Conservative scores (roberta-eval, Table 1)

Squared error rewards scores near the mean. In roberta-eval ADEM's standard deviation is .51 (.30 without true replies)
beside people's {} ({}).
"""

SECTION_LEFT_OUT = """
## One system left out (adem, Table 5)

50 components as in roberta-eval, gamma .02 as in adem, drawn towards the identity, which a first look at these sets had
favoured. A system is a model, whatever its decoding. adem's figures are means over its four systems.
"""

SECTION_AMOUNTS = """
## Amount of labels (adem, Table 14)

The same settings.
"""

SECTION_LIKENESS = """
## Human-likeness

Fitted on the other folds' replies: true ones against those of models; random ones are left out. The area is that under
the ROC curve, true replies against models'; means of scores have the number of replies beside them; generic replies are
those that models gave to three contexts or more. Pearson is with people's ratings, which it never saw.
"""


if __name__ == "__main__":
    main()
