"""Prints the tables of docs/results/default-blend.md.

    python recipes/blend_results.py left-out work/*.jsonl --member default@1 default-fast fluency --keep-scores scores
    python recipes/blend_results.py within work/*.jsonl --member default@1 default-fast fluency --keep-scores scores

`left-out`: each set is predicted by a blend fitted on the other sets, everything chosen on these alone. `within`: each
reply is predicted by a blend fitted on the other contexts of its own set (five folds). Both are compared with the first
member. `published`: on the test part of the split that a set was published with (files as they are in the data folder).
`garbled`: how often an intact reply scores above a broken one, for each member; the file is made by
`default_blend.py corruptions`. `--beside` adds members for comparison that are not part of the blend.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.data.judged import JudgedSource
from rejoinder.evaluators.blend.agreement import compared, mean_agreement
from rejoinder.evaluators.blend.blend import Blend, on_scale
from rejoinder.evaluators.blend.choosing import choose
from rejoinder.evaluators.blend.labelled import Labelled, RatedSet, rated_sets
from rejoinder.evaluators.blend.member_scores import SCORE, MemberScores
from rejoinder.evaluators.blend.members import load_member
from rejoinder.evaluators.calibration import assess
from rejoinder.learning.run import TrainingRun
from rejoinder.registry import load
from rejoinder.stats.correlation import pearson, spearman
from rejoinder.stats.formatting import bounds_text, signed
from rejoinder.stats.intervals import Interval
from rejoinder.text.grid import number

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


def predictions(arguments: argparse.Namespace, data: Labelled) -> Floats:
    """One prediction per reply, by a blend that was fitted without its set, or without its context."""
    if arguments.setting == "left-out":
        return choose(data, arguments.models, "sets", arguments.seed).held_out
    found = np.empty(len(data.human))
    for each in np.unique(data.sets):
        rows = data.sets == each
        found[rows] = choose(data.rows(rows), arguments.models, "contexts", arguments.seed).held_out
    return found


def shown(interval: Interval, *, sign: bool = False) -> str:
    """`.31 [.25, .37]`."""
    estimate = signed(interval.estimate, 3) if sign else number(interval.estimate)
    return f"{estimate} {bounds_text(interval, 3 if sign else 2)}"


def garbled(arguments: argparse.Namespace) -> None:
    """Print the area under the ROC curve of each member."""
    from scipy.stats import mannwhitneyu

    judged = [item for path in arguments.judged for item in JudgedSource(path).judged()]
    intact = np.array([item.scores["intact"][0] == 1 for item in judged])
    for name in arguments.member:
        scores = load(name).score([item.example for item in judged])
        area = mannwhitneyu(scores[intact], scores[~intact]).statistic / (intact.sum() * (~intact).sum())
        print(f"{name}: {area:.3f} ({len(judged)} replies)", flush=True)


def published(arguments: argparse.Namespace) -> None:
    """Print Pearson / Spearman correlation on the test part of each file's own split, fitted on its other parts."""
    run = TrainingRun(member_scores=arguments.keep_scores, quiet=True)
    for path in arguments.judged:
        judged = list(JudgedSource(path).judged())
        fitted = Blend(members=tuple(arguments.member), models=tuple(arguments.models), dimension=("overall",)).fit(
            (), [item for item in judged if item.split != "test"], seed=arguments.seed, run=run
        )
        test = [item for item in judged if item.split == "test"]
        people = np.array([np.mean(item.scores["overall"]) for item in test])
        for name, scorer in ((arguments.member[0], load(arguments.member[0])), ("blend", fitted)):
            scores = scorer.score([item.example for item in test])
            found = [number(measure(scores, people).coefficient) for measure in (pearson, spearman)]
            print(f"{Path(path).name}: {name} {' / '.join(found)} ({len(test)} replies)", flush=True)


def main() -> None:
    """Print one row per set, and the mean of those in MEASURED."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setting", choices=("left-out", "within", "published", "garbled"))
    parser.add_argument("judged", nargs="+")
    parser.add_argument("--member", nargs="+", required=True)
    parser.add_argument("--beside", nargs="+", default=[])
    parser.add_argument("--models", nargs="+", default=["ridge", "trees"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep-scores", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.setting in {"garbled", "published"}:
        (garbled if arguments.setting == "garbled" else published)(arguments)
        return
    sets: list[RatedSet] = rated_sets([item for path in arguments.judged for item in JudgedSource(path).judged()], ())
    data = Blend(members=tuple(arguments.member))._labelled(sets, arguments.keep_scores)
    found = predictions(arguments, data)
    first = np.nan_to_num(data.columns[:, data.names.index(arguments.member[0])])
    examples = [example for each in sets for example in each.examples]
    scores = MemberScores(examples, arguments.keep_scores)
    beside = [np.nan_to_num(scores.columns(load_member(spec))[SCORE]) for spec in arguments.beside]
    print(f"| judged set | replies | {' | '.join([*arguments.beside, arguments.member[0]])} | blend | gain |")
    print("|---" * (5 + len(beside)) + "|")
    names = [Path(each.name).stem for each in sets]
    parts = {name: data.sets == number for number, name in enumerate(names)}
    parts["mean of the seven"] = np.isin(data.sets, [place for place, name in enumerate(names) if name in MEASURED])
    for name, rows in parts.items():
        people = (data.human[rows], data.sets[rows])
        agreement, gain = compared(first[rows], found[rows], *people, data.groups[rows])
        others = [number(mean_agreement(column[rows], *people)) for column in (*beside, first)]
        cells = [name, f"{rows.sum():,}", *others, shown(agreement), shown(gain, sign=True)]
        print(f"| {' | '.join(cells)} |", flush=True)
    found_out = assess(on_scale(found), data.human, data.groups)
    coverage = found_out.coverage
    bounds = f"[{coverage.low:.1%}, {coverage.high:.1%}]"
    print(
        f"\n90 % intervals contain {coverage.estimate:.1%} {bounds} of the human scores; mean length "
        f"{found_out.width:.2f}, mean error {found_out.error:.2f}"
    )


if __name__ == "__main__":
    main()
