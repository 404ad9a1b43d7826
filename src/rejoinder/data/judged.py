"""Judged examples: replies with the scores that people gave them.

`scores` of a record is an object that maps each dimension to a number, or to a list with one number per rater (null:
not rated); data with a single dimension may give only the number or the list. `raters` names who gave each score: one
list for all dimensions, or an object with a list for each. `probability` is that with which the reply was chosen to be
rated. `split` (train, valid, test) and `language` are optional.

Ratings may also come as a long table with one row per rating: `id`, `system`, `rater`, `dimension`, `score`, `time`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from rejoinder.data.source import Source
from rejoinder.data.values import FieldError, as_list, is_missing, kind_of, label_of, text_of
from rejoinder.errors import shortened
from rejoinder.loading.schema import RepeatedKeyError, json_value
from rejoinder.types import Example, JudgedExample, Judgement

ONLY_DIMENSION = "score"
"""The name of the dimension of data that has a single, unnamed one."""


@dataclass(frozen=True, slots=True)
class HumanScores:
    """What a record contains besides the example."""

    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    split: str = ""
    raters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    probability: float = math.nan
    time: str = ""
    language: str = ""
    source: str = ""
    """That of a record which is a judged example already."""


class JudgedSource(Source):
    """A source whose records also contain human scores."""

    _judged: HumanScores

    def judged(self) -> Iterator[JudgedExample]:
        """The examples with their scores."""
        for _, _, example in self.numbered():
            found = self._judged
            yield JudgedExample(
                example,
                dict(found.scores),
                found.split,
                dict(found.raters),
                found.probability,
                found.language,
                found.source or self.name,
            )

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, JudgedExample):
            # One that the caller made may have no scores: what learns from systems needs none.
            scores = {} if record.scores == {} else scores_of(record.scores, "scores")
            split = text_of(record.split, "split")
            self._judged = HumanScores(
                scores, split, record.raters, record.probability, language=record.language, source=record.source
            )
            return super()._example(record.example, number)
        example = super()._example(record, number)
        if isinstance(record, Example):
            raise FieldError("scores", "is missing: expected human scores with the example")
        name = self.fields.of("scores")
        scores = scores_of(record.get(name), name)
        self._judged = HumanScores(
            scores,
            self._label(record, "split"),
            raters_of(record.get(self.fields.of("raters")), self.fields.of("raters"), scores),
            _probability(record.get(self.fields.of("probability")), self.fields.of("probability")),
            language=self._label(record, "language"),
        )
        return example

    def _label(self, record: Mapping[str, Any], ours: str) -> str:
        value = record.get(self.fields.of(ours))
        return "" if value is None or is_missing(value) else text_of(value, self.fields.of(ours))


class LabelSource(JudgedSource):
    """Human scores by id and system; the texts may be missing."""

    def _example(self, record: Any, number: int) -> Example:
        if not isinstance(record, dict) or any(record.get(self.fields.of(name)) for name in ("response", "messages")):
            return super()._example(record, number)
        return super()._example(type(record)({**record, self.fields.of("response"): ""}), number)


class RatingSource(JudgedSource):
    """Single ratings, of judged records or of a long table with one row per rating."""

    all_named = True
    """Whether every record that was read so far says who gave its scores."""
    all_with_replies = True
    """Whether every record that was read so far has the reply, and not only its id."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.probabilities: dict[tuple[str, str], float] = {}
        """Id and system of the replies that were read so far -> with what probability they were chosen, if known."""

    def judgements(self) -> Iterator[tuple[Example, Judgement]]:
        """Each rating with its example, which in a long table may be no more than an id and a system.

        Where a record does not say who gave its scores, the raters are their places in the list: 1, 2, ...
        """
        for _, _, example in self.numbered():
            if not math.isnan(self._judged.probability):
                self.probabilities[example.id, example.system] = self._judged.probability
            for dimension, scores in self._judged.scores.items():
                self.all_named &= dimension in self._judged.raters
                raters = self._judged.raters.get(dimension) or tuple(str(n) for n in range(1, len(scores) + 1))
                for rater, score in zip(raters, scores, strict=True):
                    if not math.isnan(score):
                        yield (
                            example,
                            Judgement(example.id, rater, dimension, score, example.system, self._judged.time),
                        )

    def _example(self, record: Any, number: int) -> Example:
        fields = self.fields
        score_name, rater_name = fields.of("score"), fields.of("rater")
        if not isinstance(record, dict) or fields.of("scores") in record or score_name not in record:
            return super()._example(record, number)
        response = fields.of("response")
        self.all_with_replies &= response in record or fields.of("messages") in record
        example = Source._example(self, {response: "", **record}, number)
        if not label_of(_present(record.get(fields.of("id"))), fields.of("id")):
            raise FieldError(fields.of("id"), "is missing: expected the id of the reply that was rated")
        rater = label_of(_present(record.get(rater_name)), rater_name)
        if not rater:
            raise FieldError(rater_name, "is missing: expected who gave the score")
        dimension = label_of(_present(record.get(fields.of("dimension"))), fields.of("dimension")) or ONLY_DIMENSION
        time = _present(record.get(fields.of("time")))
        self._judged = HumanScores(
            {dimension: (_single_rating(record[score_name], score_name),)},
            raters={dimension: (rater,)},
            probability=_probability(record.get(fields.of("probability")), fields.of("probability")),
            time="" if time is None else str(time),
        )
        return example


