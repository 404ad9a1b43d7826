"""The interface of a metric: a frozen dataclass whose fields are its parameters, its configuration and its signature.

`needs`, `cannot_score` and `range` are the same for all instances of most metrics, which set them as class variables:

    needs: ClassVar[frozenset[str]] = frozenset({"references"})

Where parameters decide, a metric defines a property of that name instead.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Ints
from rejoinder.data.records import examples_in
from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.metrics.batch import Batch, BatchTokens, TextOptions, even_batches
from rejoinder.specs import NearNames, check_fields, format_spec
from rejoinder.text.tokens import TOKENISER_NAMES, parse_strip
from rejoinder.types import Example, Scores

NUMBERS = "0.1.0"
"""The version that first gave the scores which metrics give today, written in signatures."""


class ScoreWarning(UserWarning):
    """Replies that were empty, or that a metric could not score; metrics that were left out."""


State = dict[str, NDArray[Any]]
"""What was accumulated, as named arrays without objects: it can be sent to another process and written to a file."""


@runtime_checkable
class Accumulator(Protocol):
    """An observer, counter or watcher that several processes may each have for a part of the corpus.

    A metric whose objects lack these two methods is scored by one process.
    """

    def state(self) -> State:
        """All that was added so far."""

    def merge(self, state: State) -> None:
        """Add what another one, made by the same metric, accumulated over the examples that follow."""


class Observer(Protocol):
    """Reads a whole corpus, batch by batch, before any of it is scored."""

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""

    def finish(self) -> Metric:
        """The metric, ready to score with what was observed."""


class Counter(Protocol):
    """Accumulates a corpus-level score, batch by batch."""

    def add(self, batch: Batch, rows: Ints) -> None:
        """Take the given rows of a batch into account."""

    def value(self) -> float:
        """The corpus-level score of all that was added."""


class Watcher(Protocol):
    """Counts, batch by batch, replies unlike those a metric was made for."""

    def add(self, batch: Batch) -> None:
        """Take a batch into account."""

    def notes(self) -> list[str]:
        """Notes for the reader about all that was added."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric(NearNames, ABC):
    """Scores replies, one number each."""

    name: ClassVar[str]
    measures: ClassVar[str]
    """One line for a person who chooses a metric."""
    citation: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    is_slow: ClassVar[bool] = False
    """Whether a reply takes milliseconds, so that it pays to share the replies among processes."""
    one_process: ClassVar[bool] = False
    """Whether all replies must be scored by one process: each of several would use up a limit or a budget anew."""

    @property
    def needs(self) -> frozenset[str]:
        """What an example must have: "references", "context"."""
        return frozenset()

    @property
    def cannot_score(self) -> str:
        """Why a reply may not be scored (NaN), for the warning that counts such replies."""
        return "no references"

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return (0.0, 1.0)

    @property
    def worst(self) -> float:
        """The worse end of the range: the score of an empty reply."""
        return self.range[0] if self.higher_is_better else self.range[1]

    def __post_init__(self) -> None:
        check_fields(self)
        self.check()

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""

    def score(self, examples: Iterable[Example]) -> Scores:
        """One score per example, in order; NaN where the metric cannot score."""
        examples = examples_in(examples)
        batches = even_batches(examples)
        blank = sum(int(batch.blank.sum()) for batch in batches)
        if blank:
            warnings.warn(f"{self.name}: {blank} empty replies scored the worst value", ScoreWarning, stacklevel=2)
        observer, ready = self.observer(), self
        if observer is not None:
            for batch in batches:
                observer.add(batch)
            ready = observer.finish()
        batches.reverse()  # each is released as soon as it is scored
        parts = [ready.score_batch(batches.pop()) for _ in range(len(batches))]
        return np.concatenate(parts)

    def corpus_score(self, examples: Iterable[Example]) -> float:
        """One score for all examples together: the mean, unless the metric defines its own."""
        counter = self.counter()
        if counter is None:
            scores = self.score(examples)
            scored = scores[~np.isnan(scores)]
            return float(scored.mean()) if len(scored) else float("nan")
        batch = Batch(examples_in(examples))
        counter.add(batch, np.arange(len(batch)))
        return counter.value()

    @abstractmethod
    def score_batch(self, batch: Batch) -> Scores:
        """One score per example of the batch; several metrics may share the batch's tokens."""

    def observer(self) -> Observer | None:
        """An object that reads the whole corpus before the first score (document frequencies), or None."""
        return None

    def counter(self) -> Counter | None:
        """An object that accumulates the corpus-level score, or None if that is the mean."""
        return None

    def watcher(self) -> Watcher | None:
        """An object that counts replies unlike those the metric was made for, or None."""
        return None

    @property
    def knows_limits(self) -> bool:
        """Whether it is known for which replies the metric can be relied on; False for metrics that compare words."""
        return False

    @property
    def language(self) -> str:
        """The language of the replies that it knows, as messages name it; "" if it knows any, or that is not known."""
        return ""

    def doubts(self, batch: Batch) -> Mapping[str, Bools]:  # noqa: ARG002 - for those that know their limits
        """Kind of reply that the metric cannot be relied on for, in words -> which replies of the batch are of it."""
        return {}

    def inapplicable(self, batch: Batch) -> Mapping[str, Bools]:  # noqa: ARG002 - for those that know their limits
        """Kind of reply that the metric says nothing about, in words -> which replies of the batch are of it."""
        return {}

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metrics that this one is computed from."""
        return ()

    def reasons(self, batch: Batch) -> Sequence[str]:  # noqa: ARG002 - for those that give them
        """A justification of each score in words; empty where the metric gives none."""
        return ()

    @property
    def is_fitted(self) -> bool:
        """Whether it can score: False for an evaluator that has not been trained."""
        return True

    @property
    def gives_intervals(self) -> bool:
        """Whether the metric gives, for each reply, an interval expected to contain the rating."""
        return False

    def intervals(self, batch: Batch) -> tuple[Scores, Scores]:  # noqa: ARG002 - for those that give them
        """The lower and upper bounds of the intervals expected to contain the ratings; NaN where unknown."""
        raise CallError(f"{self.name} gives no intervals: only a calibrated evaluator does")

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments; those that only this metric has come first."""
        own = inspect.get_annotations(type(self))
        fields = (field.name for field in dataclasses.fields(self) if field.init)
        names = sorted(fields, key=own.__contains__, reverse=True)  # which keeps the order of equal ones
        return {name: getattr(self, name) for name in names}

    @property
    def spec(self) -> str:
        """The name, with the parameters that differ from their defaults, as `load` reads it: bleu(n=2)."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        chosen = {key: _in_spec(value) for key, value in self.parameters.items() if value != defaults[key]}
        return format_spec(self.name, chosen)

    @property
    def signature(self) -> str:
        """Everything that determines the score, on one line."""
        shown = [f"{key}:{plain(value)}" for key, value in self.parameters.items() if value is not None]
        return "|".join([self.name, *shown, f"v:{NUMBERS}"])


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextMetric(Metric):
    """A metric over tokens."""

    tokenise: str = "words"
    """How text is split into tokens: `words`, `whitespace`, `13a`, `intl`, `rouge`, `zh`, `char`, `ja-mecab`,
    `ko-mecab`, or `auto`, by the language of the text."""
    lowercase: bool = True
    """Whether text is lower-cased first."""
    strip: str = "none"
    """What is removed first, joined by `+`: `speakers`, `stopwords`, `punctuation`."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.tokenise not in TOKENISER_NAMES:
            raise UnknownNameError("tokeniser", self.tokenise, TOKENISER_NAMES)
        parse_strip(self.strip)
        self.check()

    @property
    def text(self) -> TextOptions:
        """How this metric tokenises."""
        return TextOptions(self.tokenise, self.lowercase, self.strip)


