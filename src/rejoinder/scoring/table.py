"""The scores of many examples by several metrics: means, slices, thresholds, and the metric that decides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import rejoinder
from rejoinder.arrays import Ints
from rejoinder.data.contexts import Grouping
from rejoinder.data.records import LENGTH, TURNS
from rejoinder.data.replay import Replay
from rejoinder.data.source import in_batches
from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.metrics.base import Metric
from rejoinder.options import RESAMPLES
from rejoinder.scoring.reliability import OTHER_METRICS, Doubts, reason
from rejoinder.show.document import Block, Cell, Column, Document, Made, Result, Say, SystemName, Table
from rejoinder.show.markup import decimals_for
from rejoinder.show.text import number_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_intervals
from rejoinder.types import Example, Scores

if TYPE_CHECKING:
    import pandas
    import polars

    from rejoinder.show.figures import HistogramPanel, IntervalPanel
    from rejoinder.show.plots import Figure

# The scores of many examples by several metrics: the result of `score`, and the input of comparisons and reports.


_MANY_ROWS = 1_000_000
"""Rows from which columns are summarised one by one."""

CAUTION = (
    "{count} rows: among many, some stand out by chance, and small slices have wide intervals. Test a slice that "
    "stands out on new data before you rely on it."
)


NOT_QUALITIES = frozenset({"specificity"})
"""Metrics of a limited range whose higher scores are not better: typos are rare words, too."""

MOST_PLOTTED = 12
"""Systems in the figure at the top of a page; all are in the tables."""
_NOT_PAGE: tuple[Any, ...] = ("text", "markdown", "latex")

DIVERSITIES = frozenset({"distinct"})
"""Metrics of which the score of all replies together says what no mean does: how far replies repeat each other."""
_DIFFERENT = 0.05
"""A difference between the two that is worth showing."""

PLOTS = ("means", "histogram")
"""The kinds of figure that a table of scores can draw."""


@dataclass(frozen=True, slots=True)
class SystemMean:
    """One metric over one system's replies."""

    mean: float
    low: float
    high: float
    """`low` and `high`: 95 % interval of the mean."""
    n: int
    """The number of replies that the metric could score."""
    std: float
    corpus: float
    """The metric's corpus-level score; the mean where it defines none."""
    signature: str

    @property
    def interval(self) -> Interval:
        """The mean with its interval."""
        return Interval(self.mean, self.low, self.high)


