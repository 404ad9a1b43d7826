"""Pretrained causal language models: the probability of whole texts, and of replies after their context."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rejoinder.data.dialogues import ReplyInContext, by_replier
from rejoinder.errors import CallError
from rejoinder.folders.foreign import embedded_tokens, transformer
from rejoinder.folders.schema import CONFIG
from rejoinder.folders.sources import cached_pretrained, find_pretrained
from rejoinder.progress import reported
from rejoinder.text.tokens import writable
from rejoinder.text.vocabulary import Ids

# The probability of whole texts by a pretrained causal language model, such as GPT-2 or SmolLM2.


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
        copy = folder / COPY
        if copy.is_dir():
            return cls._opened(copy, name, is_local=True)
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


# The probability of replies by a causal language model, given the text before them (their prefix).
#
# Prefixes and their replies are packed into one row, in which each reply sees its own prefix and itself. So a prefix is
# read once for all its replies, nothing is padded, and only tokens of replies are compared with the whole vocabulary. A
# network that does not honour such a mask (one without attention, for example) gets one padded row per reply instead.


_PACKED_TOKENS = 384
"""Tokens per row: attention grows with the square of it, and short rows use a processor badly."""
_PADDED_REPLIES = 32
"""Rows per batch of a network that cannot read packed rows."""


def prefix_text(pair: ReplyInContext, turns: int) -> str:
    """The last turns of a context as a script in which A replies: "B: Hello.\\nA: Hi.\\nB: How are you?\\nA:"."""
    mine = by_replier(len(pair.context), pair.speakers)[-turns:]
    lines = [f"{'A' if own else 'B'}: {_one_line(turn)}" for own, turn in zip(mine, pair.context[-turns:], strict=True)]
    return "\n".join([*lines, "A:"])


def prefix_ids(model: CausalModel, texts: Sequence[str], most: int) -> list[Ids]:
    """The last tokens of each text, at most `most`."""
    return [tuple(ids[-most:]) for ids in _tokens(model, texts)]


def reply_ids(model: CausalModel, replies: Sequence[str], most: int) -> list[Ids]:
    """The first tokens of each reply, at most `most`, and those of the line break that ends it."""
    [end] = _tokens(model, ["\n"])
    return [(*ids[:most], *end) for ids in _tokens(model, [f" {_one_line(reply)}" for reply in replies])]


def log_likelihoods(model: CausalModel, prefixes: Sequence[Ids], replies: Sequence[Ids]) -> NDArray[np.float64]:
    """The natural logarithm of each reply's probability after its prefix. (replies,)"""
    pairs = list(zip(prefixes, replies, strict=True))
    different = sorted(set(pairs), key=lambda pair: (len(pair[0]), pair[0], len(pair[1]), pair[1]))
    known: dict[tuple[Ids, Ids], float] = {}
    if _reads_packed_rows(model):
        packs = list(_packs(different))
        for pack in reported(packs, len(packs)):
            known |= zip(pack, _packed_sums(model, pack), strict=True)
    else:
        starts = range(0, len(different), _PADDED_REPLIES)
        for start in reported(starts, len(starts)):
            rows = different[start : start + _PADDED_REPLIES]
            known |= zip(rows, _padded_sums(model, rows), strict=True)
    return np.array([known[pair] for pair in pairs])


def _packs(pairs: Sequence[tuple[Ids, Ids]]) -> Iterator[list[tuple[Ids, Ids]]]:
    """The pairs, of which those with the same prefix are neighbours, in rows of at most so many tokens."""
    pack: list[tuple[Ids, Ids]] = []
    size = 0
    for prefix, reply in pairs:
        added = len(reply) + (0 if pack and pack[-1][0] == prefix else len(prefix))
        if pack and size + added > _PACKED_TOKENS:
            yield pack
            pack, size, added = [], 0, len(prefix) + len(reply)
        pack.append((prefix, reply))
        size += added
    if pack:
        yield pack


