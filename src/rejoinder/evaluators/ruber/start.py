"""The network of s_U before training, and the reader of its texts.

A GRU's word embeddings start from word vectors. Or all GRUs start from those of a trained HRED (Zhao et al. 2020,
appendix B). HRED reads words in both directions, as s_U does, and turns in one: so the word embeddings and the GRU over
words are copied whole; of the GRU over turns, the forward direction is copied, while the backward direction and the
speaker embedding are new, with input weights of 0 for speakers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from rejoinder.encoders.text_encoder import TextEncoder
from rejoinder.errors import CallError
from rejoinder.evaluators.ruber.inputs import FIRST_WORD, UNKNOWN, TokenReader, WordReader
from rejoinder.evaluators.ruber.network import PairNetwork, PairShape
from rejoinder.evaluators.ruber.scorer import PairScorer, Reader
from rejoinder.evaluators.ruber.unref import HIERARCHICAL, NONE, NetworkEvaluator
from rejoinder.learning.data import TrainingData
from rejoinder.learning.weights import seeded
from rejoinder.registry import load_reply_model
from rejoinder.reply_models.neural.networks import Hred
from rejoinder.text.vectors import WordVectors
from rejoinder.text.vocabulary import Vocabulary

EMBEDDING_SIZE = 0.5
"""Root mean square of the numbers in word embeddings at the start."""
_GRU_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def start_scorer(evaluator: NetworkEvaluator, data: TrainingData, vectors: WordVectors | None) -> PairScorer:
    """An untrained network and the reader of its texts; `vectors` is None for a pretrained encoder."""
    network, reader = seeded(data.seed, lambda: _started(evaluator, data, vectors))
    return PairScorer(network, reader, evaluator.turns_read)


def _started(
    evaluator: NetworkEvaluator, data: TrainingData, vectors: WordVectors | None
) -> tuple[PairNetwork, Reader]:
    same: dict[str, Any] = {name: getattr(evaluator, name) for name in ("speaker", "units", "dropout")}
    same["hierarchical"] = evaluator.encoder == HIERARCHICAL
    if evaluator.start != NONE:
        return from_hred(load_reply_model(evaluator.start), max_length=evaluator.max_length, **same)
    same |= {"hidden": evaluator.hidden, "context_hidden": evaluator.hidden}
    if vectors is None:
        encoder = TextEncoder.start(evaluator.encoder, evaluator.max_length)
        return PairNetwork(PairShape(dims=encoder.width, **same)), encoder
    turns = [turn for dialogue in data.dialogues for turn in dialogue.turns]
    words, _ = evaluator.frequent_words(turns, evaluator.vocabulary)
    shape = PairShape(words=len(words) + FIRST_WORD, dims=vectors.dims, layers=evaluator.layers, **same)
    network = PairNetwork(shape)
    _copy_vectors(network, words, vectors)
    return network, WordReader(words, evaluator.text, evaluator.max_length)


def from_hred(
    model: Any, *, hierarchical: bool, speaker: int, units: int, dropout: float, max_length: int
) -> tuple[PairNetwork, TokenReader]:
    """A network with the sizes and weights of a trained HRED's encoder, and a reader with its tokens."""
    hred, vocabulary = _hred_of(model)
    shape = PairShape(
        words=len(vocabulary),
        dims=hred.reader.gru.input_size,
        hidden=hred.reader.gru.hidden_size,
        layers=hred.reader.gru.num_layers,
        hierarchical=hierarchical,
        context_hidden=hred.context.hidden,
        speaker=speaker,
        units=units,
        dropout=dropout,
    )
    network = PairNetwork(shape)
    with torch.no_grad():
        if network.utterance is not None:
            network.utterance.embedding.weight.copy_(hred.decoder.words.weight)
            network.utterance.gru.load_state_dict(hred.reader.gru.state_dict())
        if network.dialogue is not None:
            _copy_forward(network.dialogue.gru, hred.context.gru)
    return network, TokenReader(vocabulary, max_length)


def _hred_of(model: Any) -> tuple[Hred, Vocabulary]:
    """The network and the tokens of a trained reply model; CallError if it is not an HRED."""
    network, vocabulary = getattr(model, "network_", None), getattr(model, "vocabulary_", None)
    if not isinstance(network, Hred) or not isinstance(vocabulary, Vocabulary):
        raise CallError(f"RUBER's GRUs can start from a hred, not from the reply model {model.name}")
    return network, vocabulary


def _copy_forward(gru: nn.GRU, start: nn.Module) -> None:
    """Copy a one-way GRU into the forward direction of another, whose additional inputs get weights of 0."""
    for name in (f"{weight}_l{layer}" for layer in range(gru.num_layers) for weight in _GRU_WEIGHTS):
        weight, found = getattr(gru, name), getattr(start, name)
        if name.startswith("weight_ih"):
            weight.zero_()
            weight[:, : found.shape[1]] = found
        else:
            weight.copy_(found)


def _copy_vectors(network: PairNetwork, words: Sequence[str], vectors: WordVectors) -> None:
    """Start word embeddings from word vectors, all scaled by one factor; unknown words start from their mean."""
    if network.utterance is None:
        return
    place = vectors.lookup(words)
    known = np.flatnonzero(place >= 0)
    found = torch.from_numpy(np.asarray(vectors.matrix[place[known]], np.float32))
    # The vectors of a small corpus are close to 0, which would make a GRU slow to learn differences between words.
    found *= EMBEDDING_SIZE / found.square().mean().sqrt().clamp(min=1e-6)
    with torch.no_grad():
        table = network.utterance.embedding.weight
        table[torch.from_numpy(known + FIRST_WORD)] = found
        table[UNKNOWN] = found.mean(dim=0) if len(known) else 0.0
