"""Lowest acceptable means: `default=3.2` fails a run in which a system's mean is below 3.2."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.metrics.base import Metric
from rejoinder.scoring.reliability import REMEDY
from rejoinder.scoring.table import ScoreTable
from rejoinder.text.grid import number


@dataclass(frozen=True, slots=True)
class Threshold:
    """The lowest mean of a metric that passes."""

    metric: str
    lowest: float

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """The threshold in text such as "default=3.2"; a name may contain = itself, as in "bleu(n=2)=0.1"."""
        name, _, value = text.rpartition("=")
        try:
            lowest = float(value)
        except ValueError:
            lowest = math.nan
        if not name.strip() or not math.isfinite(lowest):
            raise CallError(f"a threshold must be NAME=NUMBER, such as default=3.2, not {shortened(text)}")
        return cls(name.strip(), lowest)

    def check_metric(self, metrics: Mapping[str, Metric]) -> None:
        """Raise a CallError where the metric is not among those that run, or lower scores of it are better."""
        if self.metric not in metrics:
            raise UnknownNameError("metric of the threshold", self.metric, metrics)
        if not metrics[self.metric].higher_is_better:
            raise CallError(f"lower scores of {self.metric} are better: expected a metric of which higher ones are")

    def failures(self, table: ScoreTable) -> Iterator[str]:
        """One sentence per system whose mean is below the threshold, or unknown."""
        for system, cell in table.summary()[self.metric].items():
            whose = f" of {system}" if system else ""
            if math.isnan(cell.mean):
                yield f"{self.metric}{whose} is unknown: no reply could be scored"
            elif cell.mean < self.lowest:
                found = f"{number(cell.mean)} [{number(cell.low)}, {number(cell.high)}]"
                yield f"{self.metric}{whose} is {found}, below {self.lowest:g}"


def undecided(thresholds: Iterable[Threshold], table: ScoreTable) -> list[str]:
    """One sentence for each threshold whose metric cannot judge the replies."""
    doubts = (table.doubt(threshold.metric) for threshold in thresholds)
    return [f"{doubt}. {REMEDY}" for doubt in doubts if doubt]


def failures(thresholds: Iterable[Threshold], table: ScoreTable) -> list[str]:
    """One sentence for each system and threshold that fails, of the metrics that can judge the replies."""
    able = (threshold for threshold in thresholds if not table.doubt(threshold.metric))
    return [failure for threshold in able for failure in threshold.failures(table)]
