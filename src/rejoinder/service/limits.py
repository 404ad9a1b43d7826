"""How much one request may hold, how much may wait, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the service."""

    body: int = 8 << 20
    """Bytes of a request."""
    examples: int = 1000
    """Replies of a request."""
    waiting: int = 10_000
    """Replies that were accepted and are not scored yet; a request beyond it is refused with 429."""
    batch: int = 256
    """Replies that are scored together."""
    seconds: float = 60.0
    """How long a request may take to arrive, and then how long its scores may take."""
    comparisons: int = 8
    """Comparisons that wait for their statistics, or are being computed."""