@dataclass(frozen=True, repr=False)
class ScoreTable(Result):
    """One column per metric, one row per example."""

    scores: Mapping[str, Scores]
    """Metric label -> one score per example."""
    signatures: Mapping[str, str]
    system_names: tuple[str, ...]
    system_of: NDArray[np.int32]
    """One index into `system_names` per example."""
    ids: Sequence[str] = ()
    corpus: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Metric label -> system -> corpus-level score, where the metric defines one."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    higher_is_better: Mapping[str, bool] = field(default_factory=dict)
    intervals: Mapping[str, tuple[Scores, Scores]] = field(default_factory=dict)
    """Metric label -> lower and upper bounds expected to contain the rating of each example, where asked for."""
    notes: tuple[str, ...] = ()
    """What a reader should know: metrics left out, empty replies, replies that could not be scored."""
    doubts: Mapping[str, Doubts] = field(default_factory=dict)
    """Metric label -> system -> its replies that the metric cannot be relied on for, where there are any."""
    allows_doubt: bool = False
    """Whether metrics decide all the same."""
    languages: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """System -> code of a language -> replies, where a metric depends on the language."""
    grouping: Grouping | None = None
    """Which replies are not independent; None: each reply stands for itself."""
    known_bounds: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """Metric label -> system -> interval of the mean, for a table whose examples, and so their contexts, are not at
    hand."""
    slices: tuple[Slices, ...] = ()
    """By which fields results are also shown separately."""
    seed: int = 0
    resamples: int = RESAMPLES
    replies: Replay | None = field(default=None, compare=False, repr=False)
    """The replies, in the order of the rows, where a report can read their texts; a copy that was pickled has none."""
    labels: Scores | None = field(default=None, compare=False, repr=False)
    """People's labels of the replies, NaN where there is none, by which a report chooses what it shows first."""
    reasoning: Mapping[str, Metric] = field(default_factory=dict, compare=False, repr=False)
    """Metric label -> the metric, of those that give reasons for their scores."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "replies": None, "reasoning": {}}

    def __len__(self) -> int:
        return len(self.system_of)

    def __getitem__(self, metric: str) -> Scores:
        if not isinstance(metric, str) or metric not in self.scores:
            raise UnknownNameError("column", metric, self.scores)
        return self.scores[metric]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The labels of the metrics, in the order of their columns."""
        return tuple(self.scores)

    def failures(self, lowest: Mapping[str, float]) -> list[str]:
        """One sentence for each system whose mean is below the lowest one of a metric: {"default": 3.2}.

        A metric that cannot judge the replies fails nothing: see `undecided`.
        """
        check_lowest_means(lowest, self.higher_is_better)
        found = []
        for metric in (each for each in lowest if not self.doubt(each)):
            for system, cell in self.summary()[metric].items():
                whose = f" of {system}" if system else ""
                if math.isnan(cell.mean):
                    found.append(f"{metric}{whose} is unknown: no reply could be scored")
                elif cell.mean < lowest[metric]:
                    mean = f"{number_text(cell.mean)} [{number_text(cell.low)}, {number_text(cell.high)}]"
                    found.append(f"{metric}{whose} is {mean}, below {lowest[metric]:g}")
        return found

    def undecided(self, metrics: Iterable[str]) -> list[str]:
        """One sentence for each of these metrics that cannot judge the replies, with the remedy."""
        return [f"{doubt}. What to do: {OTHER_METRICS}" for doubt in map(self.doubt, metrics) if doubt]

    def rows_of(self, system: str) -> NDArray[np.int64]:
        """The rows of one system."""
        if system not in self.system_names:
            raise UnknownNameError("system", system, self.system_names)
        return np.flatnonzero(self.system_of == self.system_names.index(system))

    def where(self, rows: NDArray[np.int64]) -> ScoreTable:
        """The table of some rows, without corpus-level scores, notes, doubts and slices."""
        return replace(
            self,
            scores={label: column[rows] for label, column in self.scores.items()},
            system_of=self.system_of[rows],
            ids=[self.ids[row] for row in rows.tolist()] if self.ids else (),
            intervals={label: (low[rows], high[rows]) for label, (low, high) in self.intervals.items()},
            corpus={},
            notes=(),
            doubts={},
            languages={},
            grouping=self.grouping.where(rows) if self.grouping else None,
            known_bounds={},
            slices=(),
            replies=None,
            labels=None,
        )

    def sliced(self, slices: Slices) -> dict[str, ScoreTable]:
        """Value of the field -> the table of its replies."""
        return {value: self.where(np.flatnonzero(slices.codes == code)) for code, value in enumerate(slices.values)}

    def family_of(self, label: str) -> str:
        """The metric without its parameters, which its variants share: bleu of bleu-2."""
        name, _, parameters = self.signatures.get(label, label).partition("|")
        return name if parameters else label

    def says_better(self, label: str) -> bool:
        """Whether a metric says which replies are better: not the length, nor how rare the words are."""
        return math.isfinite(self.ranges.get(label, (0.0, 1.0))[1]) and self.family_of(label) not in NOT_QUALITIES

    def diversity(self) -> dict[str, dict[str, float]]:
        """Metric -> system -> its score of all replies together, where that differs from the mean over replies."""
        found: dict[str, dict[str, float]] = {}
        for label, cells in self.summary().items():
            whole = {system: cell.corpus for system, cell in cells.items()}
            differs = any(abs(cell.corpus - cell.mean) >= _DIFFERENT for cell in cells.values())
            if self.family_of(label) in DIVERSITIES and label in self.corpus and differs:
                found[label] = whole
        return found

    @cached_property
    def _summary(self) -> dict[str, dict[str, SystemMean]]:
        summary: dict[str, dict[str, SystemMean]] = {label: {} for label in self.scores}
        for system in self.system_names:
            for label, column, interval in self._intervals(self.rows_of(system)):
                known = column[~np.isnan(column)]
                # A mean cannot lie outside the metric's range.
                bounds = interval.within(self.ranges.get(label, (-np.inf, np.inf)))
                low, high = self.known_bounds.get(label, {}).get(system, (bounds.low, bounds.high))
                summary[label][system] = SystemMean(
                    mean=interval.estimate,
                    low=low,
                    high=high,
                    n=len(known),
                    std=float(known.std(ddof=1)) if len(known) > 1 else float("nan"),
                    corpus=self.corpus.get(label, {}).get(system, interval.estimate),
                    signature=self.signatures[label],
                )
        return summary

    def _intervals(self, rows: NDArray[np.int64]) -> Iterator[tuple[str, Scores, Interval]]:
        """Metric, its scores of some rows, and their mean with its interval."""
        groups = self.grouping.clusters[rows] if self.grouping else None
        # Where the rows are many, one metric at a time: the resamples of all are the same.
        for some in in_batches(self.scores, len(self.scores) if len(rows) < _MANY_ROWS else 1):
            matrix = np.stack([self.scores[label][rows] for label in some], axis=1)
            limits = [*map(self.limits, some)]
            intervals = mean_intervals(matrix, groups, self.resamples, seed=self.seed, limits=limits)
            yield from zip(some, matrix.T, intervals, strict=True)

    def limits(self, label: str) -> tuple[float, float] | None:
        """The ends of a metric's range; None where one is open or unknown."""
        ends = self.ranges.get(label)
        return ends if ends is not None and np.isfinite(ends).all() else None

    @property
    def resampled(self) -> str:
        """What intervals treat as independent: "reply", "context" or "dialogue"."""
        if self.grouping is None:
            return "reply"
        alone = all(
            len(np.unique(self.grouping.clusters[rows])) == len(rows) for rows in map(self.rows_of, self.system_names)
        )
        return "reply" if alone else self.grouping.unit

    def doubt(self, label: str, systems: Sequence[str] | None = None) -> str:
        """Why nothing is decided by a metric for these systems (all, unless named), as a clause; "" if it can be."""
        if self.allows_doubt:
            return ""
        named = self.system_names if systems is None else systems
        return reason(label, self.doubts.get(label, {}), named, self.languages)

    def summary(self) -> dict[str, dict[str, SystemMean]]:
        """Metric -> system -> mean with its 95 % interval, number of scored replies, signature."""
        return self._summary

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain values; an unknown number is None."""
        summary = {
            label: {system: json_ready(asdict(cell)) for system, cell in systems.items()}
            for label, systems in self.summary().items()
        }
        told = {
            "examples": len(self),
            "seed": self.seed,
            "resampled": self.resampled,
            "warnings": list(self.notes),
            "doubts": {
                label: {system: found.to_dict() for system, found in systems.items()}
                for label, systems in self.doubts.items()
            },
            "languages": {system: dict(counts) for system, counts in self.languages.items()},
            "summary": summary,
        }
        if self.slices:
            told["slices"] = {
                slices.field: {value: part.to_dict()["summary"] for value, part in self.sliced(slices).items()}
                for slices in self.slices
            }
        return told

    @property
    def columns(self) -> dict[str, Scores]:
        """Name -> numbers, as in a score file: each metric, followed by its NAME.low and NAME.high if it has them."""
        columns: dict[str, Scores] = {}
        for label, scores in self.scores.items():
            columns[label] = scores
            if label in self.intervals:
                columns |= zip(interval_columns(label), self.intervals[label], strict=True)
        return columns

    def to_polars(self) -> polars.DataFrame:
        """Columns id, system, and one per metric, with the bounds of its intervals if it has them."""
        import polars as pl

        names = np.array(self.system_names, dtype=object)[self.system_of].tolist()
        columns: dict[str, Any] = {"id": list(self.ids), "system": names} if self.ids else {"system": names}
        frame = pl.DataFrame(columns | self.columns)
        return frame.with_columns(pl.col(list(self.columns)).fill_nan(None))

    def to_pandas(self) -> pandas.DataFrame:
        """Columns id, system, and one per metric (NaN: could not be scored)."""
        import pandas as pd

        return pd.DataFrame(self.to_polars().to_dict(as_series=False)).astype(dict.fromkeys(self.columns, "float64"))

    def means_panel(self, metric: str, systems: Sequence[str] | None = None) -> IntervalPanel:
        """The mean of each system with its 95 % interval, in the given order."""
        from rejoinder.show.figures import IntervalPanel

        named = self.system_names if systems is None else systems
        cells = self.summary()[metric]
        rows = [(name or "replies", cells[name].interval) for name in named]
        colours = tuple(self.system_names.index(name) for name in named)
        lower = "" if self.higher_is_better.get(metric, True) else ", lower is better"
        title = f"Mean {metric} with 95 % intervals{lower}"
        return IntervalPanel(title, tuple(rows), colours, decimals_for(self[metric]))

    def histogram_panel(self, metric: str) -> HistogramPanel:
        """The distribution of the scores of each system."""
        from rejoinder.show.figures import HistogramPanel

        column = self[metric]
        groups = tuple((name or "replies", column[self.rows_of(name)]) for name in self.system_names)
        return HistogramPanel(f"Distribution of {metric}", groups)

    def plot(self, metric: str | None = None, *, kind: str = "means") -> Figure:
        """A figure of one metric, by default the first: the "means" of all systems, or a "histogram" of each.

        The figure is that of the report. A notebook shows it; `save` writes it to an SVG file.
        """
        from rejoinder.show.plots import Figure

        if not self.metrics:
            raise CallError("a figure needs the scores of at least one metric")
        label = self.metrics[0] if metric is None else metric
        self[label]  # an unknown name is an error that lists the near ones
        if kind not in PLOTS:
            raise UnknownNameError("kind of plot", kind, PLOTS)
        panel = self.means_panel(label) if kind == "means" else self.histogram_panel(label)
        return Figure.of(panel.title, [panel])

    def document(self) -> Document:
        """One row per metric, one column per system: the mean with its 95 % interval; slices; single replies.

        As a page, that of several systems is their comparison.
        """
        systems = [
            Column(SystemName(name or "replies", number), digits=3) for number, name in enumerate(self.system_names)
        ]
        rows: list[list[Cell]] = []
        for label, cells in self.summary().items():
            rows.append([label, *(cell.interval for cell in cells.values())])
            if whole := self.diversity().get(label):
                rows.append([all_replies(label), *whole.values()])
        blocks: list[Block] = [Table(["metric", *systems], rows, only=_NOT_PAGE)]
        if self.resampled != "reply":
            found_by = f" ({self.grouping.found_by})" if self.grouping and self.grouping.found_by else ""
            said = f"Every reply counts equally; intervals resample {self.resampled}s{found_by}, not replies."
            blocks.append(Say([said], fit=False, tight=True))
        blocks += self._slice_tables() if self.slices else []
        return Document(
            "Reply scores",
            [Made(self._page_answer), *blocks, Made(self._page_blocks)] if self.metrics else blocks,
            question="How good are the replies?",
            counts=self.counts,
            signatures=self.signatures,
            seed=self.seed,
            resamples=self.resamples,
        )

    @property
    def counts(self) -> list[tuple[int, str, str]]:
        """How many replies, systems and metrics there are, each with its noun."""
        return [
            (len(self), "reply", "replies"),
            (len(self.system_names), "system", "systems"),
            (len(self.metrics), "metric", "metrics"),
        ]

    def _slice_tables(self) -> Iterator[Table]:
        """One row per value of a field and system, one column per metric."""
        for slices in self.slices:
            rows = [
                [value, SystemName(name or "replies", number), len(part.rows_of(name))]
                + [part.summary()[label][name].interval for label in self.metrics]
                for value, part in self.sliced(slices).items()
                for number, name in enumerate(self.system_names)
                if len(part.rows_of(name))
            ]
            columns = [slices.field, "system", "n", *(Column(label, digits=3) for label in self.metrics)]
            yield Table(columns, rows, note=CAUTION.format(count=len(rows)), left=3)

    def _page_answer(self) -> Sequence[Block]:
        from rejoinder.scoring.page import answer

        return [answer(self, DecidingMetric.of(self, None, ()).metric)]

    def _page_blocks(self) -> Sequence[Block]:
        from rejoinder.scoring.page import page_blocks

        return page_blocks(self, DecidingMetric.of(self, None, ()).metric)

    def without_texts(self) -> ScoreTable:
        """The same table, whose report has no texts."""
        return replace(self, replies=None)

    def page(self, *, texts: bool = True, title: str = "") -> str:
        """The report as one HTML file: of several systems, that of their comparison."""
        if not self.metrics:
            raise CallError("a report needs the scores of at least one metric")
        if len(self.system_names) < 2:
            return super().page(texts=texts, title=title)
        compared = rejoinder.compare(scores=self)
        return compared.page(texts=texts, title=title or self.document().title)


def interval_columns(label: str) -> tuple[str, str]:
    """The names of the two columns that hold the bounds of a metric's intervals."""
    return f"{label}.low", f"{label}.high"