@torch.no_grad()
def _packed_sums(model: CausalModel, pack: Sequence[tuple[Ids, Ids]]) -> list[float]:
    """The log-probability of each reply, all in one row."""
    ids, position, prefix_of, reply_of = list[int](), list[int](), list[int](), list[int]()  # one number per token
    where, wanted, owner = (
        list[int](),
        list[int](),
        list[int](),
    )  # per reply token: where predicted, what, whose
    for number, (prefix, reply) in enumerate(pack):
        if number == 0 or pack[number - 1][0] != prefix:
            first = number
            ids += prefix
            position += range(len(prefix))
            prefix_of += [first] * len(prefix)
            reply_of += [-1] * len(prefix)
            last = len(ids) - 1
        where += [last, *range(len(ids), len(ids) + len(reply) - 1)]
        wanted += reply
        owner += [number] * len(reply)
        ids += reply[:-1]
        position += range(len(prefix), len(prefix) + len(reply) - 1)
        prefix_of += [first] * (len(reply) - 1)
        reply_of += [number] * (len(reply) - 1)
    places, groups, parts = torch.tensor(position), torch.tensor(prefix_of), torch.tensor(reply_of)
    seen = (groups[:, None] == groups) & ((parts == -1) | (parts[:, None] == parts)) & (places[:, None] >= places)
    mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)  # (tokens, tokens)
    predicting, back = torch.unique(torch.tensor(where), return_inverse=True)
    logits = model.network(
        input_ids=torch.tensor([ids]),
        attention_mask=mask[None, None],
        position_ids=places[None],
        logits_to_keep=predicting,
        use_cache=False,
    ).logits[0]  # (predicting tokens, vocabulary)
    logs = logits[back, torch.tensor(wanted)].double() - logits.logsumexp(1).double()[back]
    sums = torch.zeros(len(pack), dtype=torch.double).index_add_(0, torch.tensor(owner), logs)
    return list(sums.tolist())


@torch.no_grad()
def _padded_sums(model: CausalModel, pairs: Sequence[tuple[Ids, Ids]]) -> list[float]:
    """The log-probability of each reply, each in a row with its prefix; what follows its last token is ignored."""
    longest = max(len(prefix) + len(reply) for prefix, reply in pairs)
    ids, counts = torch.zeros((len(pairs), longest), dtype=torch.long), torch.zeros((len(pairs), longest - 1))
    for row, (prefix, reply) in enumerate(pairs):
        ids[row, : len(prefix) + len(reply)] = torch.tensor([*prefix, *reply])
        counts[row, len(prefix) - 1 : len(prefix) + len(reply) - 1] = 1
    logits = model.network(input_ids=ids).logits[:, :-1].float()  # (replies, longest - 1, vocabulary)
    logs = logits.gather(2, ids[:, 1:, None]).squeeze(2) - logits.logsumexp(2)
    return list((logs * counts).double().sum(1).tolist())


def _reads_packed_rows(model: CausalModel) -> bool:
    """Whether a small packed row gives what one row per reply gives."""
    known: bool | None = getattr(model.network, "_reads_packed_rows", None)
    if known is None:
        takes = {"attention_mask", "position_ids", "logits_to_keep"}
        known = takes <= signature(model.network.forward).parameters.keys()
        if known:
            pairs = [((1, 2, 3), (4, 5)), ((1, 2, 3), (6, 0, 5)), ((2, 3), (4, 5))]
            known = np.allclose(_packed_sums(model, pairs), _padded_sums(model, pairs), rtol=1e-3, atol=1e-3)
        model.network._reads_packed_rows = known
    return known


def _tokens(model: CausalModel, texts: Sequence[str]) -> list[list[int]]:
    # No special tokens: they would come between context and reply.
    found: list[list[int]] = model.tokeniser(list(texts), add_special_tokens=False)["input_ids"] if texts else []
    return found


def _one_line(text: str) -> str:
    return " ".join(writable(text).split())
