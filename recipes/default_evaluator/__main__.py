"""All steps after one another, from the pretrained encoder to the folder that scores.

    python -m recipes.default_evaluator -o FOLDER --anchor mpnet                       # without labels
    python -m recipes.default_evaluator -o FOLDER --anchor mpnet --judged licensed     # as it ships
    python -m recipes.default_evaluator -o FOLDER --judged all                         # with all labels

A step whose file is in --work already is passed over, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recipes.default_evaluator.export import export
from recipes.default_evaluator.judged_sets import read_labels
from recipes.default_evaluator.labels import add_judged_option, chosen_sets, score_folds, train_labels
from recipes.default_evaluator.plan import add_options, plan_of
from recipes.default_evaluator.polish import polish
from recipes.default_evaluator.student import train_student
from recipes.default_evaluator.teacher import draw, teach
from recipes.default_evaluator.train_towers import train_towers


def main() -> None:
    """Run the recipe."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.default_evaluator",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder to write")
    add_judged_option(parser, [])
    add_options(parser)
    given = parser.parse_args()
    plan = plan_of(given)
    plan.work.mkdir(parents=True, exist_ok=True)
    train_towers(plan)
    weights = polish(plan, train_student(plan, [teach(plan), draw(plan)]))
    judged = chosen_sets(given.judged)
    out_of_fold = None
    if judged:
        labels = read_labels(plan.data, judged, plan.most_labels)
        out_of_fold = score_folds(plan, weights, labels)
        weights = train_labels(plan, weights, labels)
    export(plan, weights, given.output, judged=judged, out_of_fold=out_of_fold)


if __name__ == "__main__":
    main()
