"""Samples of the Language Model Evaluation Harness: MODEL/samples_TASK_TIME.jsonl, from `lm_eval --log_samples`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rejoinder.data.formats.opening import open_bytes
from rejoinder.errors import DataError
from rejoinder.loading.schema import RepeatedKeyError, json_value

_FILE = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")


def is_sample(record: Any) -> bool:
    """Whether a JSON object is a sample."""
    return isinstance(record, dict) and record.keys() >= {"doc_id", "doc", "filtered_resps", "metrics"}


def rows(path: Path) -> list[dict[str, Any]]:
    """One row per sample: the metrics that it names. The system is the folder, which has the model's name.

    Where answers were filtered, the name of the filter stands after that of the metric, as in the harness's tables.
    """
    name = _FILE.fullmatch(path.stem)
    task = name["task"] if name else path.stem
    system = path.absolute().parent.name
    return [
        {"id": f"{task}/{sample['doc_id']}", "system": system, "scores": dict(_scores(sample))}
        for sample in _samples(path)
    ]


def _samples(path: Path) -> Iterator[dict[str, Any]]:
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                sample = json_value(line)
            except RepeatedKeyError as error:
                raise DataError(str(error), file=str(path), line=number) from None
            except ValueError:
                raise DataError(
                    "is not valid JSON: expected one sample per line", file=str(path), line=number
                ) from None
            if not is_sample(sample):
                raise DataError("expected a sample with doc_id and metrics", file=str(path), line=number)
            yield sample


def _scores(sample: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    chosen = sample.get("filter", "none")
    for metric in sample["metrics"]:
        yield metric if chosen == "none" else f"{metric},{chosen}", sample.get(metric)
