"""Answers that were given in another tool, checked and added to the store of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from rejoinder.annotation.items import Item
from rejoinder.annotation.store import Answer, Store, latest
from rejoinder.annotation.study import Study
from rejoinder.data.pairs import by_replier
from rejoinder.errors import CallError, DataError, shortened


def offered(study: Study, items: Mapping[str, Item]) -> list[Item]:
    """The items that another tool shows, shuffled replies among them, in an order that does not reveal systems."""
    _check_kind(study)
    return sorted((item for item in items.values() if item.role != "repeated"), key=lambda item: item.id)


def turns(item: Item) -> list[tuple[str, str]]:
    """Who says what before the reply."""
    own = by_replier(len(item.context), item.speakers)
    return [("Replier" if mine else "Other person", text) for mine, text in zip(own, item.context, strict=True)]


def add_results(
    study: Study, store: Store, items: Mapping[str, Item], answers: Sequence[Answer], tool: str, file: str
) -> int:
    """Store answers whose raters have the names of another tool; the number of new ones.

    Nothing is stored if one of them is wrong. Answers that are stored already are left out, so that a file can be
    imported again when it has grown, and so that our own answers, which went to the other tool with the items, do not
    come back as those of somebody else.
    """
    _check_kind(study)
    for answer in answers:
        _check(study, items, answer, file)
    ours = {rater.id for rater in store.raters()}
    named = [one if one.rater in ours else replace(one, rater=_rater_id(tool, one.rater)) for one in answers]
    known = latest(store.answers())
    new = [one for one in named if (one.rater, one.item, one.question) not in known]
    sources = {_rater_id(tool, answer.rater): f"{tool}:{answer.rater}" for answer in answers}
    with store.transaction():
        for rater in dict.fromkeys(one.rater for one in new):
            if store.rater_by("id", rater) is None:
                # The hash of a token; nobody can enter by a link, because nothing has this one.
                store.add_rater(rater, f"imported {rater}", sources[rater])
            before = [one.item for one in store.assigned(rater)]
            given = dict.fromkeys(one.item for one in new if one.rater == rater and one.item not in before)
            store.assign(rater, list(given), start=len(before))
    store.add_answers(new)
    return len(new)


def _check_kind(study: Study) -> None:
    if study.kind != "scale":
        raise CallError(f"other tools get studies with scales, and this one has questions of kind {study.kind}")
    if study.queue is not None:
        raise CallError(
            "the queue of this study chooses while its own server runs: for other tools, expected a study without "
            "[queue], of replies that `rejoinder sample` chose"
        )


def _check(study: Study, items: Mapping[str, Item], answer: Answer, file: str) -> None:
    if answer.item not in items:
        raise DataError(f"has the item {shortened(answer.item)}, which this study does not have", file=file)
    if not answer.rater:
        raise DataError(f"does not say who rated the item {answer.item}", file=file)
    if study.question(answer.question).problem(answer.value):
        raise DataError(
            f"has the answer {shortened(answer.value)} to {answer.question}: expected a point of its scale", file=file
        )


def _rater_id(tool: str, name: str) -> str:
    return blake2b(f"{tool}:{name}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def point_text(value: object) -> str:
    """A point of a scale as answers have it: "4" for 4, 4.0 and "4.0"."""
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def question_names(study: Study) -> set[str]:
    """The names of the questions."""
    return {question.name for question in study.questions}
