"""Prints the tables of docs/results/default-blend.md.

    python recipes/blend_results.py left-out work/*.jsonl --member default@1 default-fast fluency --keep-scores scores
    python recipes/blend_results.py within work/*.jsonl --member default@1 default-fast fluency --keep-scores scores

`left-out`: each set is predicted by a blend fitted on the other sets, everything chosen on these alone. `within`: each
reply is predicted by a blend fitted on the other contexts of its own set (five folds). Both are compared with the first
member. `published`: on the test part of the split that a set was published with (files as they are in the data folder).
`garbled`: how often an intact reply scores above a broken one, for each member; the file is made by
`default_blend.py corruptions`. `--beside` adds members for comparison that are not part of the blend.
`trade-off`: the mean correlation of `left-out` if the set `--made` (by `default_blend.py generic`) is fitted too, with
less weight than the others or the same, and how often the better reply of `--tested` scores above a worse one.
`penalty`: the same if a penalty is subtracted from the prediction for each stock reply, and the mean difference between
the systems `good` and `generic` in the files `--examples`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu, wilcoxon

from rejoinder.arrays import Bools, Floats
from rejoinder.data.judged import JudgedSource
from rejoinder.data.source import read
from rejoinder.evaluators.blend.blend import Blend, load_member, standard_on_scale
from rejoinder.evaluators.blend.columns import SCORE, LabelledRows, MemberScores, RatedSet, rated_sets
from rejoinder.evaluators.blend.fitting import BlendModels, choose_models, compared, mean_agreement
from rejoinder.evaluators.calibration import assess
from rejoinder.learning.run import TrainingRun
from rejoinder.registry import load
from rejoinder.show.text import bounds_text, number_text, signed
from rejoinder.stats.correlation import pearson, spearman
from rejoinder.stats.intervals import Interval
from rejoinder.types import JudgedExample

MEASURED = (
    "zhao2020_dailydialog",
    "zhao2020_personachat",
    "gupta2019_dailydialog",
    "grade_dailydialog",
    "grade_empatheticdialogues",
    "usr_personachat",
    "holistic_context",
)
"""The sets whose mean is reported: the network was not trained on their labels."""
STOCK = "log usual reply"
"""The column that is above 0 for stock replies."""


def predictions(arguments: argparse.Namespace, data: LabelledRows) -> Floats:
    """One prediction per reply, by a blend that was fitted without its set, or without its context."""
    if arguments.setting == "left-out":
        return choose_models(data, arguments.models, "sets", arguments.seed).held_out
    found = np.empty(len(data.human))
    for each in np.unique(data.sets):
        rows = data.sets == each
        found[rows] = choose_models(data.rows(rows), arguments.models, "contexts", arguments.seed).held_out
    return found


def stem(path: str) -> str:
    """The name of a file without its ending."""
    return Path(path).stem


def sets_of(paths: Sequence[str]) -> list[RatedSet]:
    """The judged sets of some files."""
    return rated_sets([item for path in paths for item in JudgedSource(path).judged()], ())


def member_run(arguments: argparse.Namespace) -> TrainingRun:
    """Where members' scores are kept."""
    return TrainingRun(member_scores=arguments.keep_scores, quiet=True)


def shown(interval: Interval, *, sign: bool = False) -> str:
    """`.31 [.25, .37]`."""
    estimate = signed(interval.estimate, 3) if sign else number_text(interval.estimate)
    return f"{estimate} {bounds_text(interval, 3 if sign else 2)}"


def garbled(arguments: argparse.Namespace) -> None:
    """Print the area under the ROC curve of each member."""
    judged = [item for path in arguments.judged for item in JudgedSource(path).judged()]
    intact = np.array([item.scores["intact"][0] == 1 for item in judged])
    for name in arguments.member:
        area = area_above(load(name).score([item.example for item in judged]), intact)
        print(f"{name}: {area:.3f} ({len(judged)} replies)", flush=True)


