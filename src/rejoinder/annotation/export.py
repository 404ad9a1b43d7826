"""From answers to files: judged replies, preferences between two replies, or replies that people wrote."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rejoinder.annotation.items import Item
from rejoinder.annotation.queue import probabilities_of_rated
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
    if study.kind == "scale":
        records = _judged(study, answers, items, _probabilities(study, store, items, answers))
    else:
        records = (_preferences if study.kind == "pair" else _written)(study, answers, items)
    return (json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _probabilities(
    study: Study, store: Store, items: Mapping[str, Item], answers: Sequence[Answer]
) -> dict[tuple[str, str], float]:
    """With which probability each reply was chosen, by the study's queue or before by `rejoinder sample`."""
    if study.queue is None:
        return chosen_with(study.home / study.examples)
    real = [item for item in items.values() if item.role == "real"]
    found = probabilities_of_rated(study, study.queue, real, store.drawn(), {one.item for one in answers})
    return {items[item].examples[0]: probability for item, probability in found.items()}


def _judged(
    study: Study,
    answers: Sequence[Answer],
    items: Mapping[str, Item],
    probabilities: Mapping[tuple[str, str], float],
) -> Iterator[dict[str, Any]]:
    """Judged replies, as `rejoinder meta` reads them; `raters` names who gave each score."""
    examples = {(example.id, example.system): example for example in read(study.home / study.examples)}
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
    """Replies of people, as the system `human`: with the context and its id, so that they join the other replies."""
    examples = {example.context: example for example in read(study.home / study.examples)}
    for answer in answers:
        shown = examples[items[answer.item].context]
        identifier = f"human-{answer.item}-{answer.rater}"
        written = replace(shown, id=identifier, response=answer.value, system="human", references=())
        yield example_record(written, {"rater": answer.rater})
