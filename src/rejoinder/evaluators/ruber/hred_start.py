"""RUBER's GRUs begun from those of a trained HRED (roberta-eval, appendix B).

HRED reads words in both directions, as s_U does, and turns in one. So word embeddings and the GRU over words are
taken whole; of the GRU over turns the forward direction is, the backward one and what is added of the speakers are
new: speakers weigh nothing to begin with.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from rejoinder.errors import CallError
from rejoinder.evaluators.ruber.network import PairNetwork, PairShape
from rejoinder.evaluators.ruber.pieces import PieceReader
from rejoinder.reply_models.neural.networks import Hred
from rejoinder.text.vocabulary import Vocabulary

_KINDS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def hred_of(model: Any) -> tuple[Hred, Vocabulary]:
    """The network and the tokens of a trained reply model; CallError where it is no HRED."""
    network, vocabulary = getattr(model, "network_", None), getattr(model, "vocabulary_", None)
    if not isinstance(network, Hred) or not isinstance(vocabulary, Vocabulary):
        raise CallError(f"RUBER's GRUs can start from a hred, and not from the reply model {model.name}")
    return network, vocabulary


def started(
    model: Any, *, hierarchical: bool, speaker: int, units: int, dropout: float, max_length: int
) -> tuple[PairNetwork, PieceReader]:
    """A network with the sizes and weights of a reply model's encoder, and what makes its input."""
    hred, vocabulary = hred_of(model)
    shape = PairShape(
        words=len(vocabulary),
        dims=hred.reader.gru.input_size,
        hidden=hred.reader.gru.hidden_size,
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
            _take_forward(network.dialogue.gru, hred.context.gru)
    return network, PieceReader(vocabulary, max_length)


def _take_forward(gru: nn.GRU, start: nn.Module) -> None:
    """Copy a one-way GRU into the forward direction of another, whose further inputs weigh nothing."""
    for kind in _KINDS:
        weight, found = getattr(gru, kind), getattr(start, kind)
        if kind == "weight_ih_l0":
            weight.zero_()
            weight[:, : found.shape[1]] = found
        else:
            weight.copy_(found)
