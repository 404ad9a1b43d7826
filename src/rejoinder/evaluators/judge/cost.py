"""The cost of asking a judge: prices, a count of what was sent, a limit, and a plan before anything is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from rejoinder.evaluators.judge.wire import JudgeError


class CostLimitError(JudgeError):
    """The next request could cost more than the user allows."""

    def __init__(self, most: float, spent: float) -> None:
        super().__init__(
            f"stopped before the cost would exceed {most:g}: {spent:.4g} so far; what was answered is kept, so that "
            "the same command with a higher limit resumes"
        )


@dataclass(frozen=True)
class Prices:
    """Prices per million tokens, in any currency."""

    read: float = 0.0
    written: float = 0.0

    def cost(self, read: int, written: int) -> float:
        """The cost of these tokens."""
        return (read * self.read + written * self.written) / 1e6


@dataclass
class Meter:
    """Requests, tokens and cost of what was sent; cached answers do not count."""

    prices: Prices
    requests: int = 0
    cached: int = 0
    read: int = 0
    written: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, tokens: tuple[int, int]) -> None:
        """Count one answer."""
        with self._lock:
            self.requests += 1
            self.read += tokens[0]
            self.written += tokens[1]

    @property
    def cost(self) -> float:
        """So far."""
        return self.prices.cost(self.read, self.written)


@dataclass
class Budget:
    """The most that one or several judges together may cost.

    A request reserves the most that it can cost before it is sent, so that requests in flight cannot exceed the limit.
    """

    most: float
    meters: list[Meter]
    _reserved: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def spent(self) -> float:
        """So far, by all judges."""
        return sum(meter.cost for meter in self.meters)

    def reserve(self, cost: float) -> None:
        """Set the cost of a request aside; a CostLimitError where that would exceed the limit."""
        with self._lock:
            if self.spent + self._reserved + cost > self.most:
                raise CostLimitError(self.most, self.spent)
            self._reserved += cost

    def release(self, cost: float) -> None:
        """Undo a reservation: the request was answered, and is counted by its meter, or it failed."""
        with self._lock:
            self._reserved -= cost


@dataclass(frozen=True)
class Plan:
    """What asking would send; tokens are estimates."""

    requests: int = 0
    cached: int = 0
    read: int = 0
    written: int = 0
    """At most."""
    cost: float = 0.0
    """At most; 0 without prices."""
    if_sampled: int = 0
    """Further requests, should it turn out that an endpoint gives no log-probabilities."""

    @classmethod
    def total(cls, plans: Iterable[Plan]) -> Plan:
        """All of them together."""
        found = list(plans)
        names = ("requests", "cached", "read", "written", "cost", "if_sampled")
        return cls(**{name: sum(getattr(plan, name) for plan in found) for name in names})

    def __str__(self) -> str:
        cost = f", cost at most {self.cost:.4g}" if self.cost else ""
        more = (
            f"; {self.if_sampled:,} more if the endpoint gives no log-probabilities, which is not known yet"
            if self.if_sampled
            else ""
        )
        return (
            f"{self.requests:,} requests to send, {self.cached:,} answers in the cache; about {self.read:,} tokens to "
            f"read and at most {self.written:,} to write{cost}{more}"
        )
