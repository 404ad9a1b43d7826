"""From answers to files: judged replies, preferences between two replies, or replies that people wrote."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rejoinder.annotation.items import Item
from rejoinder.annotation.store import Answer, Store, latest
from rejoinder.annotation.study import Study
from rejoinder.data.converting.writers import example_record
from rejoinder.data.judged import chosen_with
from rejoinder.data.source import read


def exported(study: Study, store: Store, items: Mapping[str, Item], *, without: Sequence[str] = ()) -> Iterator[str]:
    """One JSON line per rated reply, per choice or per written reply; checks and the raters of `without` left out."""
    answers = [
        answer
        for answer in latest(store.answers()).values()
        if items[answer.item].role == "real" and answer.rater not in set(without)
    ]
    records = {"scale": _judged, "pair": _preferences, "write": _written}[study.kind](study, answers, items)
    return (json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _judged(study: Study, answers: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[dict[str, Any]]:
    """Judged replies, as `rejoinder meta` reads them; `raters` names who gave each score.

    The probabilities with which `rejoinder sample` chose the replies are kept.
    """
    path = study.home / study.examples
    examples = {(example.id, example.system): example for example in read(path)}
    probabilities = chosen_with(path)
    by_item: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for answer in answers:
        by_item[answer.item][answer.question][answer.rater] = float(answer.value)
    for item in items.values():
        found = by_item.get(item.id)
        if found:
            scores = {question: list(given.values()) for question, given in found.items()}
            raters = {question: list(given) for question, given in found.items()}
            key = item.examples[0]
            chosen = {"probability": probabilities[key]} if key in probabilities else {}
            yield example_record(examples[key], {"scores": scores, "raters": raters, **chosen})


def _preferences(_: Study, answers: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[dict[str, Any]]:
    """Which of two systems' replies was better, as `rejoinder prefer` reads it: `winner` is a system or tie."""
    for answer in answers:
        item = items[answer.item]
        first, second = (system for _, system in item.examples)
        yield {
            "context": list(item.context),
            "a": first,
            "b": second,
            "response_a": item.replies[0],
            "response_b": item.replies[1],
            "winner": {"A": first, "B": second}.get(answer.value, "tie"),
            "dimension": answer.question,
            "rater": answer.rater,
        }


def _written(study: Study, answers: Sequence[Answer], items: Mapping[str, Item]) -> Iterator[dict[str, Any]]:
    """Replies of people, as the system `human`."""
    for number, answer in enumerate(answers):
        context = list(items[answer.item].context)
        identifier = f"{study.title}-{number}"
        yield {"id": identifier, "context": context, "response": answer.value, "system": "human", "rater": answer.rater}
