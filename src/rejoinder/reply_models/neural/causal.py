"""Fine-tuning of a pretrained causal language model (GPT-2, SmolLM2, ...) to reply, as in Zhao et al. 2020."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rejoinder.errors import CallError
from rejoinder.learning.fitted import DialogueData
from rejoinder.reply_models.neural.base import NeuralReplyModel

if TYPE_CHECKING:
    from rejoinder.language_models.recurrent.networks import ReplyNetwork
    from rejoinder.language_models.recurrent.token_dialogues import Tokens
    from rejoinder.reply_models.neural.causal_network import CausalReplies, ScriptTokens


@dataclasses.dataclass(frozen=True, kw_only=True)
class CausalLanguageModel(NeuralReplyModel):
    """A pretrained language model that continues the dialogue as a script, one turn per line."""

    name: ClassVar[str] = "causal-lm"
    about: ClassVar[str] = "a pretrained causal language model, fine-tuned on dialogues as scripts"
    citation: ClassVar[str] = "Radford et al. 2019, Language Models are Unsupervised Multitask Learners"

    model: str
    """Hugging Face name, folder, or GGUF file of the pretrained model."""
    turns: int = 20
    context_tokens: int = 512
    """Maximum number of tokens of a training script; a context is cut to half as many."""
    batch: int = 8
    epochs: int = 2
    learning_rate: float = 5e-5

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if self.context_tokens <= 2 * self.longest:
            raise CallError(f"{self.name}: context_tokens must have room for two turns of {self.longest}")

    def make_vocabulary(self, data: DialogueData) -> Tokens:
        """The pretrained tokeniser."""
        del data
        from rejoinder.reply_models.neural.causal_network import CausalReplies

        return CausalReplies.pretrained(self.model, self.context_tokens)[1]

    def make_network(self, vocabulary: Tokens) -> ReplyNetwork[Any]:
        """The pretrained model."""
        del vocabulary
        from rejoinder.reply_models.neural.causal_network import CausalReplies

        return CausalReplies.pretrained(self.model, self.context_tokens)[0]

    def load_vocabulary(self, folder: Path) -> Tokens:
        """The tokeniser that was saved."""
        from rejoinder.reply_models.neural.causal_network import ScriptTokens

        return ScriptTokens.load(folder)

    def load_network(self, folder: Path, vocabulary: Tokens) -> ReplyNetwork[Any]:
        """A network of the saved architecture: the pretrained model is no longer needed."""
        from rejoinder.reply_models.neural.causal_network import CausalReplies

        return CausalReplies.of_shape(folder, cast("ScriptTokens", vocabulary), self.context_tokens)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write tokeniser, architecture and weights."""
        cast("CausalReplies", self.network_).save_shape(folder)
        return super().save_learned(folder)
