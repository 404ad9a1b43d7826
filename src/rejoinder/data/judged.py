"""Judged sets and preferences: replies with what people said of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Bools, Ints
from rejoinder.data.files import TableRow
from rejoinder.data.records import FieldError, Fields, as_list, is_missing, label_of, text_of, type_words
from rejoinder.data.source import Source
from rejoinder.errors import CallError, DataError, UnknownNameError, shortened
from rejoinder.folders.schema import RepeatedKeyError, json_value
from rejoinder.options import OnError
from rejoinder.stats.raters import row_means, without_outliers
from rejoinder.types import Example, JudgedExample, Rating, Scores, Unit

# Judged examples: replies with the scores that people gave them.
#
# `scores` of a record is an object that maps each dimension to a number, or to a list with one number per rater (null:
# not rated); data with a single dimension may give only the number or the list. `raters` names who gave each score: one
# list for all dimensions, or an object with a list for each. `probability` is that with which the reply was chosen to
# be rated. `split` (train, valid, test) and `language` are optional.
#
# A sheet that `rejoinder sample` wrote for raters has `item` and `rating` instead of id, system and scores.
#
# Ratings may also come as a long table with one row per rating: `id`, `system`, `rater`, `dimension`, `score`, `time`.


ONLY_DIMENSION = "score"
"""The name of the dimension of data that has a single, unnamed one."""


@dataclass(frozen=True, slots=True)
class RatingFields:
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
    """A source whose records also contain ratings."""

    _judged: RatingFields
    unrated = 0
    """Replies that the last pass left out, because nobody rated them: turns of a conversation, or rows of a sheet."""

    def judged(self) -> Iterator[JudgedExample]:
        """The examples with their scores."""
        self.unrated = 0
        for _, _, example in self.numbered():
            found = self._judged
            if not found.scores and self._may_be_unrated:
                self.unrated += 1
                continue
            yield JudgedExample(
                example,
                dict(found.scores),
                found.split,
                dict(found.raters),
                found.probability,
                found.language,
                found.source or self.name,
            )

    @property
    def _may_be_unrated(self) -> bool:
        """Whether a record without scores is left out, and not an error."""
        return self.unit == "turn"

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, JudgedExample):
            # One that the caller made may have no scores: what learns from systems needs none.
            scores = {} if record.scores == {} else scores_of(record.scores, "scores")
            split = text_of(record.split, "split")
            self._judged = RatingFields(
                scores, split, record.raters, record.probability, language=record.language, source=record.source
            )
            return super()._example(record.example, number)
        example = super()._example(record, number)
        if isinstance(record, Example):
            raise FieldError("scores", "is missing: expected ratings with the example")
        name = self.fields.of("scores")
        if self.unit == "turn" and _present(record.get(name)) is None:
            self._judged = RatingFields()
            return example
        if record.get(name) is None:
            raise FieldError(name, f"is missing: expected ratings{_elsewhere(record)}")
        scores = scores_of(record.get(name), name)
        self._judged = RatingFields(
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


_OTHER_NAMES = ("human", "human_score", "human_scores", "rating", "ratings", "label", "labels", "score", "overall")
"""Names under which others keep ratings."""


def _elsewhere(record: Mapping[str, Any]) -> str:
    """How to read ratings from a field of another name, where the record has one."""
    found = next((name for name in _OTHER_NAMES if name in record and not is_missing(record[name])), None)
    return "" if found is None else f"; if {found!r} has them, use --field scores={found} (fields in Python)"


SHEET = ("item", "conversation", "response", "rating", "probability")
"""The columns of a sheet for raters; the last only where replies were chosen with different probabilities."""


def item_of(system: str, identifier: str) -> str:
    """What a sheet for raters calls a reply: it does not show which system the reply is from, and follows from it."""
    return blake2b(f"{system}\x1f{identifier}".encode(), digest_size=6).hexdigest()


class LabelSource(JudgedSource):
    """Ratings by id and system, or by the item of a sheet for raters; the texts may be missing.

    A row whose scores are empty is left out and counted.
    """

    @property
    def _may_be_unrated(self) -> bool:
        return True

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, dict) and {"item", "rating"} <= record.keys():
            item, rating = label_of(_present(record["item"]), "item"), _present(record["rating"])
            if not item:
                raise FieldError("item", "is missing: expected what `rejoinder sample` wrote there")
            rated = {} if rating is None or not str(rating).strip() else {"rating": (_single_rating(rating, "rating"),)}
            self._judged = RatingFields(rated, probability=_probability(record.get("probability"), "probability"))
            return Example(item, (), "")
        name = self.fields.of("scores")
        if isinstance(record, dict) and name in record and _present(record[name]) is None:
            self._judged = RatingFields()
            return Source._example(self, {self.fields.of("response"): "", **record}, number)
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

    def ratings(self) -> Iterator[tuple[Example, Rating]]:
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
                            Rating(example.id, rater, dimension, score, example.system, self._judged.time),
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
        self._judged = RatingFields(
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
        raise FieldError(name, "is missing: expected ratings")
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
            raise FieldError(place, f"expected a list with one name per score, found {type_words(names)}")
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
        raise FieldError(name, f"expected a number, a list of numbers or null, found {type_words(value)}")
    try:
        rating = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        rating = math.inf
    if math.isinf(rating):
        raise FieldError(name, "expected a number, found one that is infinite or too large")
    return rating


# Pairwise preferences: which of two systems' replies to one context a person prefers.
#
# A record has `a` and `b`, the names of the systems, and `winner`: one of the two names, "a" or "b", or a tie ("tie",
# "draw", "both", "both good", "neither", "both bad", also as Chatbot Arena writes it: "model_a", "tie (bothbad)").
# Optional are `context` or `context_id`, `rater`, `id`, and the replies `response_a` and `response_b`.


OUTCOMES = ("a", "b", "tie", "both bad")
TIES = frozenset({"tie", "tied", "draw", "equal", "same", "both", "both good"})
BOTH_BAD = frozenset({"both bad", "neither", "none", "tie both bad"})
_SIDES = {"a": "a", "b": "b", "model a": "a", "model b": "b"}


@dataclass(frozen=True, slots=True)
class Preference:
    """A preference between two replies to the same context."""

    example: Example
    """The id and the context; its response is empty."""
    a: str
    b: str
    outcome: str
    """"a", "b", "tie" or "both bad"."""
    rater: str = ""
    responses: tuple[str, str] | None = None
    """The two replies, where the record has them."""


class PreferenceSource(Source):
    """A source of pairwise preferences."""

    _preference: Preference

    def preferences(self) -> Iterator[Preference]:
        """The preferences in order."""
        return (self._preference for _ in self.numbered())

    def _example(self, record: Any, number: int) -> Example:
        if isinstance(record, Preference):  # made by the caller, so its fields may contain anything
            if record.outcome not in OUTCOMES or record.a == record.b:
                raise FieldError("outcome", f"expected two systems and one of {', '.join(OUTCOMES)}")
            self._preference = record
            return record.example
        if not isinstance(record, dict):
            raise FieldError("", f"expected an object with fields, found {type_words(record)}")
        # There is no single reply; the other fields are those of an example.
        without_reply = {**record, self.fields.of("response"): ""}
        example = super()._example(TableRow(without_reply) if isinstance(record, TableRow) else without_reply, number)
        a, b = self._name(record, "a"), self._name(record, "b")
        if a == b:
            raise FieldError(self.fields.of("b"), f"is the same system as {self.fields.of('a')}: {shortened(a)}")
        outcome = _outcome(self._label(record, "winner"), a, b, self.fields.of("winner"))
        replies = [self._text(record, "response_a"), self._text(record, "response_b")]
        both = None if None in replies else (replies[0] or "", replies[1] or "")
        self._preference = Preference(example, a, b, outcome, self._label(record, "rater"), both)
        return example

    def _label(self, record: dict[str, Any], ours: str) -> str:
        value = record.get(self.fields.of(ours))
        return "" if is_missing(value) else label_of(value, self.fields.of(ours))

    def _name(self, record: dict[str, Any], ours: str) -> str:
        name = self._label(record, ours)
        if not name:
            raise FieldError(self.fields.of(ours), "is missing: expected the name of a system")
        return name

    def _text(self, record: dict[str, Any], ours: str) -> str | None:
        value = record.get(self.fields.of(ours))
        return None if value is None or is_missing(value) else text_of(value, self.fields.of(ours))


def _outcome(winner: str, a: str, b: str, name: str) -> str:
    """Who won; a system's name comes before the words for ties and sides."""
    if winner in (a, b):
        return "a" if winner == a else "b"
    word = " ".join(re.findall("[a-z]+", winner.lower().replace("bothbad", "both bad")))
    if word in _SIDES:
        return _SIDES[word]
    if word in BOTH_BAD:
        return "both bad"
    if word in TIES:
        return "tie"
    found = f"found {shortened(winner)}" if winner else "found nothing"
    raise FieldError(name, f"expected {shortened(a)}, {shortened(b)}, 'tie' or 'both bad', {found}")


