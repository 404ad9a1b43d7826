"""A model in torch, which can be trained: a network with its tokeniser and settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.arrays import Ints
from rejoinder.data.files import read_text
from rejoinder.data.pairs import Pair
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.encoder.branch_encoder import BranchEncoder, SharedContexts
from rejoinder.evaluators.encoder.branching import FEATURES, shared_scores
from rejoinder.evaluators.encoder.cross_encoder import CrossEncoder
from rejoinder.evaluators.encoder.model import Settings
from rejoinder.evaluators.encoder.texts import text_ends
from rejoinder.evaluators.encoder.tokeniser import PairTokeniser
from rejoinder.evaluators.encoder.widening import widened
from rejoinder.evaluators.scale import LOWEST
from rejoinder.learning.batching import Encoded, by_length, padded
from rejoinder.learning.pretrained import longest_input, pretrained, saved_shape
from rejoinder.learning.saving import ENCODER, TOKENISER, WEIGHTS
from rejoinder.learning.weights import loaded_network, save_weights, with_weights
from rejoinder.loading.foreign import definition_of, embedded_tokens, tokeniser_of
from rejoinder.loading.schema import check_range
from rejoinder.model_folder import CONFIG
from rejoinder.progress import reported

_BATCH_TOKENS = 4096


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A network with its tokeniser and settings."""

    network: CrossEncoder | BranchEncoder
    settings: Settings
    tokeniser: PairTokeniser

    @property
    def precision(self) -> str:
        """Which of the folder's weights these are."""
        return "torch"

    @classmethod
    def start(
        cls,
        encoder: str,
        *,
        max_length: int,
        max_response: int,
        speaker_marks: bool,
        pooling: str,
        seed: int,
        towers: bool = False,
    ) -> TorchModel:
        """A pretrained encoder with a new head, whose weights are random by the seed."""
        body, definition = pretrained(encoder)
        longest = longest_input(body)
        if longest is not None and max_length > longest:
            raise CallError(f"{encoder} reads at most {longest} tokens: max_length cannot be {max_length}")
        torch.manual_seed(seed)
        network = network_of(body, definition, pooling, towers=towers)
        settings = Settings(
            max_length=max_length,
            max_response=max_response,
            speaker_marks=speaker_marks,
            pad=int(network.config.pad_token_id or 0),
            token_types=isinstance(network, BranchEncoder) or network.needs_types,
            pooling=pooling,
            towers=towers,
        )
        return cls(network.eval(), settings, settings.tokeniser(definition))

    @classmethod
    def load(cls, folder: Path, settings: Settings) -> TorchModel:
        """The model of a folder."""
        definition = read_text(folder / TOKENISER)
        weights = folder / WEIGHTS["torch"]
        encoder = saved_shape("AutoModel", folder / ENCODER, weights)

        def empty() -> CrossEncoder | BranchEncoder:
            return network_of(encoder(), definition, settings.pooling, towers=settings.towers)

        exported = folder / WEIGHTS["int8"]
        if weights.is_file() or not exported.is_file():
            network = loaded_network(empty, weights)
        else:
            arrays = widened(exported.read_bytes(), str(exported))
            network = with_weights(empty, {name: torch.from_numpy(array) for name, array in arrays.items()}, exported)
        made = cls(network, settings, settings.tokeniser(definition))
        made.check(folder)
        return made

    def check(self, folder: Path) -> None:
        """DataError unless what was read from a folder fits together."""
        tokens = embedded_tokens(self.network.encoder)
        tokeniser_of(self.tokeniser.definition, str(folder / TOKENISER), tokens)
        longest = longest_input(self.network) or math.inf
        check_range(self.settings.max_length, 1, longest, str(folder / CONFIG), "learned.max_length")
        check_range(self.settings.pad, 0, tokens - 1, str(folder / CONFIG), "learned.pad")
        if not np.isfinite(self.score([Pair(("a",), (), "b")])).all():
            raise DataError("gives scores that are not finite", file=str(folder))

    def save(self, folder: Path) -> None:
        """Write tokeniser, shape and weights."""
        (folder / TOKENISER).write_text(self.tokeniser.definition, encoding="utf-8")
        (folder / ENCODER).write_text(definition_of(self.network), encoding="utf-8")
        save_weights(self.network, folder / WEIGHTS["torch"])

    def tensors(self, encoded: Sequence[Encoded]) -> dict[str, Tensor]:
        """The network's input. Each (rows, longest)"""
        arrays = padded(encoded, self.settings.pad)
        if not self.settings.token_types:
            del arrays["token_type_ids"]
        return self.on_device(arrays)

    def on_device(self, arrays: Mapping[str, Ints]) -> dict[str, Tensor]:
        """Arrays as tensors, where the network is."""
        device = next(self.network.parameters()).device
        return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """One score per pair, in order; rows of similar length run together."""
        network = self.network
        if not isinstance(network, BranchEncoder):
            return self.score_encoded(self.tokeniser.encode(pairs))
        shared = SharedContexts(network)
        with _scoring(network):
            return shared_scores(
                self.tokeniser.brancher,
                pairs,
                self.settings.pad,
                _BATCH_TOKENS,
                lambda arrays: shared(**self.on_device(arrays)).cpu().numpy(),
            )

    def score_encoded(self, encoded: Sequence[Encoded]) -> NDArray[np.float64]:
        """One score per row of tokens."""
        scores = np.full(len(encoded), LOWEST)
        batches = by_length(encoded, _BATCH_TOKENS)
        with _scoring(self.network):
            for rows in reported(batches, len(batches)):
                found = self.network(**self.tensors([encoded[row] for row in rows]))
                scores[rows] = found.cpu().numpy()
        return scores

    def features(self, pairs: Sequence[Pair]) -> Tensor:
        """The features of a network with towers, before they are standardised. (pairs, features)"""
        if not isinstance(self.network, BranchEncoder):
            raise ValueError("a cross-encoder has no features: expected a network with towers")
        encoded = self.tokeniser.encode(pairs)
        found = torch.zeros(len(pairs), len(FEATURES))
        with _scoring(self.network):
            for rows in by_length(encoded, _BATCH_TOKENS):
                given = self.tensors([encoded[row] for row in rows])
                first = torch.zeros_like(given["parts"])
                found[rows] = self.network.read(**given, numbers=first, replies=first[0, :1]).features[:, 0].cpu()
        return found


def network_of(encoder: nn.Module, tokeniser: str, pooling: str, *, towers: bool) -> CrossEncoder | BranchEncoder:
    """A new head over an encoder; `tokeniser` is the definition of the encoder's own."""
    if not towers:
        return CrossEncoder(encoder, pooling)
    first, last = text_ends(tokeniser_of(tokeniser, TOKENISER))
    return BranchEncoder(encoder, (*first, *last))


@contextmanager
def _scoring(network: nn.Module) -> Iterator[None]:
    """The network without dropout and gradients, for as long as the block runs."""
    training = network.training
    network.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        network.train(training)