def json_ready(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same mapping with None for NaN and infinity, which JSON does not have, at any depth."""
    return {key: _json_value(value) for key, value in values.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json_ready(value)
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


# Lowest acceptable means: `default=3.2` fails a run in which a system's mean is below 3.2.


def all_replies(label: str) -> str:
    """What a table calls a metric's score of all replies of a system together."""
    return f"{label} of all replies"


def lowest_means(texts: Iterable[str]) -> dict[str, float]:
    """Metric -> the lowest mean that passes, as in "default=3.2"; a name may contain = itself: "bleu(n=2)=0.1"."""
    lowest = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            lowest[name.strip()] = float(value)
        except ValueError:
            lowest[name.strip()] = math.nan
        if not name.strip() or not math.isfinite(lowest[name.strip()]):
            raise CallError(f"a threshold must be NAME=NUMBER, such as default=3.2, not {shortened(text)}")
    return lowest


def check_lowest_means(lowest: Iterable[str], higher_is_better: Mapping[str, bool]) -> None:
    """Raise a CallError where a metric is not among those that run, or lower scores of it are better."""
    for metric in lowest:
        if metric not in higher_is_better:
            raise UnknownNameError("metric of the threshold", metric, higher_is_better)
        if not higher_is_better[metric]:
            raise CallError(f"lower scores of {metric} are better: expected a metric of which higher ones are")


# Slices of the replies: those with one value of a field, of a length, or with a number of turns before them.


MISSING = "(none)"
MOST_VALUES = 50
"""Values of a field beyond which it is an identifier or a text, not a group."""
_LENGTHS = ((0, "no words"), (5, "1-5 words"), (10, "6-10 words"), (20, "11-20 words"), (40, "21-40 words"))
_MOST_TURNS = 6


@dataclass(frozen=True)
class Slices:
    """The slice of each example by one field."""

    field: str
    values: tuple[str, ...]
    codes: Ints
    """One index into `values` per example."""


@dataclass
class SliceFinder:
    """Collects the values of some fields; memory: some bytes per example and field."""

    fields: tuple[str, ...] = ()
    _codes: list[list[int]] = field(default_factory=list)
    _values: list[dict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for _ in self.fields:
            self._codes.append([])
            self._values.append({})

    def add(self, examples: Iterable[Example]) -> None:
        """Take examples into account."""
        if not self.fields:
            return
        for example in examples:
            self.add_values(self.values_of(example))

    def values_of(self, example: Example) -> list[str]:
        """The example's value of each field."""
        return [slice_of(example, name, place) for place, name in enumerate(self.fields)]

    def add_values(self, found: Sequence[str]) -> None:
        """Take an example with these values of the fields into account."""
        for name, values, codes, value in zip(self.fields, self._values, self._codes, found, strict=True):
            codes.append(values.setdefault(value, len(values)))
            if len(values) > MOST_VALUES:
                raise CallError(
                    f"the field {name!r} has more than {MOST_VALUES} different values: expected one that "
                    "groups the replies, such as a topic or a language"
                )

    def found(self) -> tuple[Slices, ...]:
        """The slices of all examples that were added."""
        for name, values in zip(self.fields, self._values, strict=True):
            if set(values) == {MISSING}:
                raise CallError(f"no reply has a field {name!r}: expected a field of the data, length or turns")
        return tuple(map(_ordered, self.fields, self._values, self._codes))


def slice_of(example: Example, name: str, place: int) -> str:
    """The example's value of a field; `place` is the field's place in `Example.slices`."""
    given = example.slices[place] if place < len(example.slices) else ""
    if given:
        return given
    return length_of(example) if name == LENGTH else turn_count(example) if name == TURNS else MISSING


def length_of(example: Example) -> str:
    """How many words the reply has, in ranges."""
    words = len(example.response.split())
    return next((name for most, name in _LENGTHS if words <= most), "over 40 words")


def turn_count(example: Example) -> str:
    """How many utterances the context has."""
    turns = len(example.context)
    return f"{turns}" if turns < _MOST_TURNS else f"{_MOST_TURNS} or more"


def reading_order(name: str, values: Iterable[str]) -> list[str]:
    """The values as a reader expects them: lengths by size, others by alphabet, the missing one last."""
    lengths = [label for _, label in _LENGTHS]
    if name == LENGTH:
        return sorted(values, key=lambda value: (lengths.index(value) if value in lengths else len(lengths), value))
    return sorted(values, key=lambda value: (value == MISSING, value))


def _ordered(name: str, values: dict[str, int], codes: Sequence[int]) -> Slices:
    order = reading_order(name, values)
    place = np.empty(len(order), np.int64)
    place[[values[value] for value in order]] = np.arange(len(order))
    return Slices(name, tuple(order), place[np.array(codes, np.int64)])


@dataclass(frozen=True, slots=True)
class DecidingMetric:
    """The metric that decides, and why it was chosen."""

    metric: str
    reason: str

    @classmethod
    def of(cls, table: ScoreTable, wanted: str | None, named: Sequence[str]) -> DecidingMetric:
        """The metric that was wanted; else the first named one, else `default`, else the first that can be used."""
        if wanted is not None:
            if wanted not in table.metrics:
                raise UnknownNameError("primary metric", wanted, table.metrics)
            return cls(wanted, "as chosen")
        if named:
            return cls(named[0], "the first one named")
        if "default" in table.metrics:
            return cls("default", "the evaluator that comes with the package")
        for label in table.metrics:
            says_what_is_better = table.says_better(label)
            if says_what_is_better and not np.isnan(table[label]).all():
                return cls(label, "the first that these data allow")
        return cls(table.metrics[0], "the first one")

    def reason_given(self, metrics: Sequence[str]) -> Iterator[str]:
        """A sentence about the choice, where there was one."""
        if len(metrics) > 1:
            yield f"Primary metric: {self.metric}, {self.reason}."
