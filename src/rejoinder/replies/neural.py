"""Models that write token by token: tokens, training, perplexity, decoding; and pretrained causal models."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from rejoinder.arrays import Vectors
from rejoinder.errors import CallError, NeedsError
from rejoinder.folders.saved import WEIGHTS
from rejoinder.folders.sources import require_extra
from rejoinder.learning.learned import DialogueData
from rejoinder.learning.schedules import TrainingSettings
from rejoinder.models.language_model import DialogueLikelihood
from rejoinder.replies.base import Context, Decoding, ReplyModel, ReplyRequest
from rejoinder.types import Dialogue

if TYPE_CHECKING:
    from rejoinder.models.recurrent import ReplyNetwork
    from rejoinder.models.token_dialogues import TokenCoder, TokenContext, TokenDialogue
    from rejoinder.replies.causal_network import CausalReplies

# Shared by reply models that write token by token: tokens, training, perplexity, decoding, saving and loading.
#
# A subclass declares its parameters and builds its network; see `recurrent.py`.


_AT_ONCE = 64
"""Contexts per batch of replies."""

DEFAULT_DECODING = Decoding(method="greedy", block_ngrams=3)
"""Used if no decoding is given."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NeuralReplyModel(TrainingSettings, ReplyModel):
    """A model that writes a reply token by token."""

    decodes: ClassVar[bool] = True
    has_encoder: ClassVar[bool] = True
    extra: ClassVar[str] = "train"
    trains_in_steps: ClassVar[bool] = True

    vocabulary_: TokenCoder = dataclasses.field(init=False, repr=False, compare=False)
    network_: ReplyNetwork[Any] = dataclasses.field(init=False, repr=False, compare=False)

    @abstractmethod
    def untrained(self, data: DialogueData) -> tuple[TokenCoder, ReplyNetwork[Any]]:
        """The start of training: a tokeniser and a network; the same for the same data and seed."""

    def learn(self, data: DialogueData) -> Mapping[str, Any]:
        """The vocabulary, and the network with the weights of the best validation perplexity."""
        require_extra("train", self.name)
        from rejoinder.learning.loop import train_stage
        from rejoinder.replies.neural_training import ReplyStage

        vocabulary, network = self.untrained(data)
        dialogues = self._token_dialogues(data.dialogues, vocabulary)
        if not dialogues:
            raise NeedsError(f"{self.name} learns to reply: expected a dialogue of at least two turns")
        stage = ReplyStage(network, dialogues, self._token_dialogues(data.valid, vocabulary), data.seed)
        train_stage(stage, self.schedule, data.seed, data.run, self.training_key(data))
        return {"vocabulary_": vocabulary, "network_": network}

    @property
    def turns_per_piece(self) -> int:
        """Longer dialogues are split into pieces of this many turns for training."""
        return self.turns

    def likelihood(self, dialogues: Iterable[Dialogue]) -> DialogueLikelihood:
        """The likelihood of every reply of the dialogues, with `perplexity` over the model's own tokens."""
        from rejoinder.replies.neural_training import likelihood

        _ = self.fitted
        tokens = self._token_dialogues(dialogues, self.vocabulary_)
        if not tokens:
            raise NeedsError("perplexity is computed over replies: expected a dialogue of at least two turns")
        return likelihood(self.network_, tokens)

    def answer(self, request: ReplyRequest) -> list[str]:
        """One reply per context."""
        from rejoinder.replies.search import search

        decoding = request.decoding or DEFAULT_DECODING
        contexts, seeds = self._token_contexts(request.contexts), request.seeds
        replies: list[list[int]] = [[] for _ in contexts]
        for rows in _by_size(contexts):
            drawn = [seeds[row] for row in rows]
            state, first = self._start([contexts[row] for row in rows], drawn if decoding.samples else None)
            found = search(self.network_, state, first, decoding, drawn)
            for row, reply in zip(rows, found, strict=True):
                replies[row] = reply
        return self.vocabulary_.decode(replies)

    def encode_contexts(self, contexts: tuple[Context, ...]) -> Vectors:
        """One vector per context: the network's state before the reply. (contexts, width)"""
        import torch

        tokens = self._token_contexts(contexts)
        found: list[Vectors] = [np.empty(0, np.float32)] * len(tokens)
        with torch.inference_mode():
            for rows in _by_size(tokens):
                vectors = self.network_.encode([tokens[row] for row in rows]).float().cpu().numpy()
                for row, vector in zip(rows, vectors, strict=True):
                    found[row] = vector
        return np.stack(found)

    def _start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> Any:
        import torch

        with torch.inference_mode():
            return self.network_.start(contexts, seeds)

    def _token_dialogues(self, dialogues: Iterable[Dialogue], vocabulary: TokenCoder) -> list[TokenDialogue]:
        from rejoinder.models.token_dialogues import token_dialogues

        return token_dialogues(dialogues, vocabulary, turns=self.turns_per_piece, longest=self.longest)

    def _token_contexts(self, contexts: Iterable[Context]) -> list[TokenContext]:
        from rejoinder.models.token_dialogues import token_contexts

        return token_contexts(contexts, self.vocabulary_, turns=self.turns, longest=self.longest)


