"""How often `rejoinder compare` is wrong where there is no difference, and right where it says that it would be.

python benchmarks/coverage.py --section verdicts
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rejoinder.arrays import Floats
from rejoinder.comparing import compare
from rejoinder.comparing.comparison import Comparison
from rejoinder.data.contexts import Grouping
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.correlation_intervals import independence_p_values
from rejoinder.stats.means import needed_examples
from rejoinder.stats.resampling import ALPHA

PERMUTATIONS = 999


@dataclass(frozen=True)
class Rate:
    """How often something happens over many data sets, and between which limits that is claimed to be."""

    title: str
    happens: Callable[[np.random.Generator], dict[str, bool]]
    limits: dict[str, tuple[float, float]]
    share: float = 1.0
    """The share of the data sets that are simulated, below 1 where one takes long."""


def table_of(scores: dict[str, Floats], dialogues: int = 0) -> ScoreTable:
    """The table of scores (systems, contexts) by metric; contexts of one dialogue follow each other."""
    systems, contexts = next(iter(scores.values())).shape
    of = np.tile(np.arange(contexts), systems)
    clusters = of // (contexts // dialogues) if dialogues else of
    return ScoreTable(
        {metric: values.reshape(-1) for metric, values in scores.items()},
        {metric: metric for metric in scores},
        tuple(f"s{place}" for place in range(systems)),
        np.repeat(np.arange(systems), contexts).astype(np.int32),
        grouping=Grouping(of, clusters, "dialogue" if dialogues else "context"),
    )


def compared(rng: np.random.Generator, table: ScoreTable, **settings: object) -> Comparison:
    """The comparison, with few permutations: an error of a percentage point in p is of no account here."""
    compare.FIRST_PERMUTATIONS = PERMUTATIONS
    return compare.compare_table(replace(table, seed=int(rng.integers(2**31))), **settings)  # type: ignore[arg-type]


def dialogue_rates() -> Iterator[Rate]:
    """No difference, 20 dialogues of 10 turns each; half of the variance of a difference is the dialogue's."""

    def happens(rng: np.random.Generator) -> dict[str, bool]:
        of = np.repeat(np.arange(20), 10)
        values = rng.normal(size=(2, 20))[:, of] + rng.normal(size=(2, 200))
        found = {"by dialogue": 20, "by context": 0}
        return {name: compared(rng, table_of({"metric": values}, n)).better is not None for name, n in found.items()}

    yield Rate("false positives, 20 dialogues x 10 turns", happens, {"by dialogue": (0.0, 0.06)})


def metric_rates() -> Iterator[Rate]:
    """No difference, 60 contexts, eight metrics that correlate at .3."""

    def happens(rng: np.random.Generator) -> dict[str, bool]:
        common = rng.normal(size=(2, 60))
        scores = {f"m{n}": np.sqrt(0.3) * common + np.sqrt(0.7) * rng.normal(size=(2, 60)) for n in range(8)}
        found = compared(rng, table_of(scores))
        return {
            "primary": found.better is not None,
            "any secondary": any(verdict.better for verdict in found.secondary_verdicts),
            "any, not corrected": any(verdict.result.p_value < ALPHA for verdict in found.verdicts),
        }

    yield Rate("false positives, 8 metrics", happens, {"primary": (0.0, 0.06), "any secondary": (0.0, 0.06)})


def system_rates() -> Iterator[Rate]:
    """Eight systems: no difference; and one that differs by .5 standard deviations, over as many contexts as needed."""

    def nothing(rng: np.random.Generator) -> dict[str, bool]:
        found = compared(rng, table_of({"metric": rng.normal(size=(8, 30))}))
        return {"any pair": any(verdict.better for verdict in found.verdicts)}

    yield Rate("false positives, 8 systems", nothing, {"any pair": (0.0, 0.06)})
    # Of eight equal systems all 28 pairs are open, so that the advice uses alpha / 28.
    needed = {"advice": needed_examples(0.5, alpha=ALPHA / 28), "not corrected": needed_examples(0.5)}

    def power(rng: np.random.Generator) -> dict[str, bool]:
        detected = {}
        for name, contexts in needed.items():
            values = rng.normal(size=(8, int(contexts))) / np.sqrt(2)  # differences have variance 1
            values[7] += 0.5
            found = compared(rng, table_of({"metric": values}))
            detected[name] = next(v for v in found.verdicts if (v.a, v.b) == ("s0", "s7")).better == "s7"
        return detected

    yield Rate("power with the needed contexts, 8 systems", power, {"advice": (0.75, 0.92)}, share=0.4)