def trade_off(arguments: argparse.Namespace) -> None:
    """Print one row per weight of the set that was made by rules."""
    if arguments.made == arguments.tested:
        raise SystemExit("--made and --tested are the same file: expected two")
    paths = [*arguments.judged, arguments.made, arguments.tested]
    sets = sets_of(paths)
    data = Blend(members=tuple(arguments.member))._labelled(sets, member_run(arguments))
    made, tested = len(sets) - 2, data.sets == len(sets) - 1
    measured = [number for number, each in enumerate(sets) if stem(each.name) in MEASURED]
    rows = np.isin(data.sets, measured)
    print("| weight | mean of the seven | better reply above worse |")
    print("|---|---|---|")
    for weight in (0.0, 0.1, 0.2, 0.4, 1.0):
        weighted = replace(data, weights=np.where(data.sets == made, weight * data.weights, data.weights))
        fitted = ~tested & (data.sets != made if weight == 0 else True)
        found = np.empty(len(data.human))
        for each in measured:
            models = BlendModels.fit(
                weighted.rows(fitted & (data.sets != each)), arguments.models, "sets", arguments.seed
            )
            found[data.sets == each] = models.predict(data.columns[data.sets == each])
        mean = mean_agreement(found[rows], data.human[rows], data.sets[rows])
        models = BlendModels.fit(weighted.rows(fitted), arguments.models, "sets", arguments.seed)
        area = area_above(models.predict(data.columns[tested]), data.human[tested] > data.human[tested].mean())
        print(f"| {weight:g} | {number_text(mean)} | {number_text(area)} |", flush=True)


def penalty(arguments: argparse.Namespace) -> None:
    """Print one row per penalty for stock replies."""
    sets = sets_of(arguments.judged)
    blend = Blend(members=tuple(arguments.member))
    data = blend._labelled(sets, member_run(arguments))
    measured = np.isin(data.sets, [place for place, each in enumerate(sets) if stem(each.name) in MEASURED])
    people = (data.human[measured], data.sets[measured], data.groups[measured])
    first = np.nan_to_num(data.columns[:, data.names.index(arguments.member[0])])[measured]
    found = choose_models(data, arguments.models, "sets", arguments.seed).held_out[measured]
    stock = data.columns[measured, data.names.index(STOCK)] > 0
    models = BlendModels.fit(data, arguments.models, "sets", arguments.seed)
    pairs = [good_and_generic(blend, models, path, arguments) for path in arguments.examples]
    print(f"standard deviation of the predictions: {found.std():.2f}\n")
    print(f"| {' | '.join(['penalty', 'mean of the seven', 'gain', *map(stem, arguments.examples)])} |")
    print("|---" * (3 + len(pairs)) + "|")
    for size in (0.0, 0.1, 0.2, 0.3, 0.6):
        agreement, gain = compared(first, found - size * stock, *people)
        cells = [f"{size:g}", number_text(agreement.estimate), shown(gain, sign=True)]
        for scores, stock_too in pairs:
            differences = np.subtract(*(scores - size * stock_too))
            cells.append(f"{differences.mean():+.2f} (p = {wilcoxon(differences).pvalue:.3f})")
        print(f"| {' | '.join(cells)} |", flush=True)


def good_and_generic(
    blend: Blend, models: BlendModels, path: str, arguments: argparse.Namespace
) -> tuple[Floats, Bools]:
    """The predictions of good and generic replies to the same contexts, and which are stock replies. (2, contexts)"""
    # A set must have ratings; these are not used.
    judged = [JudgedExample(each, {"any": (float(place),)}) for place, each in enumerate(read(path))]
    data = blend._labelled(rated_sets(judged, ()), member_run(arguments))
    of = {
        system: {each.example.context: row for row, each in enumerate(judged) if each.example.system == system}
        for system in ("good", "generic")
    }
    rows = np.array([[of[system][context] for context in of["good"]] for system in of])
    return models.predict(data.columns)[rows], data.columns[:, data.names.index(STOCK)][rows] > 0


