"""Fine-tuning of a pretrained causal language model (GPT-2, SmolLM2, ...) to reply, as in Zhao et al. 2020."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rejoinder.errors import CallError
from rejoinder.learning.extras import require_extra
from rejoinder.learning.fitted import DialogueData
from rejoinder.learning.saving import WEIGHTS
from rejoinder.reply_models.neural.base import NeuralReplyModel

if TYPE_CHECKING:
    from rejoinder.language_models.recurrent.networks import ReplyNetwork
    from rejoinder.language_models.recurrent.token_dialogues import Tokens
    from rejoinder.reply_models.neural.causal_network import CausalReplies


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

    def untrained(self, data: DialogueData) -> tuple[Tokens, ReplyNetwork[Any]]:
        """The pretrained tokeniser and model."""
        from rejoinder.learning.weights import seeded
        from rejoinder.reply_models.neural.causal_network import CausalReplies

        network, tokens = seeded(
            data.seed, lambda: CausalReplies.pretrained(self.model, self.context_tokens, speakers=self.speakers)
        )
        return tokens, network

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write tokeniser, architecture and weights."""
        from rejoinder.learning.weights import save_weights

        self.vocabulary_.save(folder)
        cast("CausalReplies", self.network_).save_shape(folder)
        save_weights(self.network_, folder / WEIGHTS["torch"])
        return {}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Load what `save_learned` wrote; the pretrained model is no longer needed."""
        del plain
        require_extra("train", self.name)
        from rejoinder.reply_models.neural.causal_network import CausalReplies, ScriptTokens

        tokens = ScriptTokens.load(folder)
        network = CausalReplies.load(folder, tokens, self.context_tokens, speakers=self.speakers)
        return {"vocabulary_": tokens, "network_": network}
