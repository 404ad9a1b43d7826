"""The recurrent reply models of the papers: LSTM language model, seq2seq, seq2seq with attention, HRED, VHRED."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

from rejoinder.errors import UnknownNameError
from rejoinder.learning.learned import DialogueData
from rejoinder.models.language_model import ATTENTIONS, LUONG, RecurrentModel
from rejoinder.replies.neural import NeuralReplyModel

if TYPE_CHECKING:
    from rejoinder.models.recurrent import ReplyNetwork
    from rejoinder.models.token_dialogues import TokenCoder
    from rejoinder.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentReplyModel(RecurrentModel, NeuralReplyModel):
    """A recurrent network over byte pairs, both learned from the dialogues."""

    vocabulary_: Vocabulary = dataclasses.field(init=False, repr=False, compare=False)
    network_: ReplyNetwork[Any] = dataclasses.field(init=False, repr=False, compare=False)

    def untrained(self, data: DialogueData) -> tuple[TokenCoder, ReplyNetwork[Any]]:
        """The byte pairs of the dialogues, and a network with random weights."""
        from rejoinder.learning.checkpoints import seeded

        vocabulary = self.learned_vocabulary(data.dialogues)
        return vocabulary, seeded(data.seed, lambda: self.make_network(vocabulary))


@dataclasses.dataclass(frozen=True, kw_only=True)
class LstmLanguageModel(RecurrentReplyModel):
    """An LSTM that reads the dialogue as one text and continues it."""

    name: ClassVar[str] = "lstm-lm"
    about: ClassVar[str] = "an LSTM language model that continues the context"
    citation: ClassVar[str] = "Mikolov et al. 2010, Recurrent neural network based language model; Liu et al. 2016"

    def make_network(self, vocabulary: Vocabulary) -> ReplyNetwork[Any]:
        """An LSTM."""
        from rejoinder.replies.neural_training import LanguageModel

        return LanguageModel(self.sizes(vocabulary))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seq2SeqModel(RecurrentReplyModel):
    """One GRU reads the last turns as one text, another writes the reply."""

    name: ClassVar[str] = "seq2seq"
    about: ClassVar[str] = "one GRU reads the last turns as one text, another writes the reply"
    citation: ClassVar[str] = "Vinyals and Le 2015, A Neural Conversational Model"

    turns: int = 3
    context_tokens: int = 80
    """How many of a context's last tokens are read."""

    @property
    def turns_per_piece(self) -> int:
        """Longer dialogues are cut into pieces of this many turns for training: more than are read for a reply."""
        return NeuralReplyModel.turns

    def least(self) -> dict[str, float]:
        """Parameter -> its smallest allowed value."""
        return super().least() | {"turns": 1, "context_tokens": 1}

    @property
    def attends_by(self) -> str:
        """The name of its attention; empty if it has none."""
        return ""

    def make_network(self, vocabulary: Vocabulary) -> ReplyNetwork[Any]:
        """Encoder and decoder."""
        from rejoinder.replies.neural_training import Seq2Seq

        sizes = self.sizes(vocabulary)
        return Seq2Seq(sizes, attention=self.attends_by, turns=self.turns, context_tokens=self.context_tokens)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seq2SeqAttention(Seq2SeqModel):
    """seq2seq with attention to the tokens of the context."""

    name: ClassVar[str] = "seq2seq-attention"
    about: ClassVar[str] = "seq2seq with attention to the tokens of the context"
    citation: ClassVar[str] = (
        "Luong et al. 2015, Effective Approaches to Attention-based Neural Machine Translation; Bahdanau et al. 2015, "
        "Neural Machine Translation by Jointly Learning to Align and Translate"
    )

    attention: str = LUONG
    """luong: softmax(s^T M h) over the states h of the context, with s the state after a token; bahdanau:
    softmax(v^T tanh(W s + U h)), with s the state before it, so that tokens are learned one after the other, which is
    slower."""

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        super().check()
        if self.attention not in ATTENTIONS:
            raise UnknownNameError("attention", self.attention, ATTENTIONS)

    @property
    def attends_by(self) -> str:
        """The name of its attention."""
        return self.attention


@dataclasses.dataclass(frozen=True, kw_only=True)
class HredModel(RecurrentReplyModel):
    """One GRU reads the tokens of each turn, one the turns, and one writes the reply."""

    name: ClassVar[str] = "hred"
    about: ClassVar[str] = "a hierarchical encoder-decoder: words to turns, turns to a context, the context to a reply"
    citation: ClassVar[str] = "Serban et al. 2016, Building End-To-End Dialogue Systems"

    layers: int = 1
    """Layers of each GRU; 2 in Zhao et al. 2020."""

    def least(self) -> dict[str, float]:
        """Parameter -> its smallest allowed value."""
        return super().least() | {"layers": 1}

    def make_network(self, vocabulary: Vocabulary) -> ReplyNetwork[Any]:
        """The hierarchical encoder-decoder."""
        from rejoinder.replies.neural_training import Hred

        return Hred(self.sizes(vocabulary), self.layers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class VhredModel(RecurrentReplyModel):
    """HRED with a Gaussian latent variable per turn; its perplexity is an upper bound."""

    name: ClassVar[str] = "vhred"
    about: ClassVar[str] = "HRED with a Gaussian latent variable for each turn"
    citation: ClassVar[str] = (
        "Serban et al. 2017, A Hierarchical Latent Variable Encoder-Decoder Model; Lowe et al. 2017"
    )

    patience: int = 4
    latent: int = 64
    """Dimensions of the latent variable."""
    annealing: int = 4000
    """Batches over which the weight of the KL term rises from 0 to 1; 60,000 in Lowe et al. 2017, who trained for
    days."""
    word_drop: float = 0.25
    """The share of input tokens hidden from the decoder in training."""
    free_nats: float = 0.0
    """This much KL per reply is not penalised in training; 0 in the papers."""
    bag: float = 0.0
    """Weight of the bag-of-words loss, by which context and latent variable predict all tokens of the reply at once;
    0 in the papers."""

    def least(self) -> dict[str, float]:
        """Parameter -> its smallest allowed value."""
        return super().least() | {"latent": 1, "annealing": 0, "free_nats": 0, "bag": 0}

    def shares(self) -> dict[str, float]:
        """Parameters that must be from 0 to below 1 -> their value."""
        return super().shares() | {"word_drop": self.word_drop}

    def make_network(self, vocabulary: Vocabulary) -> ReplyNetwork[Any]:
        """HRED with a prior and a posterior."""
        from rejoinder.replies.vhred import Vhred

        chosen = {name: getattr(self, name) for name in ("latent", "annealing", "word_drop", "free_nats", "bag")}
        return Vhred(self.sizes(vocabulary), **chosen)
