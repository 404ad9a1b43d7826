"""The likelihood of a reply by a pretrained language model, and how much the context raises it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rejoinder.data.files import changed_at
from rejoinder.data.pairs import pair_of
from rejoinder.errors import CallError
from rejoinder.evaluators.pretrained import Pretrained
from rejoinder.evaluators.scale import OVERFLOW
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.learning.parameters import check_least
from rejoinder.metrics.base import check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.types import Scores

if TYPE_CHECKING:
    from rejoinder.language_models.causal import CausalModel

RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"conditional": (-20.0, 0.0), "unconditional": (-20.0, 0.0), "pmi": (-20.0, 20.0), "pmi-share": (-1.0, 1.0)}
)
"""Form -> the lowest and highest score. A mean log-probability of -20 per token is p = 2e-9."""


@dataclass(frozen=True, kw_only=True)
class Likelihood(Pretrained):
    """A score from the log-probability of a reply given its context, log p(r|c), and without context, log p(r).

    conditional: log p(r|c) per token. unconditional: log p(r) per token. pmi: (log p(r|c) - log p(r)) per token.
    pmi-share: (log p(r|c) - log p(r)) / -log p(r), the share of the reply's information that the context explains.
    Nothing is learned: `fit()` loads the model.
    """

    name: ClassVar[str] = "likelihood"
    measures: ClassVar[str] = "how much likelier a reply is with its context, by a language model"
    citation: ClassVar[str] = "Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = f"no context, or {OVERFLOW}"

    model: str
    """The Hugging Face name, the folder or the GGUF file of a causal language model."""
    form: str = "pmi-share"
    """`conditional`: log p(r|c) per token; `unconditional`: log p(r) per token; `pmi`: how much the context raises it;
    `pmi-share`: the share of that."""
    turns: int = 4
    """The number of the context's last turns that are read."""
    max_context: int = 72
    """Tokens of the context that are read, from its end."""
    max_response: int = 32
    """Tokens of the reply that are read, from its beginning."""

    model_: CausalModel = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "form", list(RANGES))
        check_least(self, {"turns": 1, "max_context": 1, "max_response": 1})

    @property
    def raw_range(self) -> tuple[float, float]:
        """The range of the form."""
        return RANGES[self.form]

    def learn(self, data: TrainingData) -> Mapping[str, Any]:  # noqa: ARG002 - there is nothing to learn
        """The language model."""
        require_extra("train", "a language model")
        return {"model_": _loaded(self.model, changed_at(self.model))}

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The language model."""
        return ((self.model, "language model"),)

    @property
    def model_key(self) -> tuple[str, str]:
        """The language model."""
        return self.model, self.model_.weights_digest

    def learned_from(self, other: Self, folder: Path) -> Mapping[str, Any]:  # noqa: ARG002 - any parameters suit any model
        """The language model of another."""
        return {"model_": other.model_}

    def predict(self, batch: Batch) -> Scores:
        """One score per example; those of empty replies are ignored."""
        from rejoinder.language_models.reply_likelihood import log_likelihoods, prefix_ids, prefix_text, reply_ids

        rows = [row for row, example in enumerate(batch.examples) if not batch.blank[row] and example.context]
        lowest, highest = self.raw_range
        scores = np.full(len(batch), lowest)
        examples = [batch.examples[row] for row in rows]
        if not examples:
            return scores
        pairs = [pair_of(example) for example in examples]
        replies = reply_ids(self.model_, [pair.response for pair in pairs], self.max_response)
        before = prefix_ids(self.model_, [prefix_text(pair, self.turns) for pair in pairs], self.max_context)
        # Two forms of one model, as an ensemble may have, share the larger part of the work.
        limits = (self.model, self.turns, self.max_context, self.max_response)
        tokens = np.array([len(reply) for reply in replies])

        def given_context() -> Scores:
            return batch.keep(("log p(r|c)", *limits), lambda: log_likelihoods(self.model_, before, replies))

        def alone() -> Scores:
            [nothing] = prefix_ids(self.model_, ["A:"], self.max_context)
            nothings = [nothing] * len(replies)
            return batch.keep(("log p(r)", *limits), lambda: log_likelihoods(self.model_, nothings, replies))

        if self.form in {"conditional", "unconditional"}:
            found = (given_context() if self.form == "conditional" else alone()) / tokens
        else:
            found = (given_context() - alone()) / (tokens if self.form == "pmi" else -alone())
        scores[rows] = np.clip(found, lowest, highest)
        return scores

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Copy the model, unless it is one of the hub; return its hash, so that another of that name is noticed."""
        self.model_.save(folder)
        return {"model_digest": self.model_.digest}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The language model of the folder, or one of the hub from the cache; CallError if it has changed."""
        require_extra("train", "a language model")
        from rejoinder.language_models.causal import CausalModel

        model = CausalModel.load_saved(folder, self.model)
        if model.digest != plain.get("model_digest"):
            raise CallError(f"{self.model} is not the model that {folder} was saved with")
        return {"model_": model}

    @property
    def signature(self) -> str:
        """Once fitted, with a hash of the model, because a path says nothing about its weights."""
        if self.fit_ is None:
            return super().signature
        rest, _, version = super().signature.rpartition("|")
        return f"{rest}|weights:{self.model_.weights_digest}|{version}"


# Several metrics of a blend have the same model, and it may be large.
@lru_cache(maxsize=1)
def _loaded(model: str, _changed: int) -> CausalModel:
    from rejoinder.language_models.causal import CausalModel

    return CausalModel.load(model)