def area_above(scores: Floats, better: Bools) -> float:
    """The area under the ROC curve: how often a better reply scores above a worse one."""
    return float(mannwhitneyu(scores[better], scores[~better]).statistic / (better.sum() * (~better).sum()))


def published(arguments: argparse.Namespace) -> None:
    """Print Pearson / Spearman correlation on the test part of each file's own split, fitted on its other parts."""
    run = member_run(arguments)
    for path in arguments.judged:
        judged = list(JudgedSource(path).judged())
        fitted = Blend(members=tuple(arguments.member), models=tuple(arguments.models), dimension=("overall",)).fit(
            (), [item for item in judged if item.split != "test"], seed=arguments.seed, run=run
        )
        test = [item for item in judged if item.split == "test"]
        people = np.array([np.mean(item.scores["overall"]) for item in test])
        for name, scorer in ((arguments.member[0], load(arguments.member[0])), ("blend", fitted)):
            scores = scorer.score([item.example for item in test])
            found = [number_text(measure(scores, people).coefficient) for measure in (pearson, spearman)]
            print(f"{Path(path).name}: {name} {' / '.join(found)} ({len(test)} replies)", flush=True)


OTHER_SETTINGS = {"published": published, "garbled": garbled, "trade-off": trade_off, "penalty": penalty}


def main(given: Sequence[str] | None = None) -> None:
    """Print one row per set, and the mean of those in MEASURED."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setting", choices=("left-out", "within", *OTHER_SETTINGS))
    parser.add_argument("judged", nargs="+")
    parser.add_argument("--member", nargs="+", required=True)
    parser.add_argument("--beside", nargs="+", default=[])
    parser.add_argument("--made")
    parser.add_argument("--tested")
    parser.add_argument("--examples", nargs="+", default=[])
    parser.add_argument("--models", nargs="+", default=["ridge", "trees"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep-scores", type=Path, metavar="FOLDER")
    arguments = parser.parse_args(given)
    if arguments.setting in OTHER_SETTINGS:
        OTHER_SETTINGS[arguments.setting](arguments)
        return
    sets: list[RatedSet] = sets_of(arguments.judged)
    data = Blend(members=tuple(arguments.member))._labelled(sets, member_run(arguments))
    found = predictions(arguments, data)
    first = np.nan_to_num(data.columns[:, data.names.index(arguments.member[0])])
    examples = [example for each in sets for example in each.examples]
    scores = MemberScores(examples, arguments.keep_scores)
    beside = [np.nan_to_num(scores.columns(load_member(spec))[SCORE]) for spec in arguments.beside]
    print(f"| judged set | replies | {' | '.join([*arguments.beside, arguments.member[0]])} | blend | gain |")
    print("|---" * (5 + len(beside)) + "|")
    names = [stem(each.name) for each in sets]
    parts = {name: data.sets == number for number, name in enumerate(names)}
    parts["mean of the seven"] = np.isin(data.sets, [place for place, name in enumerate(names) if name in MEASURED])
    for name, rows in parts.items():
        people = (data.human[rows], data.sets[rows])
        agreement, gain = compared(first[rows], found[rows], *people, data.groups[rows])
        others = [number_text(mean_agreement(column[rows], *people)) for column in (*beside, first)]
        cells = [name, f"{rows.sum():,}", *others, shown(agreement), shown(gain, sign=True)]
        print(f"| {' | '.join(cells)} |", flush=True)
    found_out = assess(standard_on_scale(found), data.human, data.groups)
    coverage = found_out.coverage
    bounds = f"[{coverage.low:.1%}, {coverage.high:.1%}]"
    print(
        f"\n90 % intervals contain {coverage.estimate:.1%} {bounds} of the ratings; mean length "
        f"{found_out.width:.2f}, mean error {found_out.error:.2f}"
    )


if __name__ == "__main__":
    main()