# A set of judged replies, with its ratings as arrays.


Ratings = NDArray[np.float64]  # (examples, raters); NaN: not rated


@dataclass(frozen=True, eq=False)
class JudgedSet:
    """Examples with their human ratings."""

    name: str
    examples: tuple[Example, ...]
    ratings: Mapping[str, Ratings]
    """Dimension -> (examples, raters)."""
    splits: tuple[str, ...] = ()
    probabilities: tuple[float, ...] = ()
    """With what probability each example was chosen to be rated (NaN: unknown); empty where none is known."""
    languages: tuple[str, ...] = ()
    """The language of each example, "" where the data do not say it."""
    unit: Unit = "reply"
    unrated: int = 0
    """Turns, or rows of labels, that are left out, because nobody rated them."""

    @classmethod
    def of(cls, judged: Iterable[JudgedExample], name: str = "judged") -> JudgedSet:
        """The set of these examples."""
        items = list(judged)
        dimensions = dict.fromkeys(dimension for item in items for dimension in item.scores)
        ratings = {dimension: _matrix([item.scores.get(dimension, ()) for item in items]) for dimension in dimensions}
        splits, languages = tuple(item.split for item in items), tuple(item.language for item in items)
        probabilities = tuple(item.probability for item in items)
        known = () if all(map(math.isnan, probabilities)) else probabilities
        return cls(name, tuple(item.example for item in items), ratings, splits, known, languages)

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of what was judged."""
        return tuple(self.ratings)

    @cached_property
    def systems(self) -> NDArray[np.str_]:
        """The system of each example."""
        return np.array([example.system for example in self.examples], dtype=np.str_)

    @cached_property
    def contexts(self) -> Ints:
        """The number of each example's context, from 0: replies to one context are not independent of each other."""
        codes: dict[tuple[object, ...], int] = {}
        return np.array([codes.setdefault(context_key(example), len(codes)) for example in self.examples], np.int64)

    @cached_property
    def clusters(self) -> Ints:
        """The number of what each example is not independent of: its context, or its dialogue where turns are rated."""
        if self.unit == "reply":
            return self.contexts
        codes: dict[tuple[object, ...], int] = {}
        keys = (("dialogue", one.dialogue_id) if one.dialogue_id else context_key(one) for one in self.examples)
        return np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)

    def human(self, dimension: str) -> Scores:
        """The mean rating of each example; NaN where nobody rated it."""
        return row_means(self._known(dimension))

    def take(self, rows: Ints) -> JudgedSet:
        """The examples of the given rows."""
        return JudgedSet(
            self.name,
            tuple(self.examples[row] for row in rows),
            {dimension: matrix[rows] for dimension, matrix in self.ratings.items()},
            tuple(self.splits[row] for row in rows) if self.splits else (),
            tuple(self.probabilities[row] for row in rows) if self.probabilities else (),
            tuple(self.languages[row] for row in rows) if self.languages else (),
            self.unit,
            self.unrated,
        )

    def in_split(self, split: str) -> Bools:
        """Which examples are in a split of the data: `train`, `valid` or `test`. (examples,)"""
        names = self.splits or ("",) * len(self)
        return np.array([name == split for name in names], np.bool_)

    def part(self, split: str) -> JudgedSet:
        """The examples of a split."""
        return self.take(np.flatnonzero(self.in_split(split)))

    def without_outliers(self, threshold: float = 1.0) -> JudgedSet:
        """The same set without ratings that are far from their example's median (Zhao et al. 2020, section 4)."""
        cleaned = {dimension: without_outliers(matrix, threshold) for dimension, matrix in self.ratings.items()}
        return replace(self, ratings=cleaned)

    def judged_examples(self) -> list[JudgedExample]:
        """The set as single judged examples."""
        return [
            JudgedExample(
                example,
                {dimension: tuple(matrix[row].tolist()) for dimension, matrix in self.ratings.items()},
                self.splits[row] if self.splits else "",
                language=self.languages[row] if self.languages else "",
            )
            for row, example in enumerate(self.examples)
        ]

    def _known(self, dimension: str) -> Ratings:
        if dimension not in self.ratings:
            raise UnknownNameError("dimension", dimension, self.ratings)
        return self.ratings[dimension]


