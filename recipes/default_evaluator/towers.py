"""The encoder read as two towers: a vector for a context and one for a reply.

Tokens and vectors are those of `rejoinder.evaluators.encoder.towers`: `[CLS] turn [SEP] turn [SEP] last turn [SEP]`,
without marks of who speaks, as sentence encoders were trained to read text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from rejoinder.arrays import Floats
from rejoinder.evaluators.encoder.cross_encoder import tower_vectors
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.encoder.towers import Towered, padded_towers, towered
from rejoinder.learning.pretrained import mean_over, pretrained


def length_of(pair: Towered) -> int:
    """How many tokens are read of context and reply."""
    return len(pair.context) + len(pair.reply)


@dataclass(frozen=True, eq=False)
class TwoTowers:
    """An encoder with what turns contexts and replies into its input."""

    encoder: nn.Module
    tokeniser: Tokenizer
    pad: int

    @classmethod
    def start(cls, folder: Path) -> TwoTowers:
        """The pretrained encoder."""
        encoder, definition = pretrained(str(folder))
        encoder.pooler = None  # type: ignore[assignment]
        pad = int(encoder.config.pad_token_id or 0)  # type: ignore[union-attr,arg-type]
        return cls(encoder.eval(), Tokenizer.from_str(definition), pad)

    @classmethod
    def of(cls, model: TorchModel) -> TwoTowers:
        """The encoder of a student, which goes on sharing its weights."""
        return cls(model.network.encoder, model.tokeniser.tokeniser, model.settings.pad)

    def load(self, weights: Path) -> None:
        """Take weights from a file."""
        self.encoder.load_state_dict(load_file(weights))

    def read(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[Towered]:
        """The token numbers of each context and its reply; a full stop stands for what is missing."""
        turns = [[turn if turn.strip() else "." for turn in context or (".",)] for context in contexts]
        return towered(self.tokeniser, turns, [reply if reply.strip() else "." for reply in replies])

    def vectors(self, pairs: Sequence[Towered]) -> Tensor:
        """Whole contexts, their last turns, replies; each of length 1. (3, pairs, width)"""
        arrays = padded_towers(pairs, self.pad)
        return tower_vectors(self.encoder, **{name: torch.from_numpy(array) for name, array in arrays.items()})

    def unit_vectors(self, contexts: Sequence[Sequence[str]], replies: Sequence[str], batch: int = 64) -> Tensor:
        """The vectors of any number of pairs; a text that stands in several is read once. (3, pairs, width)"""
        pairs = self.read(contexts, replies)
        before = self._read_once([pair.context for pair in pairs], [pair.last_turn for pair in pairs], batch)
        after = self._read_once([pair.reply for pair in pairs], [0] * len(pairs), batch)
        return torch.cat([before, after[:1]])

    def cosines(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Floats:
        """How near each reply is to its whole context, and to the last turn as read with those before it.
        (2, replies)"""
        *before, after = self.unit_vectors(contexts, replies)
        found: Floats = torch.stack([(each * after).sum(1) for each in before]).double().numpy()
        return found

    def _read_once(self, texts: Sequence[tuple[int, ...]], starts: Sequence[int], batch: int) -> Tensor:
        """The vectors of texts, whole and from a start on. (2, texts, width)"""
        unlike = sorted(set(zip(texts, starts, strict=True)), key=lambda each: len(each[0]))
        places = {each: place for place, each in enumerate(unlike)}
        found = []
        with torch.no_grad():
            for first in range(0, len(unlike), batch):
                part = [Towered(text, start, text[:1]) for text, start in unlike[first : first + batch]]
                arrays = {name: torch.from_numpy(array) for name, array in padded_towers(part, self.pad).items()}
                vectors = self.encoder(
                    input_ids=arrays["context"], attention_mask=arrays["context_mask"]
                ).last_hidden_state
                pooled = [mean_over(vectors, arrays[name]) for name in ("context_mask", "last_turn")]
                found.append(nn.functional.normalize(torch.stack(pooled), dim=-1))
        return torch.cat(found, 1)[:, [places[each] for each in zip(texts, starts, strict=True)]]
