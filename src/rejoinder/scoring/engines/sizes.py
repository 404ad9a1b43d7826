"""Where batches are cut, and how many processes score them.

Scores of an evaluator depend on the batch in the last bits. So batches are cut at places that depend on the data and
the metrics only, and every number of processes gives the same scores; those of torch also depend on its number of
threads in the last bits (docs/reference/determinism.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from rejoinder.data.survey import Survey
from rejoinder.errors import CallError
from rejoinder.metrics.base import Metric
from rejoinder.metrics.batch import BATCH
from rejoinder.scoring.scorer import Scorer
from rejoinder.threads import usable_cores

SLOW_BATCH = 512
"""Examples per batch where a reply takes milliseconds: some seconds of work, to be shared and to be resumed after."""
FEWEST_FAST = 300_000
"""Examples times metrics from which processes pay for fast metrics.

Measured (`benchmarks/scale.py --only fewest`, CPU time on a busy machine): starting two processes takes 1 to 2 s. Then
1,000 replies take 40 ms in the process that reads and sends them, and what the metrics take plus about 10 ms in the
others. In one process they take 34 ms with `bleu-2`, which is less than reading and sending, and 117 ms with seven
metrics. So two processes on two cores save 42 ms per 1,000 replies with seven metrics, and pay from 25,000 replies on;
with one metric they save little or nothing, whatever the number of replies. The limit is a little higher than that,
because short runs gain little.
"""

THREADS_USE = 0.65
"""The share of the cores that the threads of one process make use of: an evaluator on two threads takes 1.4 to 1.6
times the CPU time that it takes on one."""


def batch_size(metrics: Mapping[str, Metric], seen: Survey, largest: int = BATCH) -> int:
    """Examples per batch.

    Replies of several systems to one context may be far apart in a file. An evaluator reads their context once if they
    are in one batch, so such files are not cut into small ones.
    """
    slow = any(metric.is_slow for metric in metrics.values())
    return min(largest, SLOW_BATCH) if slow and len(seen.systems) == 1 else largest


def processes_for(jobs: int | None, scorer: Scorer, count: int, size: int) -> int:
    """How many processes score; 1: this one. `jobs` is what the user asked for; None: as many as pay."""
    reason = _one_process_only(scorer)
    if reason:
        if jobs is not None and jobs > 1:
            raise CallError(f"{reason}: expected jobs=1")
        return 1
    batches = -(-count // size)
    if jobs is None:
        slow = any(metric.is_slow for metric in scorer.metrics.values())
        cores = usable_cores() if slow or count * len(scorer.metrics) >= FEWEST_FAST else 1
        longest = size * -(-batches // cores)  # replies of the process that has most of them
        jobs = cores if longest < count / (cores * THREADS_USE) else 1
    return max(1, min(jobs, batches))


def check_shareable(scorer: Scorer) -> None:
    """Raise a CallError for metrics that only one process can score with."""
    reason = _one_process_only(scorer)
    if reason:
        raise CallError(f"{reason}: expected --engine local")


def _one_process_only(scorer: Scorer) -> str:
    """Why the metrics cannot be shared among processes; "" where they can."""
    for label, metric in scorer.metrics.items():
        if any(part.one_process for part in (metric, *metric.parts)):
            return f"{label} has limits that several processes would each use up"
        if any(type(part).__module__ == "__main__" for part in (metric, *metric.parts)):
            return f"{label} is defined in a script, which other processes do not read"
    return "" if scorer.can_be_shared else "a metric counts in a way that cannot be shared (state and merge)"