def margin_rates() -> Iterator[Rate]:
    """What would have been detected; equivalence at and within the margin."""
    error = np.sqrt(2 / 50)

    def detects(rng: np.random.Generator) -> dict[str, bool]:
        values = rng.normal(size=(2, 50))
        (verdict,) = compared(rng, table_of({"metric": values})).verdicts
        values[1] += verdict.detectable
        return {"detected": compared(rng, table_of({"metric": values})).better == "s1"}

    yield Rate("power at the detectable difference, n = 50", detects, {"detected": (0.75, 0.85)})

    def equivalence(rng: np.random.Generator) -> dict[str, bool]:
        values, margin = rng.normal(size=(2, 50)), 3.2 * error
        at = np.stack([values[0], values[1] - margin])
        (none,), (just,) = (
            compared(rng, table_of({"metric": found}), margin=margin).verdicts for found in (values, at)
        )
        assert none.equivalence is not None
        assert just.equivalence is not None
        return {
            "no difference": none.equivalence.equivalent,
            "as large as the margin": just.equivalence.equivalent,
            "no worse, by the margin": just.equivalence.not_lower,
        }

    limits = {"as large as the margin": (0.0, 0.06), "no worse, by the margin": (0.0, 0.06)}
    yield Rate("equivalence within 3.2 standard errors", equivalence, limits | {"no difference": (0.8, 1.0)})


def correlation_rates() -> Iterator[Rate]:
    """`rejoinder trust` at utterance level, scores that have nothing to do with the labels: tied and rare ones, few."""
    for title, contexts, each in (("10 replies", 10, 1), ("20 replies", 20, 1), ("10 contexts x 4 replies", 10, 4)):

        def happens(rng: np.random.Generator, contexts: int = contexts, each: int = each) -> dict[str, bool]:
            of = np.repeat(np.arange(contexts), each)
            score, quality = (rng.normal(size=contexts)[of] + rng.normal(size=of.size) for _ in range(2))
            labels = {"ratings 1..3": np.digitize(quality, [-0.5, 0.8]), "1 in 5 yes": (quality > 1.2).astype(int)}
            found = {}
            for name, human in labels.items():
                drawn = {"n_permutations": PERMUTATIONS, "seed": int(rng.integers(2**31))}
                for kind in ("pearson", "kendall"):
                    p = independence_p_values(score[:, None], human, of, kind, **drawn)[0]
                    found[f"{name}, {kind}"] = bool(p < ALPHA)
            return found

        names = [f"{name}, {kind}" for name in ("ratings 1..3", "1 in 5 yes") for kind in ("pearson", "kendall")]
        yield Rate(f"false correlations, {title}", happens, dict.fromkeys(names, (0.0, 0.06)), share=0.5)


def rates(rate: Rate, n_datasets: int, seed: int = 0) -> dict[str, float]:
    """The share of data sets in which each thing happens."""
    rng = np.random.default_rng(seed)
    counts: dict[str, int] = {}
    for _ in range(n_datasets):
        for name, happened in rate.happens(rng).items():
            counts[name] = counts.get(name, 0) + happened
    return {name: count / n_datasets for name, count in counts.items()}


def all_rates() -> Iterator[Rate]:
    """Every claim about verdicts."""
    for found in (dialogue_rates, metric_rates, system_rates, margin_rates, correlation_rates):
        yield from found()


def print_rates(n_datasets: int, only: str = "") -> None:
    """Print how often each thing happens."""
    print(f"{'verdicts':<50} {'what':<24} {'rate':>7} {'sets':>5}  claim")
    for rate in all_rates():
        if only not in rate.title:
            continue
        n_sets = max(1, round(rate.share * n_datasets))
        for name, share in rates(rate, n_sets).items():
            low, high = rate.limits.get(name, (np.nan, np.nan))
            claim = "not claimed" if np.isnan(low) else f"{100 * low:.0f}..{100 * high:.0f}"
            held = "" if np.isnan(low) else " holds" if low <= share <= high else " MISSED"
            print(f"{rate.title:<50} {name:<24} {100 * share:>6.1f}% {n_sets:>5}  {claim}{held}", flush=True)
