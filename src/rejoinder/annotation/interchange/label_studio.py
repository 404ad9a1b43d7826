"""Label Studio: tasks in its JSON format with the answers so far, its labelling configuration, and exports read back.

A task has the item's id, the conversation and the reply in `data`; a question is a `Choices` tag. Label Studio accepts
only its own users in `completed_by`, so our raters are named in the meta text of each result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from rejoinder.annotation.interchange.results import offered, point_text, question_names, turns
from rejoinder.annotation.items import Item
from rejoinder.annotation.store import Answer
from rejoinder.annotation.study import Question, Study
from rejoinder.errors import DataError
from rejoinder.loading.schema import RepeatedKeyError, json_value

_RATER = "rater: "


def tasks(study: Study, items: Mapping[str, Item], answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """One task per item, with one annotation per rater."""
    by_item: dict[str, dict[str, list[Answer]]] = defaultdict(lambda: defaultdict(list))
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


def _annotation(rater: str, answers: Sequence[Answer]) -> dict[str, Any]:
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
                "meta": {"text": [f"{_RATER}{rater}"]},
            }
            for one in answers
        ],
    }


def configuration(study: Study) -> str:
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


def results(study: Study, path: Path) -> Iterator[Answer]:
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


def _answers(study: Study, item: str, annotation: Mapping[str, Any]) -> Iterator[Answer]:
    given = annotation.get("created_at")
    moment = datetime.fromisoformat(given).timestamp() if given else 0.0
    for result in annotation["result"]:
        if result.get("from_name") in question_names(study):
            value = point_text(result["value"]["choices"][0])
            yield Answer(
                _rater(annotation, result),
                item,
                result["from_name"],
                value,
                float(annotation.get("lead_time") or 0),
                moment,
            )


def _rater(annotation: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    notes = (result.get("meta") or {}).get("text") or []
    named = [note.removeprefix(_RATER) for note in notes if isinstance(note, str) and note.startswith(_RATER)]
    if named:
        return named[0]
    by = annotation.get("completed_by")
    found = by.get("email") or by.get("id") if isinstance(by, dict) else by
    return "" if found is None else str(found)
