"""Bootstrap intervals of 12 metrics' correlations over 40,000 judged examples, beside a plain scipy loop.

    python benchmarks/statistics_speed.py [--examples 40000] [--metrics 12] [--resamples 1000] [--peer-resamples 5]

Claimed: 1,000 resamples with Pearson and Spearman in under 60 s on two cores. The peer is what one writes by hand: draw
contexts, index the arrays, call scipy for each metric. It is timed on a few resamples and extrapolated, and says so;
its replicates are compared with ours on the same draws, so both do the same work. Beside the time on the clock stands
the processor's, which a busy machine does not stretch. Where Google's mt-metrics-eval can be
imported, its permutation test of two metrics stands beside ours.

Examples are as in a judged set of 20 systems: 20 replies a context, human means on 41 levels, real-valued scores.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rejoinder.arrays import Floats
from rejoinder.stats.correlation_intervals import correlation_replicates
from rejoinder.stats.correlation_tests import compare_correlations
from rejoinder.stats.means import compare_paired, compare_unpaired
from rejoinder.stats.resampling import bootstrap_counts, mean_intervals

PEERS: dict[str, Callable[..., Any]] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}
REPLIES = 20


def judged_set(n_examples: int, n_metrics: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Scores (examples, metrics), human means of ten raters on 1..5, contexts."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=n_examples)
    human = np.clip(np.round(10 * (3 + quality + 0.5 * rng.normal(size=n_examples))) / 10, 1, 5)
    scores = 0.4 * quality[:, None] + rng.normal(size=(n_examples, n_metrics))
    return scores, human, np.arange(n_examples) // REPLIES


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and of the processor."""

    clock: float
    processor: float

    def times(self, factor: float) -> Cost:
        """The cost of so many times the work."""
        return Cost(self.clock * factor, self.processor * factor)

    def __str__(self) -> str:
        return f"{self.clock:8.1f}s {self.processor:8.1f}s"


def cost(work: Callable[[], object]) -> Cost:
    """What the work takes."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - clock, time.process_time() - processor)


def plain_loop(scores: Floats, human: Floats, contexts: NDArray[np.int64], counts: Floats, kind: str) -> Floats:
    """The correlations of each resample, by indexing and scipy. (resamples, metrics)"""
    rows = []
    for draw in counts:
        index = np.repeat(np.arange(human.size), draw[contexts].astype(int))
        rows.append([PEERS[kind](column[index], human[index]).statistic for column in scores.T])
    return np.array(rows)


def correlation_table(arguments: argparse.Namespace) -> None:
    """Print what the bootstrap costs, and what the loop would."""
    scores, human, contexts = judged_set(arguments.examples, arguments.metrics)
    n, few = arguments.resamples, arguments.peer_resamples
    print(f"{arguments.examples:,} examples x {arguments.metrics} metrics, {n:,} resamples of contexts")
    print(f"scipy loop: {few} resamples timed, extrapolated to {n:,}\n")
    print(
        f"{'kind':<10} {'ours: clock':>12} {'cpu':>6}   {'loop: clock':>10} {'cpu':>6}   cpu ratio   largest difference"
    )
    ours_together = 0.0
    for kind in PEERS:
        found: list[Floats] = []
        ours = cost(lambda: found.append(correlation_replicates(scores, human, contexts, n, 0, [kind])[kind]))  # noqa: B023
        counts = bootstrap_counts(contexts, n, 0)[:few]
        loop = cost(lambda: found.append(plain_loop(scores, human, contexts, counts, kind))).times(n / few)  # noqa: B023
        apart = float(np.abs(found[1] - found[0][:few]).max())
        print(f"{kind:<10} {ours}   {loop} {loop.processor / ours.processor:>9.1f}x {apart:>18.0e}", flush=True)
        ours_together += ours.clock if kind != "kendall" else 0
    print(f"\nPearson and Spearman together: {ours_together:.1f} s on the clock (claim: under 60 s)\n")


def other_costs(arguments: argparse.Namespace) -> None:
    """Print what the other procedures cost on the same data."""
    scores, human, contexts = judged_set(arguments.examples, arguments.metrics)
    a, b = scores[:, 0], scores[:, 1]
    print(f"{'other procedures':<42} {'clock':>9} {'cpu':>9}")
    many = np.random.default_rng(0).normal(size=(100_000, 1))
    half = arguments.examples // 2
    jobs: dict[str, Callable[[], object]] = {
        "intervals of all means, contexts": lambda: mean_intervals(scores, contexts),
        "interval of the mean of 19,999": lambda: mean_intervals(many[:19_999]),
        "interval of the mean of 100,000": lambda: mean_intervals(many),
        "paired comparison, 9,999 permutations": lambda: compare_paired(a, b, contexts),
        "unpaired comparison, 9,999 permutations": lambda: compare_unpaired(
            a[:half], b[half:], contexts[:half], contexts[half:]
        ),
        "two Pearson correlations, 1,000 swaps": lambda: compare_correlations(a, b, human, contexts),
        "two Spearman correlations, 1,000 swaps": lambda: compare_correlations(a, b, human, contexts, kind="spearman"),
    }
    for name, work in jobs.items():
        print(f"{name:<42} {cost(work)}", flush=True)


def mt_metrics_eval_table(arguments: argparse.Namespace) -> None:
    """Print the permutation test of two metrics beside that of mt-metrics-eval, where it can be imported."""
    # A package of that name that is not Google's is on some indexes: only its stats module tells.
    if importlib.util.find_spec("mt_metrics_eval") is None:
        print("\nmt-metrics-eval (google-research) is not installed: not measured")
        return
    peer = importlib.import_module("mt_metrics_eval.stats")

    scores, human, _ = judged_set(arguments.examples, 2)
    n_systems = REPLIES
    first, second = (peer.Correlation(n_systems, human.tolist(), scores[:, j].tolist()) for j in (0, 1))
    theirs = cost(lambda: peer.PermutationSigDiff(first, second, stats.pearsonr, "none", 1000))
    own = cost(lambda: compare_correlations(scores[:, 0], scores[:, 1], human, n_resamples=1))
    print(f"\npermutation test of two Pearson correlations, 1,000 swaps: {own}, mt-metrics-eval {theirs}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=40_000)
    parser.add_argument("--metrics", type=int, default=12)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--peer-resamples", type=int, default=5)
    arguments = parser.parse_args()
    correlation_table(arguments)
    other_costs(arguments)
    mt_metrics_eval_table(arguments)


if __name__ == "__main__":
    main()