def read_judged(
    origin: Any, *, fields: Fields | None = None, on_error: OnError = "raise", unit: Unit = "reply"
) -> JudgedSet:
    """The judged set in a file, a data frame or a list of records; by turn, that of the rated assistant turns."""
    if isinstance(origin, JudgedSet):
        return origin
    with closing(JudgedSource(origin, fields, on_error, unit=unit)) as source:
        return _judged(source)


def read_labels(origin: Any) -> JudgedSet:
    """Ratings by id and system, as `read_judged` reads them; the texts may be missing."""
    if isinstance(origin, JudgedSet):
        return origin
    with closing(LabelSource(origin)) as source:
        return _judged(source)


def _judged(source: JudgedSource) -> JudgedSet:
    judged = JudgedSet.of(source.judged(), source.name)
    if not len(judged) and isinstance(source, LabelSource) and source.unrated:
        raise DataError(f"has {source.unrated} replies to rate, but no rating: expected some", file=judged.name)
    if not len(judged):
        turns = " (with the unit turn, each message has its own `scores`)" if source.unrated else ""
        raise DataError(f"has no judged examples: expected at least one{turns}", file=judged.name)
    return replace(judged, unit=source.unit, unrated=source.unrated)


def chosen_dimensions(judged: JudgedSet, wanted: str | None) -> tuple[str, ...]:
    """The requested dimension; by default overall, or all if there is none."""
    if wanted == "all":
        return judged.dimensions
    if wanted is not None:
        if wanted not in judged.ratings:
            raise UnknownNameError(f"dimension of {judged.name}:", wanted, [*judged.ratings, "all"])
        return (wanted,)
    overall = tuple(dimension for dimension in judged.dimensions if dimension.lower().startswith("overall"))
    return overall or judged.dimensions


def context_key(example: Example) -> tuple[object, ...]:
    """What identifies the example's context: its id or text; without a context its references, else itself."""
    if example.context_id:
        return ("context_id", example.context_id)
    if example.context:
        return ("context", example.context)
    if example.references:
        return ("references", example.references)
    return ("id", example.id, example.system)


def _matrix(rows: list[tuple[float, ...]]) -> Ratings:
    width = max((len(row) for row in rows), default=0)
    if width == 0:
        raise CallError("a dimension has no ratings: expected at least one")
    matrix = np.full((len(rows), width), np.nan)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = row
    return matrix
