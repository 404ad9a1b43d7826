"""config.json of a folder that a trained model was saved in: it names the model's class.

Such a folder is data, never code. `kind` is what messages call the model: an evaluator, a reply model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rejoinder.errors import CallError, DataError, shortened
from rejoinder.loading.inside import refuse_links
from rejoinder.loading.schema import read_json

CONFIG = "config.json"
FORMAT = 1
"""Increases when folders that were written before can no longer be read."""

_FIELDS: dict[str, type] = {"name": str, "parameters": dict, "fit": dict}
"""What every config.json has."""


def read_config(folder: Path, kind: str = "evaluator") -> dict[str, Any]:
    """The content of config.json, with `name`, `parameters` and `fit`; an error if the folder holds no such model."""
    path = folder / CONFIG
    if not path.is_file():
        raise CallError(f"{folder} holds no {kind}: expected {CONFIG} in it")
    config = read_json(path)
    if not all(isinstance(config.get(key), cls) for key, cls in _FIELDS.items()):
        raise DataError(f"does not describe {with_article(kind)}: expected name, parameters and fit", file=str(path))
    if config.get("format") != FORMAT:
        raise DataError(f"has format {shortened(config.get('format'))}: this version reads {FORMAT}", file=str(path))
    refuse_links(folder)
    return config


def with_article(kind: str) -> str:
    """The noun with its article: an evaluator, a reply model."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
