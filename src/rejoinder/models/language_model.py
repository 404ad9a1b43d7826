"""What all models of replies offer: the probability of a dialogue's replies, and perplexity."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import CallError
from rejoinder.folders.saved import WEIGHTS
from rejoinder.folders.sources import require_extra
from rejoinder.learning.schedules import TrainingSettings
from rejoinder.types import Dialogue

if TYPE_CHECKING:
    from rejoinder.models.recurrent import NetworkSizes
    from rejoinder.text.vocabulary import Vocabulary

# How well a model predicts the replies of dialogues.


@dataclass(frozen=True)
class DialogueLikelihood:
    """The negative log-likelihood of the replies of some dialogues, in nats; an upper bound with a latent variable."""

    words: float
    """Minus the log-probabilities of all tokens, end tokens included; with a latent variable, the reconstruction."""
    kl: float
    """The KL of the latent variable; 0 for a model without one."""
    tokens: int
    replies: int

    @property
    def nats(self) -> float:
        """Nats per token, the KL included."""
        return (self.words + self.kl) / self.tokens

    @property
    def perplexity(self) -> float:
        """exp of the nats per token."""
        return math.exp(self.nats) if self.nats < 700 else math.inf

    @property
    def word_nats_per_reply(self) -> float:
        """Nats of the tokens, or of the reconstruction, per reply."""
        return self.words / self.replies

    @property
    def kl_per_reply(self) -> float:
        """Nats of the KL per reply."""
        return self.kl / self.replies

    def counted_in(self, tokens: int) -> DialogueLikelihood:
        """The same with the token count of another tokeniser: only perplexities over the same tokens are comparable."""
        return DialogueLikelihood(self.words, self.kl, tokens, self.replies)

    def __str__(self) -> str:
        parts = f" ({self.word_nats_per_reply:.2f} nats per reply, KL {self.kl_per_reply:.2f})" if self.kl else ""
        return f"perplexity {self.perplexity:.2f}{parts}"


# What models with a recurrent network over byte pairs share: parameters, vocabulary, saving and loading.


LUONG, BAHDANAU = "luong", "bahdanau"
ATTENTIONS = (LUONG, BAHDANAU)
"""Kinds of attention to the tokens of a context: `recurrent.py`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentModel(TrainingSettings, ABC):
    """A model that learns a vocabulary of byte pairs and a recurrent network over them."""

    vocabulary: int = 8000
    """Maximum number of tokens: byte pairs of the training dialogues."""
    embedding: int = 256
    """Width of a token's vector."""
    hidden: int = 320
    """Width of a recurrent state."""
    dropout: float = 0.2
    """Share of the inputs that are set to 0 in training."""

    vocabulary_: Vocabulary = dataclasses.field(init=False, repr=False, compare=False)
    network_: Any = dataclasses.field(init=False, repr=False, compare=False)

    @abstractmethod
    def make_network(self, vocabulary: Any) -> Any:
        """The untrained network over the tokens of a vocabulary; its weights are drawn with torch's random state."""

    def least(self) -> dict[str, float]:
        """Parameter -> its smallest allowed value."""
        return super().least() | {"vocabulary": 300, "embedding": 2, "hidden": 2}

    def shares(self) -> dict[str, float]:
        """Parameters that must be from 0 to below 1 -> their value."""
        return super().shares() | {"dropout": self.dropout}

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if self.hidden % 2:
            raise CallError(f"{self.name}: hidden must be even, half for each reading direction, not {self.hidden}")

    def learned_vocabulary(self, dialogues: Iterable[Dialogue]) -> Vocabulary:
        """The byte pairs of all turns."""
        require_extra("train", f"training {self.name}")
        from rejoinder.text.vocabulary import Vocabulary

        return Vocabulary.learn((turn for dialogue in dialogues for turn in dialogue.turns), self.vocabulary)

    def sizes(self, vocabulary: Any) -> NetworkSizes:
        """The sizes of the network's layers."""
        from rejoinder.models.recurrent import NetworkSizes

        return NetworkSizes(len(vocabulary), self.embedding, self.hidden, self.dropout)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write vocabulary and weights."""
        from rejoinder.learning.checkpoints import save_weights

        self.vocabulary_.save(folder)
        save_weights(self.network_, folder / WEIGHTS["torch"])
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 - for heirs
        """What `save_learned` wrote."""
        require_extra("train", self.name)
        from rejoinder.learning.checkpoints import loaded_network
        from rejoinder.text.vocabulary import Vocabulary

        vocabulary = Vocabulary.load(folder)
        network = loaded_network(lambda: self.make_network(vocabulary), folder / WEIGHTS["torch"])
        return {"vocabulary_": vocabulary, "network_": network}