def best_reference(pair_scores: Scores, batch: Batch, refs: str) -> Scores:
    """One score per example from one per reference: their maximum or mean; NaN without references."""
    scores = np.full(len(batch), np.nan)
    has = batch.reference_counts > 0
    if not has.any():
        return scores
    starts = np.concatenate([[0], np.cumsum(batch.reference_counts)[:-1]])[has]
    if refs == "max":
        scores[has] = np.fmax.reduceat(pair_scores, starts)
    else:
        known = ~np.isnan(pair_scores)
        total = np.add.reduceat(np.where(known, pair_scores, 0.0), starts)
        counted = np.add.reduceat(known.astype(np.float64), starts)
        scores[has] = np.divide(total, counted, out=np.full(len(total), np.nan), where=counted > 0)
    return scores


def settle_empty(scores: Scores, batch: Batch, tokens: BatchTokens, lowest: float = 0.0) -> Scores:
    """The same scores, except for replies without a token: an empty reply gets the lowest score.

    A reply whose tokens were all removed scores 1 if its text equals a reference, else NaN: there is nothing left to
    compare, and two different texts without tokens are not known to be similar.
    """
    bare = np.flatnonzero((tokens.responses.lengths == 0) & (batch.reference_counts > 0))
    settled = scores.copy() if len(bare) else scores
    for row in bare.tolist():
        example = batch.examples[row]
        same = example.response.strip() in map(str.strip, example.references)
        settled[row] = lowest if batch.blank[row] else 1.0 if same else np.nan
    return settled


def check_weight(metric: Metric, parameter: str, most: float = 1e6) -> None:
    """Raise a CallError unless a parameter is above 0 and not so large that floating point overflows."""
    value = getattr(metric, parameter)
    if not 0 < value <= most:
        raise CallError(f"{metric.name}: {parameter} must be above 0 and at most {most:,.0f}, not {shortened(value)}")


def check_choice(metric: Metric, parameter: str, allowed: Sequence[object]) -> None:
    """Raise a CallError when a parameter is not one of the allowed values."""
    value = getattr(metric, parameter)
    if value not in allowed:
        listed = ", ".join(str(choice) for choice in allowed)
        raise CallError(f"{metric.name}: {parameter} must be one of {listed}, not {value!r}")


def _in_spec(value: Any) -> Any:
    if isinstance(value, Metric):
        return value.spec
    if isinstance(value, tuple):
        return [_in_spec(item) for item in value]
    return None if value == "none" else value  # where a parameter takes text, `none` needs no quotes


def plain(value: object) -> str:
    """A parameter's value as signatures show it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)