class _ChosenSource(Source):
    """Replies that were chosen to be rated, with the probability of each."""

    probability = math.nan

    def _example(self, record: Any, number: int) -> Example:
        name = self.fields.of("probability")
        self.probability = _probability(record.get(name), name) if isinstance(record, dict) else math.nan
        return super()._example(record, number)


def chosen_with(origin: Any) -> dict[tuple[str, str], float]:
    """Id and system of each reply -> the probability with which it was chosen to be rated, where that is known."""
    with closing(_ChosenSource(origin)) as source:
        found = {(example.id, example.system): source.probability for example in source}
    return {key: probability for key, probability in found.items() if not math.isnan(probability)}


def scores_of(value: Any, name: str) -> dict[str, tuple[float, ...]]:
    """Dimension -> one number per rater; FieldError if the value is anything else."""
    value = _parsed_cell(value, name, "a number or JSON")
    if value is None or is_missing(value):
        raise FieldError(name, "is missing: expected human scores")
    if not isinstance(value, dict):
        value = {ONLY_DIMENSION: value}
    scores = {
        text_of(str(dimension), name): _ratings(ratings, f"{name}.{dimension}") for dimension, ratings in value.items()
    }
    if not scores:
        raise FieldError(name, "is empty: expected at least one dimension")
    return scores


def raters_of(value: Any, name: str, scores: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[str, ...]]:
    """Dimension -> who gave each score; empty where the value is missing; FieldError if it does not fit the scores."""
    value = _parsed_cell(value, name, "a list of names as JSON")
    if value is None or is_missing(value):
        return {}
    by_dimension = value if isinstance(value, dict) else dict.fromkeys(scores, value)
    found = {}
    for dimension, names in by_dimension.items():
        place = f"{name}.{dimension}" if isinstance(value, dict) else name
        if dimension not in scores:
            raise FieldError(place, f"expected a dimension of the scores, one of {', '.join(scores)}")
        names = as_list(names)
        if not isinstance(names, list | tuple):
            raise FieldError(place, f"expected a list with one name per score, found {kind_of(names)}")
        raters = tuple(label_of(rater, f"{place}[{at}]") for at, rater in enumerate(names))
        if len(raters) != len(scores[dimension]):
            raise FieldError(place, f"expected one name per score ({len(scores[dimension])}), found {len(raters)}")
        if "" in raters or len(set(raters)) < len(raters):
            raise FieldError(place, "expected a different name for each score")
        found[dimension] = raters
    return found


def _parsed_cell(value: Any, name: str, expected: str) -> Any:
    """The value; that of a cell of a table, which contains JSON, is parsed."""
    value = as_list(value)
    if not isinstance(value, str):
        return value
    if not value:
        return None
    try:
        return json_value(value)
    except RepeatedKeyError as error:
        raise FieldError(name, str(error)) from None
    except ValueError:
        raise FieldError(name, f"expected {expected}, found {shortened(value, 40)}") from None


def _present(value: Any) -> Any:
    return None if value is None or value == "" or is_missing(value) else value


def _probability(value: Any, name: str) -> float:
    """A probability above 0 and up to 1; NaN where it is missing."""
    given = _present(value)
    if given is None:
        return math.nan
    probability = _single_rating(given, name)
    if not 0 < probability <= 1:
        raise FieldError(name, f"expected a probability above 0 and up to 1, found {shortened(given, 40)}")
    return probability


def _single_rating(value: Any, name: str) -> float:
    """A number, which in a table of text is written as one."""
    if isinstance(value, str):
        try:
            value = float(value) if value else None
        except ValueError:
            raise FieldError(name, f"expected a number, found {shortened(value, 40)}") from None
    return _rating(as_list(value), name)


def _ratings(value: Any, name: str) -> tuple[float, ...]:
    value = as_list(value)
    ratings = value if isinstance(value, list | tuple) else [value]
    return tuple(_rating(rating, name) for rating in ratings)


def _rating(value: Any, name: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(name, f"expected a number, a list of numbers or null, found {kind_of(value)}")
    try:
        rating = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        rating = math.inf
    if math.isinf(rating):
        raise FieldError(name, "expected a number, found one that is infinite or too large")
    return rating
