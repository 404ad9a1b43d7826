"""Finished cells on disk, one JSON line per cell, written as soon as the cell is finished."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder._version import __version__
from rejoinder.errors import CallError, DataError
from rejoinder.loading.schema import json_value
from rejoinder.meta.experiments.cells import Cell
from rejoinder.output.locks import locked
from rejoinder.types import Scores

FILE = "cells.jsonl"


class CellStore:
    """The scores of cells by key; only in memory where there is no folder."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._scores: dict[str, Scores] = {}
        if path is not None:
            self._read(path)

    @classmethod
    @contextmanager
    def opened(cls, folder: Path | None = None) -> Iterator[CellStore]:
        """The store of a folder, which no other run can write to during the block; CallError if one is writing."""
        if folder is None:
            yield cls()
            return
        if folder.exists() and not folder.is_dir():
            raise CallError(f"{folder} is a file: expected a folder for finished cells")
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / FILE):
            yield cls(folder / FILE)

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self._scores

    def __getitem__(self, cell: Cell) -> Scores:
        scores = self._scores[cell.key]
        if len(scores) != len(cell.test):
            raise DataError(
                f"has {len(scores)} scores of cell {cell.key}: expected {len(cell.test)}", file=str(self._path)
            )
        return scores

    def add(self, cell: Cell, scores: Scores, signature: str, seconds: float) -> None:
        """Save the scores of a finished cell."""
        self._scores[cell.key] = scores
        if self._path is None:
            return
        record = {
            "key": cell.key,
            "evaluator": cell.label,
            "signature": signature,
            "version": __version__,
            "seed": cell.seed,
            "train": {"set": cell.train_set, "judged": len(cell.train), "dialogues": len(cell.dialogues)},
            "test": {"set": cell.test_set, "replies": len(cell.test)},
            "seconds": round(seconds, 3),
            "ids": [example.id for example in cell.test],
            "scores": [value if math.isfinite(value) else None for value in scores.tolist()],
        }
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(record) + "\n")

    def _read(self, path: Path) -> None:
        """Read finished cells; an incomplete last line, left by an interrupted run, is removed."""
        if not path.exists():
            return
        end = 0
        with path.open("r+b") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    file.truncate(end)
                    break
                record = _record(line, path, number)
                scores = [math.nan if value is None else value for value in record["scores"]]
                self._scores[record["key"]] = np.array(scores, np.float64)
                end += len(line)


def _record(line: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        record = json_value(line)
    except ValueError as error:
        raise DataError(f"is not JSON ({error})", file=str(path), line=number) from error
    if not isinstance(record, dict) or not {"key", "scores"} <= record.keys():
        raise DataError("is not a finished cell: expected key and scores", file=str(path), line=number)
    return record
