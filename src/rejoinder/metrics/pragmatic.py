"""PM, the pragmatic component that D'Haro et al. (2019) leave to future work: does a reply contradict the reference?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import ClassVar

import numpy as np
import polars as pl

from rejoinder.errors import CallError
from rejoinder.metrics.base import Metric, best_reference, check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.text.claims import Claims, claims_of
from rejoinder.text.tokens import tokenise
from rejoinder.types import Scores

NONE = "none"
_CHECKS = 3  # entities, numbers, polarity


@dataclass(frozen=True, kw_only=True)
class Pm(Metric):
    """The share of three checks that a reply passes against a reference, times the score of another metric.

    The checks: the reply names no other place, day or person; it gives no other numbers; it does not deny what the
    reference says, nor affirm what it denies. They look at single words, and work for English only. `by` is a metric
    that judges how well the reply fits its context: its name, the folder of a trained evaluator, or a metric object.
    """

    name: ClassVar[str] = "pm"
    measures: ClassVar[str] = "whether a reply contradicts a reference: other places, other numbers, yes for no"
    citation: ClassVar[str] = "after the future work of D'Haro et al. 2019"

    by: str | Metric = NONE
    check_claims: bool = True
    refs: str = "max"

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "refs", ("max", "mean"))
        if self.by == NONE and not self.check_claims:
            raise CallError(f"{self.name}: nothing is left to check with by=none and check_claims=false")
        _ = self.judge  # an error in its name is raised now

    @property
    def needs(self) -> frozenset[str]:
        """The needs of `by`; references if there is no `by`, because claims are checked against them."""
        return frozenset({"references"}) if self.judge is None else self.judge.needs

    @cached_property
    def judge(self) -> Metric | None:
        """The metric that `by` names."""
        return None if self.by == NONE else component(self.by)

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metric that `by` names."""
        return () if self.judge is None else (self.judge,)

    def score_batch(self, batch: Batch) -> Scores:
        """One score per example, from 0 to 1."""
        scores = np.ones(len(batch)) if self.judge is None else shares(self.judge, batch)
        if self.check_claims:
            passed = best_reference(self._passed(batch), batch, self.refs)
            scores = scores * (passed if self.judge is None else np.where(np.isnan(passed), 1.0, passed))
        scores[batch.blank & (np.isfinite(scores) | (batch.reference_counts > 0))] = 0.0
        return scores

    def _passed(self, batch: Batch) -> Scores:
        """The share of the checks that each reply passes against each of its references. (references,)"""
        texts = pl.concat([batch.responses, batch.references])
        distinct = texts.unique(maintain_order=True)
        tokens = tokenise(distinct, "words", lowercase=False)
        claims = dict(zip(distinct, map(claims_of, tokens.to_list()), strict=True))
        own = [claims[text] for text in batch.responses]
        pairs = zip(batch.owner.tolist(), batch.references, strict=True)
        return np.array([_share(own[example], claims[reference]) for example, reference in pairs], np.float64)

    @property
    def signature(self) -> str:
        """With the judge's name and a hash of its signature in place of `by`."""
        known = super().signature
        return known if self.judge is None else known.replace(f"|by:{self.by}|", f"|by:{brief(self.judge)}|")


def component(given: str | Metric) -> Metric:
    """A metric that can be part of another one: its range is finite, and it scores each reply by itself."""
    metric: Metric = load(given) if isinstance(given, str) else given
    called = given if isinstance(given, str) else metric.name
    if not all(map(math.isfinite, metric.range)):
        raise CallError(f"{called} has no highest score: it cannot be part of another metric")
    if metric.observer() is not None:
        raise CallError(f"{called} must read all replies before it scores one: it cannot be part of another metric")
    return metric


def shares(metric: Metric, batch: Batch) -> Scores:
    """A metric's scores, scaled from 0, the worst, to 1, the best."""
    low, high = metric.range
    scaled = (metric.score_batch(batch) - low) / (high - low)
    return np.clip(scaled if metric.higher_is_better else 1 - scaled, 0.0, 1.0)


def brief(metric: Metric) -> str:
    """A metric's name with a hash of its signature, for the signature of another metric."""
    return f"{metric.name}@{blake2b(metric.signature.encode(), digest_size=6).hexdigest()}"


def _share(own: Claims, theirs: Claims) -> float:
    return 1 - len(own.clashes(theirs)) / _CHECKS
