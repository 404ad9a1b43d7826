"""The cost of asking a judge: prices, a count of what was sent, a limit, and a plan before anything is sent.

What a server does not report is estimated: before a request is sent, the most that it is expected to cost is reserved;
afterwards, the reported tokens are counted, or where there are none, what was reserved.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rejoinder.judge.prompt import TokenUsage, token_usage
from rejoinder.judge.wire import JudgeError
from rejoinder.show.document import Document, Result, Say, Table

_COUNTING = threading.Condition()
"""Held while a cost is reserved or counted, so that no thread sees one without the other."""


class CostLimitError(JudgeError):
    """The next request could cost more than the user allows."""

    def __init__(self, budget: Budget, next_cost: float) -> None:
        self.budget, self.next_cost = budget, next_cost
        most, spent = budget.most, budget.spent
        reached = f"stopped before the cost would exceed {most:g}: {spent:.4g} so far"
        if spent > most:
            reached = f"stopped because the cost is above {most:g}: {spent:.4g}, more than was expected"
        resume = f"without paying for it again, and may cost another {most:g}"
        super().__init__(
            f"{reached}{estimate_note(budget.meters)}; the next request may cost up to {next_cost:.4g}; what was "
            f"answered is kept, so that the same command resumes "
            f"{resume if next_cost <= most else 'with a limit of at least that'}"
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
    usage: TokenUsage = field(default_factory=TokenUsage)

    @property
    def cost(self) -> float:
        """So far."""
        return self.prices.cost(self.usage.read, self.usage.written)

    @property
    def estimated_cost(self) -> float:
        """How much of the cost is an estimate."""
        return self.prices.cost(self.usage.read_estimated, self.usage.written_estimated)


def estimate_note(meters: Sequence[Meter]) -> str:
    """How much of tokens and cost is an estimate, and why; "" where nothing is."""
    estimated = sum(meter.usage.estimates for meter in meters)
    if not estimated:
        return ""
    tokens = sum(meter.usage.read_estimated + meter.usage.written_estimated for meter in meters)
    priced = any(meter.prices != Prices() for meter in meters)
    cost = f", cost {math.fsum(meter.estimated_cost for meter in meters):.4g}" if priced else ""
    requests = sum(meter.requests for meter in meters)
    return f" (estimated: {tokens} tokens{cost}; no usable token counts came with {estimated} of {requests} answers)"


@dataclass
class Budget:
    """The most that one or several judges together may cost.

    A request reserves the most that it can cost before it is sent, so that requests in flight cannot exceed the limit.
    """

    most: float
    meters: list[Meter]
    reserved: float = 0.0
    under_way: int = 0
    """Requests that have a reservation."""

    @property
    def spent(self) -> float:
        """So far, by all judges."""
        return math.fsum(meter.cost for meter in self.meters)


@dataclass
class Charge:
    """The cost of one request: reserved within all budgets before it is sent, and counted once it is answered."""

    meter: Meter
    budgets: Sequence[Budget]
    read: int
    """Tokens, estimated."""
    written: int

    @property
    def tokens(self) -> int:
        """About how many tokens are read and written."""
        return self.read + self.written

    @property
    def most(self) -> float:
        """What the request may cost."""
        return self.meter.prices.cost(self.read, self.written)

    def reserve(self) -> None:
        """Set the cost aside; a CostLimitError where that would exceed a limit.

        Requests that are under way may cost less than they reserved, so that their answers are awaited first.
        """
        with _COUNTING:
            while full := [one for one in self.budgets if one.spent + one.reserved + self.most > one.most]:
                for budget in full:
                    if not budget.under_way or budget.spent + self.most > budget.most:
                        raise CostLimitError(budget, self.most)
                _COUNTING.wait()
            for budget in self.budgets:
                budget.reserved += self.most
                budget.under_way += 1

    def settle(self, answer: Mapping[str, Any] | None, *, lost: bool = False) -> None:
        """Count an answer instead of the reservation; one that was lost on its way may cost as much as was reserved."""
        with _COUNTING:
            for budget in self.budgets:
                budget.under_way -= 1
                budget.reserved = budget.reserved - self.most if budget.under_way else 0.0
            if answer is not None or lost:
                self.meter.requests += 1
                self.meter.usage += token_usage(answer or {}, self.read, self.written)
            _COUNTING.notify_all()


@dataclass(frozen=True)
class AskingPlan:
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
    def total(cls, plans: Iterable[AskingPlan]) -> AskingPlan:
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


@dataclass(frozen=True, repr=False)
class CostPlan(Result):
    """What the judges among some metrics would send; nothing is sent."""

    judges: Mapping[str, AskingPlan]
    """Judge -> what it would send."""

    @property
    def total(self) -> AskingPlan:
        """All of them together."""
        return AskingPlan.total(self.judges.values())

    @property
    def sentences(self) -> list[str]:
        """What would be sent in all."""
        return [str(self.total)] if self.judges else ["no judge among the metrics: nothing would be sent"]

    def document(self) -> Document:
        """What each judge would send, and the total."""
        lines = [f"{name}: {plan}" for name, plan in self.judges.items()] or self.sentences
        lines += [f"together: {self.total}"] if len(self.judges) > 1 else []
        names = ("requests", "cached", "read", "written", "cost", "if_sampled")
        rows = [[judge, *(getattr(plan, name) for name in names)] for judge, plan in self.judges.items()]
        table = Table(["judge", *(name.replace("_", " ") for name in names)], rows, only=("latex", "html"))
        return Document("What judges would cost", [Say(lines, lines=True, fit=False), table])

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        judges = {name: asdict(plan) for name, plan in self.judges.items()}
        return {"dry_run": True, "judges": judges, **asdict(self.total)}
