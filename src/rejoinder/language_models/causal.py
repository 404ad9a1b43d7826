"""The probability of whole texts by a pretrained causal language model, such as GPT-2 or SmolLM2."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.errors import CallError
from rejoinder.loading.foreign import embedded_tokens, transformer
from rejoinder.loading.sources import cached_pretrained, find_pretrained
from rejoinder.model_folder import CONFIG

COPY = "language-model"
"""The subfolder of an evaluator's folder that its language model is copied to."""
_COPIED = {".json", ".safetensors", ".txt", ".model", ".gguf"}
_BATCH_TOKENS = 4096
_LONGEST = 512
"""Tokens of a text that are read at most."""


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A causal language model with its tokeniser."""

    network: Any  # of transformers, which is not typed
    tokeniser: Any
    local: Path | None = None
    """The local folder or file that it was loaded from."""

    @classmethod
    def load(cls, source: str) -> CausalModel:
        """By Hugging Face name, folder, folder with one GGUF file, or path of such a file."""
        place = find_pretrained(source, "language model")
        return cls._opened(place, source, is_local=Path(source).exists())

    @classmethod
    def load_saved(cls, folder: Path, name: str) -> CausalModel:
        """The model that `save` copied into a folder or, where it copied none, the cached one of this name."""
        home = folder / COPY
        if home.is_dir():
            return cls._opened(home, name, is_local=True)
        place = cached_pretrained(name, "language model", str(folder / CONFIG))
        return cls._opened(place, name, is_local=False)

    @classmethod
    def _opened(cls, place: Path, name: str, *, is_local: bool) -> CausalModel:
        network, tokeniser = transformer("AutoModelForCausalLM", place, "language model")
        network.train(False)
        network.config._name_or_path = "" if is_local else name  # part of the digest, which no local path may change
        made = cls(network, tokeniser, place if is_local else None)
        if embedded_tokens(network) <= max(tokeniser.get_vocab().values()):
            raise CallError(f"the tokeniser of {place} has more tokens than the model")
        if not np.isfinite(made.log_probs(["a b"])).all():
            raise CallError(f"the language model {place} gives probabilities that are not finite")
        return made

    def save(self, folder: Path) -> None:
        """Copy the files of a local model into a folder; one of the hub stays in the cache."""
        if self.local is None:
            return
        (folder / COPY).mkdir()
        local = self.local.is_dir()
        for path in sorted(self.local.iterdir()) if local else [self.local]:
            if path.is_file() and (path.suffix in _COPIED or not local):
                shutil.copyfile(path, folder / COPY / path.name)

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
