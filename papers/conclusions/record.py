"""The record of a conclusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Holds = Literal["yes", "in part", "no", "not reached", "not measured"]
"""`not reached`: what could be run here falls short of it, but the paper's own model could not be run."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One claim of a paper."""

    claim: str
    found: str
    holds: Holds
    page: str
    """The page with the figures."""
    items: tuple[str, ...]
    """The tables and figures of the paper that it is drawn from: `Table 3`."""
