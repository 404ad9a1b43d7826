"""Result files of Inspect, the LM evaluation harness and promptfoo as rows of scores."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rejoinder.data.opening import open_bytes, unreadable
from rejoinder.errors import DataError, MissingExtraError, cut
from rejoinder.folders.schema import RepeatedKeyError, json_value

# Logs of Inspect: one model on one task, with one or more scores per sample.
#
# Letters are numbers as in Inspect's own means: C is 1, P 0.5, I and N 0. A score of several values gives one column
# for each, such as "judge.clarity".


_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_LOCAL_HEADER = 30
"""Bytes of a ZIP entry's header, before its name."""


def is_log(document: Any) -> bool:
    """Whether a JSON document is a log."""
    return isinstance(document, dict) and document.keys() >= {"version", "eval", "status"}


def inspect_log_rows(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """One row per sample and epoch of a log in JSON."""
    if not document.get("samples"):
        raise DataError("is a log of Inspect without samples: expected one of a finished run", file=name)
    return list(_rows(document["eval"], document["samples"]))


def archive_rows(path: Path) -> list[dict[str, Any]]:
    """One row per sample and epoch of an .eval file; the samples' messages are not read."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = json_value(_content(archive, "header.json"))
            summaries = json_value(_content(archive, "summaries.json"))
    except KeyError:
        raise DataError("is a log of Inspect without results: expected one of a finished run", file=str(path)) from None
    except RepeatedKeyError as error:
        raise DataError(str(error), file=str(path)) from None
    except (zipfile.BadZipFile, ValueError, EOFError):
        raise DataError("is damaged: expected a log of Inspect", file=str(path)) from None
    return list(_rows(header["eval"], summaries))


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    """One file of the archive. Before Python 3.14, zipfile cannot decompress Zstandard, which Inspect uses."""
    entry = archive.getinfo(name)
    try:
        return archive.read(entry)
    except NotImplementedError:
        pass
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading .eval files of Inspect", "inspect") from None
    file: Any = archive.fp
    file.seek(entry.header_offset)
    local = file.read(_LOCAL_HEADER)
    file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
    packed = file.read(entry.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return bytes(reader.read(entry.file_size))  # no more than the archive says
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


def _rows(run: Mapping[str, Any], samples: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for sample in samples:
        scores = {
            column: value
            for name, score in (sample.get("scores") or {}).items()
            for column, value in _columns(name, score["value"])
        }
        yield {"id": f"{run['task']}/{sample['id']}", "system": run["model"], "scores": scores}


def _columns(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _columns(f"{name}.{key}", inner)
    elif isinstance(value, str):
        yield name, _LETTERS.get(value, value)
    else:
        # NaN: the sample could not be scored.
        yield name, None if isinstance(value, float) and value != value else value


# Samples of the Language Model Evaluation Harness: MODEL/samples_TASK_TIME.jsonl, from `lm_eval --log_samples`.


_FILE = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT[\d.:-]+$")


def is_sample(record: Any) -> bool:
    """Whether a JSON object is a sample."""
    return isinstance(record, dict) and record.keys() >= {"doc_id", "doc", "filtered_resps", "metrics"}


def lm_eval_rows(path: Path) -> list[dict[str, Any]]:
    """One row per sample: the metrics that it names. The system is the folder, which has the model's name.

    Where answers were filtered, the name of the filter stands after that of the metric, as in the harness's tables.
    """
    name = _FILE.fullmatch(path.stem)
    task = name["task"] if name else path.stem
    system = path.absolute().parent.name
    return [
        {"id": f"{task}/{sample['doc_id']}", "system": system, "scores": dict(_lm_eval_scores(sample))}
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


def _lm_eval_scores(sample: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    chosen = sample.get("filter", "none")
    for metric in sample["metrics"]:
        yield metric if chosen == "none" else f"{metric},{chosen}", sample.get(metric)


# Results of promptfoo: the file of `promptfoo eval -o results.json`.
#
# What is compared are the columns of its table: providers, prompts where there are several, or both. Tests with equal
# variables are paired. The numbers are promptfoo's `score` of a test, `pass` (1 or 0), and its named metrics. A test
# that ended in an error, such as a provider that did not answer, has no scores.


_ERROR = 2
"""promptfoo's reason of a failure that is not an assertion's."""
_LONGEST_PROMPT = 60


def is_result(document: Any) -> bool:
    """Whether a JSON document is a file of results."""
    results = document.get("results") if isinstance(document, dict) else None
    return isinstance(results, dict) and results.keys() >= {"version", "results", "stats"}


def promptfoo_rows(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """One row per test and column of the table."""
    found = document["results"]["results"]
    if not found:
        raise DataError("is a file of promptfoo without results: expected one of a finished run", file=name)
    several_prompts = len({result["promptId"] for result in found}) > 1
    several_providers = len({_provider(result) for result in found}) > 1
    return [
        {
            "id": str(result["testIdx"]),
            "context_id": _digest(result["vars"]),
            "system": _system(result, several_prompts, several_providers),
            "scores": _promptfoo_scores(result),
        }
        for result in found
    ]


def _system(result: dict[str, Any], several_prompts: bool, several_providers: bool) -> str:
    """The provider; where there are several prompts, the prompt too, or instead of the only provider."""
    provider, prompt = _provider(result), " ".join(cut(str(result["prompt"]["label"]), _LONGEST_PROMPT).split())
    if not several_prompts:
        return provider
    return f"{provider}: {prompt}" if several_providers else prompt


def _provider(result: dict[str, Any]) -> str:
    provider = result["provider"]
    return str(provider.get("label") or provider["id"])


def _promptfoo_scores(result: dict[str, Any]) -> dict[str, Any]:
    named = dict(result.get("namedScores") or {})
    if result.get("failureReason") == _ERROR:
        return dict.fromkeys(["score", "pass", *named])
    return {"score": result["score"], "pass": float(bool(result["success"])), **named}


def _digest(variables: dict[str, Any]) -> str:
    """The same text for equal variables; those that promptfoo adds, such as the conversation so far, are left out."""
    own = {name: value for name, value in variables.items() if not name.startswith("_")}
    return hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=8).hexdigest()


# Recognises result files, and gives their rows as records of a score table.
#
# A row has `id`, `system` and `scores`, and `context_id` where the tool says which inputs are equal. Where it does not,
# the id begins with the task, so that equal ids of several tasks are not paired.


Rows = list[dict[str, Any]]


def result_rows(origin: Any) -> Rows | None:
    """The rows of one or more result files; None where these are not result files of a tool that we know.

    Where two files have the same system and the same samples, such as two runs of one model with different prompts,
    the system's name begins with that of the file.
    """
    paths = [origin] if isinstance(origin, str | Path) else origin
    if not isinstance(paths, list | tuple) or not paths or not all(isinstance(one, str | Path) for one in paths):
        return None
    files = [Path(one) for one in paths]
    # Unlike Path.is_file, os.path.isfile raises no error for a name that is too long.
    found = [_rows_of_file(file) if os.path.isfile(file) else None for file in files]
    read = [rows for rows in found if rows is not None]
    if not read:
        return None
    if len(read) < len(found):
        raise DataError("is not a result file of the same kind as the others", file=str(files[found.index(None)]))
    return [row for rows in _distinct(files, read) for row in rows]


def _rows_of_file(path: Path) -> Rows | None:
    try:
        return _recognised(path)
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"has an unexpected structure ({type(error).__name__}: {error})"
        raise DataError(f"{problem}: expected a complete result file", file=str(path)) from None
    except OSError as error:
        raise unreadable(error, str(path)) from None


def _recognised(path: Path) -> Rows | None:
    if path.suffix == ".eval":
        return archive_rows(path)
    if path.suffix == ".json":
        document = _document(path)
        if is_log(document):
            return inspect_log_rows(document, str(path))
        if is_result(document):
            return promptfoo_rows(document, str(path))
    if path.suffix == ".jsonl" and is_sample(_first_line(path)):
        return lm_eval_rows(path)
    return None


def _document(path: Path) -> Any:
    """The JSON object that is the whole file; None where it is something else."""
    with open_bytes(path) as file:
        if file.read(1) != b"{":
            return None
        try:
            return json_value(b"{" + file.read())
        except ValueError:  # reported by the reader of tables
            return None


def _first_line(path: Path) -> Any:
    with open_bytes(path) as file:
        try:
            return json_value(file.readline())
        except ValueError:
            return None


def _distinct(files: Sequence[Path], read: Sequence[Rows]) -> list[Rows]:
    """The rows of all files, with system names that keep the same samples of two files apart."""
    count = Counter(key for rows in read for key in {(row["system"], row["id"]) for row in rows})
    return [
        [{**row, "system": f"{file.stem}:{row['system']}"} for row in rows]
        if any(count[row["system"], row["id"]] > 1 for row in rows)
        else rows
        for file, rows in zip(files, read, strict=True)
    ]
