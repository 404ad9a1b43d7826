"""How much a blend gains from a few hundred labels of a set, compared with its members.

    python benchmarks/blend_labels.py work/*.jsonl --labels 200 --keep-scores scores

For each judged file (recipes/default_blend.py writes them), contexts are drawn at random until they have so many
replies; a blend of the evaluators that come with the package is fitted on these and measured on the other contexts.
Where a set has too few replies for that, four fifths of its contexts are drawn. Means over the draws; "best member" is
the member that agrees best on the measured replies, which nobody knows beforehand.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.arrays import Bools, Ints
from rejoinder.data.judged import JudgedSource
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.blend.columns import LabelledRows, rated_sets
from rejoinder.evaluators.blend.fitting import BlendModels, choose_models
from rejoinder.show.text import grid, number_text
from rejoinder.stats.correlation import spearman

MEMBERS = ("default@1", "default-fast", "fluency")


def drawn(groups: Ints, replies: int, seed: int) -> Bools:
    """Which rows belong to contexts drawn until they have so many replies, at most four fifths of all."""
    order = np.random.default_rng(seed).permutation(groups.max() + 1)
    counts = np.cumsum(np.bincount(groups, minlength=len(order))[order])
    enough = int(np.searchsorted(counts, min(replies, 0.8 * len(groups)))) + 1
    return np.isin(groups, order[:enough])


def measured(data: LabelledRows, kinds: Sequence[str], rows: Bools, seed: int) -> dict[str, float]:
    """Agreement on the rows that were not drawn: of a blend fitted on those that were, and of the members."""
    fitting, rest = data.rows(rows), data.rows(~rows)
    chosen = choose_models(fitting, kinds, "contexts", seed).kinds
    models = BlendModels.fit(fitting, chosen, "contexts", seed)
    alone = {
        name: spearman(np.nan_to_num(rest.columns[:, data.names.index(name)]), rest.human).coefficient
        for name in MEMBERS
    }
    return {
        "blend": spearman(models.predict(rest.columns), rest.human).coefficient,
        "default@1": alone["default@1"],
        "best member": max(alone.values()),
        "labels": float(rows.sum()),
    }


def main() -> None:
    """Print one row per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judged", nargs="+")
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--models", nargs="+", default=["ridge"])
    parser.add_argument("--keep-scores", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    blend, lines = Blend(members=MEMBERS), []
    for path in arguments.judged:
        data = blend._labelled(rated_sets(list(JudgedSource(path).judged()), ()), arguments.keep_scores)
        draws = [
            measured(data, arguments.models, drawn(data.groups, arguments.labels, seed), seed)
            for seed in range(arguments.draws)
        ]
        means = {name: float(np.mean([draw[name] for draw in draws])) for name in draws[0]}
        wins = sum(draw["blend"] > draw["best member"] for draw in draws)
        shown = [number_text(means[name], 3) for name in ("default@1", "best member", "blend")]
        lines.append([Path(path).stem, f"{means['labels']:.0f}", *shown, f"{wins} of {len(draws)}"])
    print(grid(["judged set", "labels", "default@1", "best member", "blend", "draws won"], lines))


if __name__ == "__main__":
    main()
