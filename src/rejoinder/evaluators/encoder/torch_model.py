"""A model while it can still be trained: torch weights, with tokeniser and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from rejoinder.data.files import read_text
from rejoinder.data.pairs import Pair
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.encoder.branch_encoder import BranchEncoder
from rejoinder.evaluators.encoder.branching import special_tokens
from rejoinder.evaluators.encoder.cross_encoder import CrossEncoder
from rejoinder.evaluators.encoder.pairs import PairTokeniser
from rejoinder.evaluators.encoder.stored import Settings
from rejoinder.evaluators.scale import LOWEST
from rejoinder.learning.batching import Encoded, by_length, padded
from rejoinder.learning.pretrained import encoder_definition, encoder_from, longest_input, pretrained
from rejoinder.learning.saving import ENCODER, TOKENISER, WEIGHTS
from rejoinder.learning.weights import plain_state

_BATCH_TOKENS = 4096


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A network with what turns pairs into its input."""

    network: CrossEncoder | BranchEncoder
    settings: Settings
    tokeniser: PairTokeniser

    @property
    def precision(self) -> str:
        """As torch has it."""
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
        """A pretrained encoder under a head with random weights, drawn by the seed."""
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
        encoder = encoder_from(read_text(folder / ENCODER))
        network = network_of(encoder, definition, settings.pooling, towers=settings.towers)
        path = folder / WEIGHTS["torch"]
        try:
            network.load_state_dict(load_file(path))
        except FileNotFoundError as error:
            raise DataError("is missing: expected the weights of the model", file=str(path)) from error
        except (SafetensorError, RuntimeError) as error:
            raise DataError(f"cannot be read ({str(error).splitlines()[0]})", file=str(path)) from error
        return cls(network.eval(), settings, settings.tokeniser(definition))

    def save(self, folder: Path) -> None:
        """Write tokeniser, shape and weights."""
        (folder / TOKENISER).write_text(self.tokeniser.definition, encoding="utf-8")
        (folder / ENCODER).write_text(encoder_definition(self.network), encoding="utf-8")
        save_file(plain_state(self.network), folder / WEIGHTS["torch"])

    def tensors(self, encoded: Sequence[Encoded]) -> dict[str, Tensor]:
        """The network's input. Each (rows, longest)"""
        device = next(self.network.parameters()).device
        arrays = padded(encoded, self.settings.pad)
        if not self.settings.token_types:
            del arrays["token_type_ids"]
        return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """One score a pair; those of like length run together, the order is that of the pairs."""
        return self.score_encoded(self.tokeniser.encode(pairs))

    def score_encoded(self, encoded: Sequence[Encoded]) -> NDArray[np.float64]:
        """One score a row of tokens."""
        scores = np.full(len(encoded), LOWEST)
        training = self.network.training
        self.network.eval()
        with torch.inference_mode():
            for rows in by_length(encoded, _BATCH_TOKENS):
                found = self.network(**self.tensors([encoded[row] for row in rows]))
                scores[rows] = found.cpu().numpy()
        self.network.train(training)
        return scores


def network_of(encoder: nn.Module, tokeniser: str, pooling: str, *, towers: bool) -> CrossEncoder | BranchEncoder:
    """A new head over an encoder; `tokeniser` is the definition of the encoder's own."""
    if not towers:
        return CrossEncoder(encoder, pooling)
    return BranchEncoder(encoder, special_tokens(Tokenizer.from_str(tokeniser)))