def _by_size(contexts: Sequence[TokenContext]) -> list[list[int]]:
    """Row numbers in batches of contexts of similar length."""
    order = sorted(range(len(contexts)), key=lambda row: sum(map(len, contexts[row])))
    return [order[start : start + _AT_ONCE] for start in range(0, len(order), _AT_ONCE)]


# Fine-tuning of a pretrained causal language model (GPT-2, SmolLM2, ...) to reply, as in Zhao et al. 2020.


@dataclasses.dataclass(frozen=True, kw_only=True)
class CausalLanguageModel(NeuralReplyModel):
    """A pretrained language model that continues the dialogue as a script, one turn per line."""

    name: ClassVar[str] = "causal-lm"
    about: ClassVar[str] = "a pretrained causal language model, fine-tuned on dialogues as scripts"
    citation: ClassVar[str] = (
        "Radford et al. 2019, Language Models are Unsupervised Multitask Learners; Wolf et al. 2019, TransferTransfo"
    )

    model: str
    """Hugging Face name, folder, or GGUF file of the pretrained model."""
    turns: int = 20
    context_tokens: int = 512
    """Maximum number of tokens of a training script; a context is cut to half as many: its last
    tokens and, with `speakers`, the persona at its start."""
    speakers: bool = False
    """Whether tokens also tell whose turn they are part of, as in TransferTransfo (Wolf et al. 2019): of the first or
    the second speaker, who alternate, or of a persona, which are turns that begin with "your persona:"."""
    batch: int = 8
    epochs: int = 2
    learning_rate: float = 5e-5

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if self.context_tokens <= 2 * self.longest:
            raise CallError(f"{self.name}: context_tokens must have room for two turns of {self.longest}")

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The language model."""
        return ((self.model, "language model"),)

    def untrained(self, data: DialogueData) -> tuple[TokenCoder, ReplyNetwork[Any]]:
        """The pretrained tokeniser and model."""
        from rejoinder.learning.checkpoints import seeded
        from rejoinder.replies.causal_network import CausalReplies

        network, tokens = seeded(
            data.seed, lambda: CausalReplies.pretrained(self.model, self.context_tokens, speakers=self.speakers)
        )
        return tokens, network

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write tokeniser, architecture and weights."""
        from rejoinder.learning.checkpoints import save_weights

        self.vocabulary_.save(folder)
        cast("CausalReplies", self.network_).save_shape(folder)
        save_weights(self.network_, folder / WEIGHTS["torch"])
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Load what `save_learned` wrote; the pretrained model is no longer needed."""
        del plain
        require_extra("train", self.name)
        from rejoinder.replies.causal_network import CausalReplies, ScriptTokens

        tokens = ScriptTokens.load(folder)
        network = CausalReplies.load(folder, tokens, self.context_tokens, speakers=self.speakers)
        return {"vocabulary_": tokens, "network_": network}
