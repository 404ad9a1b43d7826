"""Potato: items and a configuration for it, and the answers in its output folder (`USER/user_state.json`)."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rejoinder.annotation.interchange.results import offered, point_text, question_names, turns
from rejoinder.annotation.items import Item
from rejoinder.annotation.store import Answer
from rejoinder.annotation.study import Study
from rejoinder.errors import CallError, DataError
from rejoinder.loading.schema import RepeatedKeyError, json_value


def records(study: Study, items: Mapping[str, Item]) -> Iterator[dict[str, str]]:
    """One record per item. Potato shows the text as HTML, so that everything in it is escaped."""
    for item in offered(study, items):
        said = [*turns(item), ("Reply to judge", item.replies[0])]
        text = "".join(f"<p><b>{who}:</b> {html.escape(text)}</p>" for who, text in said)
        yield {"id": item.id, "text": text}


def configuration(study: Study, data_file: str) -> str:
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


def results(study: Study, folder: Path) -> Iterator[Answer]:
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
                        yield Answer(rater, item, label["schema"], point, 0.0, path.stat().st_mtime)
        except RepeatedKeyError as error:
            raise DataError(str(error), file=str(path)) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError("is not the state of an annotator of Potato", file=str(path)) from error
