"""How likely a reply is to a pretrained language model, and how much the context has to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rejoinder.data.pairs import pair_of
from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator, Use
from rejoinder.learning.data import TrainingData
from rejoinder.learning.extras import require_extra
from rejoinder.learning.parameters import check_least
from rejoinder.metrics.base import check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.types import Scores

if TYPE_CHECKING:
    from rejoinder.language_models.causal import CausalModel

RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"conditional": (-20.0, 0.0), "pmi": (-20.0, 20.0), "pmi-share": (-1.0, 1.0)}
)
"""Form -> the lowest and highest score; a token of -20 is one of half a thousand million."""


@dataclass(frozen=True, kw_only=True)
class Likelihood(Evaluator):
    """By the log-probability of a reply after its context, log p(r|c), and after none, log p(r).

    conditional: log p(r|c) a token. pmi: (log p(r|c) - log p(r)) a token. pmi-share: (log p(r|c) - log p(r)) / -log
    p(r), the share of what the reply says that the context tells. Nothing is learned: `fit()` loads the model.
    """

    name: ClassVar[str] = "likelihood"
    measures: ClassVar[str] = "how much likelier a language model finds a reply because of its context"
    citation: ClassVar[str] = "Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models"
    needs: ClassVar[frozenset[str]] = frozenset({"context"})
    cannot_score: ClassVar[str] = "no context"
    range: ClassVar[tuple[float, float]] = RANGES["pmi-share"]
    labels: ClassVar[Use] = "unused"
    dialogues: ClassVar[Use] = "unused"

    model: str
    """The Hugging Face name, the folder or the GGUF file of a causal language model."""
    form: str = "pmi-share"
    """`conditional`: log p(r|c) per token; `pmi`: how much the context raises it; `pmi-share`: the share of that."""
    turns: int = 4
    """Turns of the context that are read, the last ones."""
    max_context: int = 72
    """Tokens of the context; one that is too long loses its beginning."""
    max_response: int = 32
    """Tokens of the reply; what comes after them is not read."""

    model_: CausalModel = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "form", list(RANGES))
        check_least(self, {"turns": 1, "max_context": 1, "max_response": 1})

    def learn(self, data: TrainingData) -> Mapping[str, Any]:  # noqa: ARG002 - there is nothing to learn
        """The language model."""
        return {"model_": self._load_model()}

    def predict(self, batch: Batch) -> Scores:
        """One score an example; what it says of an empty reply is not used."""
        from rejoinder.language_models.reply_likelihood import log_likelihoods, prefix_ids, prefix_text, reply_ids

        rows = [row for row, example in enumerate(batch.examples) if not batch.blank[row] and example.context]
        lowest, highest = RANGES[self.form]
        scores = np.full(len(batch), lowest)
        examples = [batch.examples[row] for row in rows]
        if not examples:
            return scores
        pairs = [pair_of(example) for example in examples]
        replies = reply_ids(self.model_, [pair.response for pair in pairs], self.max_response)
        before = prefix_ids(self.model_, [prefix_text(pair, self.turns) for pair in pairs], self.max_context)
        with_context = log_likelihoods(self.model_, before, replies)
        tokens = np.array([len(reply) for reply in replies])
        if self.form == "conditional":
            found = with_context / tokens
        else:
            [nothing] = prefix_ids(self.model_, ["A:"], self.max_context)
            alone = log_likelihoods(self.model_, [nothing] * len(replies), replies)
            found = (with_context - alone) / (tokens if self.form == "pmi" else -alone)
        scores[rows] = np.clip(found, lowest, highest)
        return scores

    def save_learned(self, folder: Path) -> dict[str, Any]:  # noqa: ARG002 - the model stays where it is
        """What the model was, so that another of its name is noticed."""
        return {"model_digest": self.model_.digest}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """The language model, from where it was; CallError where it is another now."""
        model = self._load_model()
        if model.digest != plain.get("model_digest"):
            raise CallError(f"{self.model} is another model than the one that {folder} was saved with")
        return {"model_": model}

    def _load_model(self) -> CausalModel:
        require_extra("train", "a language model")
        from rejoinder.language_models.causal import CausalModel

        return CausalModel.load(self.model)

    def _remember(self, values: Mapping[str, Any], fit: object) -> None:
        super()._remember(values, fit)
        if not self.gives_intervals:
            object.__setattr__(self, "range", RANGES[self.form])
