"""Answers to files, and to and from other tools: Label Studio, Potato, crowdsourcing batches."""

from __future__ import annotations

import csv
import html
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from rejoinder.data.convert import example_record
from rejoinder.data.dialogues import by_replier
from rejoinder.data.judged import chosen_with
from rejoinder.data.source import read
from rejoinder.errors import CallError, DataError, shortened
from rejoinder.folders.schema import RepeatedKeyError, json_value
from rejoinder.people.items import Item
from rejoinder.people.queue import probabilities_of_rated
from rejoinder.people.store import RaterAnswer, Store, latest
from rejoinder.people.study import Question, Study

# From answers to files: judged replies, preferences between two replies, or replies that people wrote.


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
    study: Study, store: Store, items: Mapping[str, Item], answers: Sequence[RaterAnswer]
) -> dict[tuple[str, str], float]:
    """With which probability each reply was chosen, by the study's queue or before by `rejoinder sample`."""
    if study.queue is None:
        return chosen_with(study.folder / study.examples)
    real = [item for item in items.values() if item.role == "real"]
    found = probabilities_of_rated(study, study.queue, real, store.drawn(), {one.item for one in answers})
    return {items[item].examples[0]: probability for item, probability in found.items()}


def _judged(
    study: Study,
    answers: Sequence[RaterAnswer],
    items: Mapping[str, Item],
    probabilities: Mapping[tuple[str, str], float],
) -> Iterator[dict[str, Any]]:
    """Judged replies, as `rejoinder trust` reads them; `raters` names who gave each score."""
    examples = {(example.id, example.system): example for example in read(study.folder / study.examples)}
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


def _preferences(_: Study, answers: Sequence[RaterAnswer], items: Mapping[str, Item]) -> Iterator[dict[str, Any]]:
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


def _written(study: Study, answers: Sequence[RaterAnswer], items: Mapping[str, Item]) -> Iterator[dict[str, Any]]:
    """Replies of people, as the system `human`: with the context and its id, so that they join the other replies."""
    examples = {example.context: example for example in read(study.folder / study.examples)}
    for answer in answers:
        shown = examples[items[answer.item].context]
        identifier = f"human-{answer.item}-{answer.rater}"
        written = replace(shown, id=identifier, response=answer.value, system="human", references=())
        yield example_record(written, {"rater": answer.rater})


# CSV for Mechanical Turk batches and for forms: one row per item, and the answers of a results file.
#
# Mechanical Turk puts the columns of the batch into `Input.NAME` and the answers into `Answer.NAME`, or, for radio
# buttons of its own elements, into `Answer.NAME.VALUE` with `true`. Tables of other forms have the columns `item`, the
# rater and the questions by their names.


_ITEM = ("Input.item", "item")
_RATER_COLUMNS = ("WorkerId", "PROLIFIC_PID", "Participant id", "rater")


def batch(study: Study, items: Mapping[str, Item]) -> str:
    """One row per item. Every text begins with who says it, so that no spreadsheet takes it for a formula."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\r\n")
    writer.writerow(["item", "context", "reply"])
    for item in offered(study, items):
        context = "\n".join(f"{who}: {text}" for who, text in turns(item))
        writer.writerow([item.id, context, f"Replier: {item.replies[0]}"])
    return table.getvalue()


def batch_results(study: Study, path: Path) -> Iterator[RaterAnswer]:
    """The answers of a results file; rejected assignments are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (ValueError, csv.Error) as error:
        raise DataError(f"is not a CSV table ({error})", file=str(path)) from error
    for number, row in enumerate(rows, 2):
        if row.get("AssignmentStatus") == "Rejected":
            continue
        item, rater = (next((row[name] for name in names if row.get(name)), "") for names in (_ITEM, _RATER_COLUMNS))
        if not item or not rater:
            missing = " or ".join(_RATER_COLUMNS if item else _ITEM)
            raise DataError(f"row {number} has no {missing}", file=str(path))
        seconds = row.get("WorkTimeInSeconds") or "0"
        for question in study.questions:
            if value := _value(row, question):
                yield RaterAnswer(
                    rater, item, question.name, value, float(seconds) if seconds.isdecimal() else 0.0, 0.0
                )


def _value(row: Mapping[str, str], question: Question) -> str:
    for name in (f"Answer.{question.name}", question.name):
        if row.get(name):
            return point_text(row[name])
    ticked = [
        point for point in question.points if (row.get(f"Answer.{question.name}.{point}") or "").lower() == "true"
    ]
    return str(ticked[0]) if len(ticked) == 1 else ""


# Label Studio: tasks in its JSON format with the answers so far, its labelling configuration, and exports read
# back.
#
# A task has the item's id, the conversation and the reply in `data`; a question is a `Choices` tag. Label Studio
# accepts only its own users in `completed_by`, so our raters are named in the meta text of each result.


_RATER_PREFIX = "rater: "


