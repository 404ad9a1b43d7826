"""The probability of whole texts by a pretrained causal language model, such as GPT-2 or SmolLM2."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.errors import CallError
from rejoinder.learning.pretrained import quiet_transformers, why_not

_BATCH_TOKENS = 4096
_LONGEST = 512
"""Tokens of a text that are read at most."""


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A causal language model with its tokeniser."""

    network: Any  # of transformers, which is not typed
    tokeniser: Any

    @classmethod
    def load(cls, source: str) -> CausalModel:
        """By Hugging Face name, folder, folder with one GGUF file, or path of such a file."""
        import transformers

        where, options = place_of(source)
        try:
            with quiet_transformers(), redirect_stderr(io.StringIO()):  # unpacking GGUF shows a progress bar
                network = transformers.AutoModelForCausalLM.from_pretrained(where, dtype=torch.float32, **options)
                tokeniser = transformers.AutoTokenizer.from_pretrained(where, **options)
        except Exception as error:  # on a damaged file the libraries raise anything, struct.error for one
            raise CallError(f"the language model {source} cannot be loaded ({why_not(source, error)})") from error
        network.train(False)
        return cls(network, tokeniser)

    @property
    def digest(self) -> str:
        """A hash of the model's architecture and input embeddings."""
        found = blake2b(self.network.config.to_json_string(use_diff=False).encode(), digest_size=6)
        found.update(self.network.get_input_embeddings().weight.detach().numpy().tobytes())
        return found.hexdigest()

    @property
    def weights_digest(self) -> str:
        """A hash of the input embeddings alone, wherever the model was loaded from."""
        return blake2b(self.network.get_input_embeddings().weight.detach().numpy().tobytes(), digest_size=6).hexdigest()

    def log_probs(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The natural logarithm of each text's probability, without an end token. (texts,)

        For a text that is too long, that of its beginning is scaled to the whole length.
        """
        tokens = [self.tokeniser(text, add_special_tokens=False)["input_ids"] for text in texts]
        ids = [self._started(row[:_LONGEST]) for row in tokens]
        found = np.zeros(len(ids))
        order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
        while order:
            size = max(1, _BATCH_TOKENS // max(1, len(ids[order[0]])))
            rows, order = order[:size], order[size:]
            found[rows] = self._sums([ids[row] for row in rows])
        longer = np.array([max(1.0, len(row) / _LONGEST) for row in tokens])
        found *= longer
        return found

    def _started(self, tokens: list[int]) -> list[int]:
        """The tokens after the model's start token, if it has one."""
        # Added here because the special tokens that a tokeniser adds differ between versions.
        start = self.tokeniser.bos_token_id
        start = self.tokeniser.eos_token_id if start is None else start
        return tokens if start is None else [start, *tokens]

    @torch.no_grad()
    def _sums(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        longest = max(2, *(len(row) for row in rows))
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
        logits: Tensor = self.network(input_ids=ids, attention_mask=mask).logits.float()
        logs = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)  # (rows, longest - 1)
        sums: NDArray[np.float64] = (logs.double() * mask[:, 1:]).sum(1).numpy()
        return sums


def place_of(source: str) -> tuple[str, dict[str, str]]:
    """The name or folder for transformers, with the GGUF file in it if there is one."""
    path = Path(source)
    if path.suffix == ".gguf":
        return str(path.parent), {"gguf_file": path.name}
    if path.is_dir() and not (path / "config.json").is_file():
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return source, {"gguf_file": files[0].name}
        if files:
            raise CallError(f"{source} contains {len(files)} GGUF files: expected the path of one of them")
    return source, {}
