"""Evaluators over one pretrained model: the cosine of sentence vectors, the likelihood of a reply, skip-thought."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Vectors
from rejoinder.data.contexts import digest_of
from rejoinder.data.dialogues import changed_at, pair_of
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.base import Evaluator, Pretrained, Use
from rejoinder.evaluators.calibration import OVERFLOW
from rejoinder.folders.schema import CONFIG, checked_member
from rejoinder.folders.sources import require_extra
from rejoinder.learning.data import TrainingData, held_out
from rejoinder.metrics.base import best_reference, check_choice
from rejoinder.metrics.batch import Batch
from rejoinder.models.language_model import RecurrentModel
from rejoinder.options import check_least
from rejoinder.types import Dialogue, Scores

if TYPE_CHECKING:
    from rejoinder.models.causal import CausalModel
    from rejoinder.models.recurrent import SkipThoughtNetwork
    from rejoinder.models.text_encoder import TextEncoder
    from rejoinder.models.token_dialogues import TokenDialogue
    from rejoinder.text.vocabulary import Ids, Vocabulary

# The cosine of a reply with its references, or with the last turn, by a pretrained sentence encoder.


NEEDS: Mapping[str, str] = MappingProxyType({"references": "references", "last-turn": "context"})
"""What a reply is compared with -> the field that an example must have."""


@dataclass(frozen=True, kw_only=True)
class SentenceCosine(Evaluator):
    """The cosine of two sentence vectors; a subclass says by which encoder."""

    raw_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    labels: ClassVar[Use] = "unused"

    @property
    def compared(self) -> tuple[str, str]:
        """What a reply is compared with, one of `NEEDS`, and how the scores of several references become one: `max` or
        `mean`."""
        return "references", "max"

    @property
    def last_turns(self) -> int:
        """How many of the context's last turns a reply is compared with."""
        return 1

    @abstractmethod
    def unit_vectors(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """One vector of length 1 per text. (texts, width)"""

    def predict(self, batch: Batch) -> Scores:
        """One cosine per example; those of empty replies are ignored."""
        against, refs = self.compared
        if against == "references":
            texts = [text for example in batch.examples for text in example.references]
            return best_reference(self._cosines(batch, texts, batch.owner.tolist()), batch, refs)
        rows = [row for row, example in enumerate(batch.examples) if example.context]
        scores = np.full(len(batch), np.nan)
        turns = [" ".join(batch.examples[row].context[-self.last_turns :]) for row in rows]
        scores[rows] = self._cosines(batch, turns, rows)
        return scores

    def _cosines(self, batch: Batch, others: list[str], owner: list[int]) -> Scores:
        """The cosine of each text with the reply that it belongs to; NaN for a blank text. (others,)"""
        places = [place for place, text in enumerate(others) if text.strip()]
        cosines = np.full(len(others), np.nan)
        if places:
            replies = self._vectors(batch, [batch.examples[owner[place]].response for place in places])
            vectors = self._vectors(batch, [others[place] for place in places])
            cosines[places] = np.clip((replies * vectors).sum(axis=1), -1.0, 1.0)
        return cosines

    def _vectors(self, batch: Batch, texts: list[str]) -> NDArray[np.float64]:
        """One vector per text; those of one batch are computed once for all metrics with the same encoder."""
        known: dict[str, NDArray[np.float64]] = batch.keep(("vectors", self.encoder_key), dict)
        new = list(dict.fromkeys(text for text in texts if text not in known))
        if new:
            known.update(zip(new, self.unit_vectors(new).astype(np.float64), strict=True))
        return np.stack([known[text] for text in texts])

    @property
    def encoder_key(self) -> Hashable:
        """What two metrics have in common whose vectors are the same."""
        return id(self)


@dataclass(frozen=True, kw_only=True)
class EncoderCosine(SentenceCosine, Pretrained):
    """The cosine of two sentence vectors, each the mean of its tokens' vectors.

    Against references it is embedding-average with contextual vectors. Against the last turn it needs no reference, and
    says whether a reply stays on topic. Nothing is learned: `fit()` loads the encoder.
    """

    name: ClassVar[str] = "encoder-cosine"
    measures: ClassVar[str] = "cosine of sentence vectors of the reply and of a reference or the last turn"
    citation: ClassVar[str] = "Reimers and Gurevych 2019, Sentence-BERT"

    encoder: str
    """A Hugging Face name, or the folder of a pretrained encoder."""
    against: str = "references"
    """What a reply is compared with: `references`, or `last-turn`, which needs no reference."""
    turns: int = 1
    """With `last-turn`, how many of the context's last turns are joined to one text."""
    refs: str = "max"
    """Of several references: the `max` or the `mean` of the cosines."""
    max_length: int = 128
    """Tokens that are read of a text, from its end."""

    encoder_: TextEncoder = field(init=False, repr=False, compare=False)
    digest_: str = field(init=False, repr=False, compare=False)

    def check(self) -> None:
        """Raise a CallError for parameters that make no sense."""
        check_choice(self, "against", list(NEEDS))
        check_choice(self, "refs", ("max", "mean"))
        check_least(self, {"turns": 1})
        if self.max_length < 4:
            raise CallError(f"{self.name}: max_length must be at least 4, not {self.max_length}")

    @property
    def needs(self) -> frozenset[str]:
        """References or a context."""
        return frozenset({NEEDS[self.against]})

    @property
    def cannot_score(self) -> str:
        """Why a reply has no score: as a rule, the text it is compared with is missing or blank."""
        return f"no {NEEDS[self.against]}, only blank ones, or {OVERFLOW}"

    @property
    def pretrained_names(self) -> tuple[tuple[str, str], ...]:
        """The encoder."""
        return ((self.encoder, "encoder"),)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:  # noqa: ARG002 - there is nothing to learn
        """The encoder."""
        require_extra("train", "a sentence encoder")
        encoder, digest = _started(self.encoder, self.max_length, changed_at(self.encoder))
        return {"encoder_": encoder, "digest_": digest}

    @property
    def model_key(self) -> tuple[str, str]:
        """The encoder."""
        return self.encoder, self.digest_

    def learned_from(self, other: Self, folder: Path) -> Mapping[str, Any]:
        """The encoder of another, which reads as much of a text as this one's parameter says."""
        encoder = replace(other.encoder_, max_length=self.max_length)
        encoder.check(folder)
        return {"encoder_": encoder, "digest_": other.digest_}

    @property
    def encoder_key(self) -> Hashable:
        """The weights, and how much of a text is read."""
        return self.digest_, self.max_length

    @property
    def compared(self) -> tuple[str, str]:
        """The parameters `against` and `refs`."""
        return self.against, self.refs

    @property
    def last_turns(self) -> int:
        """The parameter `turns`."""
        return self.turns

    def unit_vectors(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """The encoder's vectors, which have length 1."""
        return self.encoder_.encode(texts)

    @property
    def signature(self) -> str:
        """Once fitted, with a hash of the encoder's weights, because a path says nothing about them."""
        if self.fit_ is None:
            return super().signature
        known = f"encoder:{Path(self.encoder).name}@{self.digest_}"
        return super().signature.replace(f"encoder:{self.encoder}", known, 1)

    def save_learned(self, folder: Path) -> dict[str, Any]:
        """Write the encoder, so that the folder has everything that scoring needs."""
        self.encoder_.save(folder)
        return {"digest_": self.digest_}

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What `save_learned` wrote."""
        require_extra("train", "a sentence encoder")
        from rejoinder.models.text_encoder import TextEncoder

        digest = checked_member(plain, "digest_", str, str(folder / CONFIG))
        return {"encoder_": TextEncoder.load(folder, self.max_length), "digest_": digest}


# Several metrics of a blend have the same encoder, and it may be large.
@lru_cache(maxsize=1)
def _started(name_or_folder: str, max_length: int, _changed: int) -> tuple[TextEncoder, str]:
    """A pretrained encoder, and a hash of it."""
    from rejoinder.models.text_encoder import TextEncoder

    encoder = TextEncoder.start(name_or_folder, max_length)
    return encoder, _digest(encoder)


def _digest(encoder: TextEncoder) -> str:
    """A short hash of tokeniser and weights."""
    found = blake2b(encoder.definition.encode(), digest_size=6)
    for name, weight in sorted(encoder.network.state_dict().items()):
        found.update(name.encode() + weight.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


# The likelihood of a reply by a pretrained language model, and how much the context raises it.


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
        from rejoinder.models.causal import log_likelihoods, prefix_ids, prefix_text, reply_ids

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
        from rejoinder.models.causal import CausalModel

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
    from rejoinder.models.causal import CausalModel

    return CausalModel.load(model)


# The skip-thought metric: the cosine of reply and reference, by an encoder that learned to predict neighbouring
# turns.
#
# A saved folder is both an evaluator, for `rejoinder score -m FOLDER`, and a sentence encoder, for
# `rejoinder train adem --encoder FOLDER`.


_HELD_OUT = 0.05
"""The share of the dialogues that decides when training stops."""
_FEWEST = 20
"""With fewer dialogues none is held out."""
_MOST_HELD_OUT = 500
_AT_ONCE = 16
"""Texts that are encoded at once."""


@dataclass(frozen=True, kw_only=True)
class SkipThought(RecurrentModel, SentenceCosine):
    """The cosine of the vectors of reply and reference; with several references, the highest."""

    name: ClassVar[str] = "skip-thought"
    measures: ClassVar[str] = "cosine of vectors from which the neighbouring utterances can be predicted"
    citation: ClassVar[str] = "Kiros et al. 2015, Skip-Thought Vectors"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    cannot_score: ClassVar[str] = f"no references, nothing but white space there, or {OVERFLOW}"
    dialogues: ClassVar[Use] = "needed"
    trains_in_steps: ClassVar[bool] = True

    vocabulary_: Vocabulary = field(init=False, repr=False, compare=False)
    network_: SkipThoughtNetwork = field(init=False, repr=False, compare=False)

    def learn(self, data: TrainingData) -> Mapping[str, Any]:
        """The vocabulary, and the network that predicts neighbouring turns best."""
        require_extra("train", f"training {self.name}")
        from rejoinder.learning.checkpoints import seeded
        from rejoinder.learning.loop import train_stage
        from rejoinder.replies.neural_training import ReplyStage

        vocabulary = self.learned_vocabulary(data.dialogues)
        rows = range(len(data.dialogues))
        aside = held_out(rows, _HELD_OUT, [data.seed, 8], fewest=_FEWEST, most=_MOST_HELD_OUT)
        learned, valid = (
            self._tokens([data.dialogues[row] for row in rows if aside[row] == kept], vocabulary)
            for kept in (False, True)
        )
        if not learned:
            raise NeedsError(f"{self.name} learns from neighbouring turns: expected a dialogue of at least two turns")
        network = seeded(data.seed, lambda: self.make_network(vocabulary))
        key = digest_of([self.name, self.parameters, data.digest, data.seed])
        train_stage(ReplyStage(network, learned, valid, data.seed), self.schedule, data.seed, data.run, key)
        return {"vocabulary_": vocabulary, "network_": network}

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector per text or context, independent of the other texts. (texts, hidden)"""
        from rejoinder.models.token_dialogues import token_contexts

        _ = self.fitted
        contexts = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        return self._read(token_contexts(contexts, self.vocabulary_, turns=self.turns, longest=self.longest))

    def unit_vectors(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """One vector of length 1 per text. (texts, hidden)"""
        vectors = self.encode(texts).astype(np.float64)
        units: NDArray[np.float64] = vectors / np.maximum(np.sqrt((vectors**2).sum(axis=1, keepdims=True)), 1e-12)
        return units

    def make_network(self, vocabulary: Vocabulary) -> SkipThoughtNetwork:
        """A reader and two decoders."""
        from rejoinder.models.recurrent import SkipThoughtNetwork

        return SkipThoughtNetwork(self.sizes(vocabulary), longest=self.longest)

    def _tokens(self, dialogues: Sequence[Dialogue], vocabulary: Vocabulary) -> list[TokenDialogue]:
        from rejoinder.models.token_dialogues import token_dialogues

        return token_dialogues(dialogues, vocabulary, turns=self.turns, longest=self.longest)

    def _read(self, contexts: Sequence[tuple[Ids, ...]]) -> Vectors:
        import torch

        vectors = np.empty((len(contexts), self.hidden), np.float32)
        with torch.inference_mode():
            for rows in _by_length([min(self.longest, sum(map(len, turns))) for turns in contexts]):
                # Every batch has the same number of rows, all of one length: sums may be rounded differently otherwise.
                filled = [contexts[row] for row in [*rows, *[rows[0]] * (_AT_ONCE - len(rows))]]
                vectors[rows] = self.network_.encode(filled).float().cpu().numpy()[: len(rows)]
        return vectors


def _by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Row numbers in groups of equal length, none larger than `_AT_ONCE`."""
    groups: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        groups.setdefault(length, []).append(row)
    return [rows[at : at + _AT_ONCE] for rows in groups.values() for at in range(0, len(rows), _AT_ONCE)]