def label_studio_tasks(study: Study, items: Mapping[str, Item], answers: Sequence[RaterAnswer]) -> list[dict[str, Any]]:
    """One task per item, with one annotation per rater."""
    by_item: dict[str, dict[str, list[RaterAnswer]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        by_item[answer.item][answer.rater].append(answer)
    return [
        {
            "id": number,
            "data": {
                "item": item.id,
                "dialogue": [{"author": who, "text": text} for who, text in turns(item)],
                "reply": item.replies[0],
            },
            "annotations": [_annotation(rater, own) for rater, own in by_item[item.id].items()],
        }
        for number, item in enumerate(offered(study, items), 1)
    ]


def _annotation(rater: str, answers: Sequence[RaterAnswer]) -> dict[str, Any]:
    return {
        "created_at": datetime.fromtimestamp(max(one.given for one in answers), UTC).isoformat(),
        "lead_time": sum({(one.given, one.seconds): one.seconds for one in answers}.values()),
        "was_cancelled": False,
        "result": [
            {
                "id": f"{one.item}-{one.question}-{rater}",
                "from_name": one.question,
                "to_name": "reply",
                "type": "choices",
                "value": {"choices": [one.value]},
                "meta": {"text": [f"{_RATER_PREFIX}{rater}"]},
            }
            for one in answers
        ],
    }


def label_studio_configuration(study: Study) -> str:
    """The labelling configuration that belongs to the tasks."""
    questions = "\n".join(_choices(question) for question in study.questions)
    return f"""<View>
  <Paragraphs name="dialogue" value="$dialogue" layout="dialogue" nameKey="author" textKey="text"/>
  <Header value="Reply to judge"/>
  <Text name="reply" value="$reply"/>
{questions}
</View>
"""


def _choices(question: Question) -> str:
    points = "".join(
        f'    <Choice value="{point}"{f" hint={quoteattr(label)}" if (label := question.label(point)) else ""}/>\n'
        for point in question.points
    )
    name = quoteattr(question.name)
    return (
        f"  <Header value={quoteattr(question.text)}/>\n"
        f'  <Choices name={name} toName="reply" choice="single-radio" required="true">\n{points}  </Choices>'
    )


def label_studio_results(study: Study, path: Path) -> Iterator[RaterAnswer]:
    """The answers in an export in the format "JSON"; cancelled annotations are left out."""
    try:
        found = json_value(path.read_text(encoding="utf-8"))
        if not isinstance(found, list):
            raise TypeError
        for task in found:
            for annotation in task["annotations"]:
                if not annotation.get("was_cancelled"):
                    yield from _answers(study, str(task["data"]["item"]), annotation)
    except RepeatedKeyError as error:
        raise DataError(str(error), file=str(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise DataError(
            "is not an export of this study from Label Studio in the format JSON", file=str(path)
        ) from error


def _answers(study: Study, item: str, annotation: Mapping[str, Any]) -> Iterator[RaterAnswer]:
    given = annotation.get("created_at")
    moment = datetime.fromisoformat(given).timestamp() if given else 0.0
    for result in annotation["result"]:
        if result.get("from_name") in question_names(study):
            value = point_text(result["value"]["choices"][0])
            yield RaterAnswer(
                _rater(annotation, result),
                item,
                result["from_name"],
                value,
                float(annotation.get("lead_time") or 0),
                moment,
            )


def _rater(annotation: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    notes = (result.get("meta") or {}).get("text") or []
    named = [
        note.removeprefix(_RATER_PREFIX) for note in notes if isinstance(note, str) and note.startswith(_RATER_PREFIX)
    ]
    if named:
        return named[0]
    by = annotation.get("completed_by")
    found = by.get("email") or by.get("id") if isinstance(by, dict) else by
    return "" if found is None else str(found)


# Potato: items and a configuration for it, and the answers in its output folder (`USER/user_state.json`).


def potato_records(study: Study, items: Mapping[str, Item]) -> Iterator[dict[str, str]]:
    """One record per item. Potato shows the text as HTML, so that everything in it is escaped."""
    for item in offered(study, items):
        said = [*turns(item), ("Reply to judge", item.replies[0])]
        text = "".join(f"<p><b>{who}:</b> {html.escape(text)}</p>" for who, text in said)
        yield {"id": item.id, "text": text}


def potato_configuration(study: Study, data_file: str) -> str:
    """Potato's configuration, for the folder that the data file is in. It is JSON, which YAML contains."""
    settings: dict[str, Any] = {
        "annotation_task_name": study.title,
        "task_dir": ".",
        "output_annotation_dir": "annotation_output",
        "data_files": [data_file],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": question.name,
                "description": question.text,
                "labels": [{"name": str(point), "tooltip": question.label(point)} for point in question.points],
                "label_requirement": {"required": True},
            }
            for question in study.questions
        ],
    }
    return json.dumps(settings, ensure_ascii=False, indent=2) + "\n"


def potato_results(study: Study, folder: Path) -> Iterator[RaterAnswer]:
    """The answers of everyone in Potato's output folder. It has no times per item that could be compared with ours."""
    states = sorted(folder.glob("*/user_state.json")) if folder.is_dir() else []
    if not states:
        raise CallError(f"{folder} has no */user_state.json: expected the output folder of Potato")
    for path in states:
        try:
            state = json_value(path.read_text(encoding="utf-8"))
            for item, labels in state["instance_id_to_label_to_value"].items():
                for label, value in labels:
                    if value and label["schema"] in question_names(study):
                        rater, point = str(state["user_id"]), point_text(label["name"])
                        yield RaterAnswer(rater, item, label["schema"], point, 0.0, path.stat().st_mtime)
        except RepeatedKeyError as error:
            raise DataError(str(error), file=str(path)) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError("is not the state of an annotator of Potato", file=str(path)) from error


# Answers that were given in another tool, checked and added to the store of a study.


def offered(study: Study, items: Mapping[str, Item]) -> list[Item]:
    """The items that another tool shows, shuffled replies among them, in an order that does not reveal systems."""
    _check_kind(study)
    return sorted((item for item in items.values() if item.role != "repeated"), key=lambda item: item.id)


def turns(item: Item) -> list[tuple[str, str]]:
    """Who says what before the reply."""
    own = by_replier(len(item.context), item.speakers)
    return [("Replier" if mine else "Other person", text) for mine, text in zip(own, item.context, strict=True)]


def add_results(
    study: Study, store: Store, items: Mapping[str, Item], answers: Sequence[RaterAnswer], tool: str, file: str
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


def _check(study: Study, items: Mapping[str, Item], answer: RaterAnswer, file: str) -> None:
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
