"""What a command did, and the types of the fixtures that run commands and write files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on standard output."""
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed


Run = Callable[..., Ran]
WriteLines = Callable[..., Path]
