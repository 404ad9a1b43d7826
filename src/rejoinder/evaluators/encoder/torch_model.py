"""A model in torch, which can be trained: network, tokeniser and settings, towers for ranking, longer positions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rejoinder.arrays import Ints
from rejoinder.data.dialogues import ReplyInContext, read_text
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.calibration import LOWEST
from rejoinder.evaluators.encoder.model import EncoderSettings
from rejoinder.evaluators.encoder.networks import AllColumns, BranchEncoder, CrossEncoder, SharedContexts
from rejoinder.evaluators.encoder.reading import (
    FEATURES,
    ContextIds,
    PairTokeniser,
    SeparateTexts,
    TokenIds,
    shared_scores,
    text_ends,
)
from rejoinder.folders.foreign import definition_of, embedded_tokens, tokeniser_of
from rejoinder.folders.onnx_file import check_onnx
from rejoinder.folders.saved import ENCODER, TOKENISER, WEIGHTS
from rejoinder.folders.schema import CONFIG, check_range
from rejoinder.folders.sources import require_extra
from rejoinder.learning.checkpoints import loaded_network, save_weights, seeded, with_weights
from rejoinder.learning.data import EncodedPair, by_length, padded
from rejoinder.models.text_encoder import longest_input, mean_over, pretrained, saved_shape
from rejoinder.progress import reported
from rejoinder.text.tokens import writable

# A model in torch, which can be trained: a network with its tokeniser and settings.


_BATCH_TOKENS = 4096


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A network with its tokeniser and settings."""

    network: CrossEncoder | BranchEncoder
    settings: EncoderSettings
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
        heads: tuple[str, ...] = (),
        whole_replies: bool = False,
    ) -> TorchModel:
        """A pretrained encoder with a new head, whose weights are random by the seed."""
        body, definition = pretrained(encoder)
        longest = longest_input(body)
        if longest is not None and max_length > longest:
            raise CallError(f"{encoder} reads at most {longest} tokens: max_length cannot be {max_length}")
        torch.manual_seed(seed)
        network = network_of(body, definition, pooling, towers=towers, heads=len(heads))
        settings = EncoderSettings(
            max_length=max_length,
            max_response=max_response,
            speaker_marks=speaker_marks,
            pad=int(network.config.pad_token_id or 0),
            token_types=isinstance(network, BranchEncoder) or network.needs_types,
            pooling=pooling,
            towers=towers,
            heads=heads,
            whole_replies=whole_replies,
        )
        return cls(network.eval(), settings, settings.tokeniser(definition))

    @classmethod
    def load(cls, folder: Path, settings: EncoderSettings) -> TorchModel:
        """The model of a folder."""
        definition = read_text(folder / TOKENISER)
        weights = folder / WEIGHTS["torch"]
        encoder = saved_shape("AutoModel", folder / ENCODER, weights)

        def empty() -> CrossEncoder | BranchEncoder:
            return network_of(
                encoder(), definition, settings.pooling, towers=settings.towers, heads=len(settings.heads)
            )

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
        if not np.isfinite(self.score([ReplyInContext(("a",), (), "b")])).all():
            raise DataError("gives scores that are not finite", file=str(folder))

    def with_heads(
        self, heads: tuple[str, ...], data: tuple[str, ...], seed: int, *, whole_replies: bool
    ) -> TorchModel:
        """The same network with these heads as well; new ones are random by the seed."""
        named = (*self.settings.heads, *(name for name in heads if name not in self.settings.heads))
        network = network_of(
            self.network.encoder,
            self.tokeniser.definition,
            self.settings.pooling,
            towers=self.settings.towers,
            heads=len(named),
            seed=seed,
        )
        state = network.state_dict()
        for name, weight in self.network.state_dict().items():
            if name in state:  # the outputs of the first heads, where there were some before
                state[name][tuple(map(slice, weight.shape))] = weight
        network.load_state_dict(state)
        digests = (*self.settings.head_data, *data)
        settings = replace(self.settings, heads=named, head_data=digests, whole_replies=whole_replies)
        return TorchModel(network.eval(), settings, settings.tokeniser(self.tokeniser.definition))

    def save(self, folder: Path) -> None:
        """Write tokeniser, shape and weights."""
        (folder / TOKENISER).write_text(self.tokeniser.definition, encoding="utf-8")
        (folder / ENCODER).write_text(definition_of(self.network), encoding="utf-8")
        save_weights(self.network, folder / WEIGHTS["torch"])

    def tensors(self, encoded: Sequence[EncodedPair]) -> dict[str, Tensor]:
        """The network's input. Each (rows, longest)"""
        arrays = padded(encoded, self.settings.pad)
        if not self.settings.token_types:
            del arrays["token_type_ids"]
        return self.on_device(arrays)

    def on_device(self, arrays: Mapping[str, Ints]) -> dict[str, Tensor]:
        """Arrays as tensors, where the network is."""
        device = next(self.network.parameters()).device
        return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The score and, for a network with heads, the features and the heads."""
        return ("score", *FEATURES, *self.settings.heads) if self.settings.heads else ("score",)

    def score(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """One score per pair, in order; rows of similar length run together."""
        return self.read(pairs)[:, 0].copy()

    def read(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        """One row per pair, in order. (pairs, columns)"""
        return self.tokeniser.mean_of_parts(pairs, self._read)

    def _read(self, pairs: Sequence[ReplyInContext]) -> NDArray[np.float64]:
        network = self.network
        if not isinstance(network, BranchEncoder):
            return self.score_encoded(self.tokeniser.encode(pairs))[:, None]
        shared = AllColumns(network) if self.settings.heads else SharedContexts(network)
        with _scoring(network):
            found = shared_scores(
                self.tokeniser.brancher,
                pairs,
                self.settings.pad,
                _BATCH_TOKENS,
                lambda arrays: shared(**self.on_device(arrays)).cpu().numpy(),
            )
        return found.reshape(len(pairs), len(self.columns))

    def score_encoded(self, encoded: Sequence[EncodedPair]) -> NDArray[np.float64]:
        """One score per row of tokens."""
        scores = np.full(len(encoded), LOWEST)
        batches = by_length(encoded, _BATCH_TOKENS)
        with _scoring(self.network):
            for rows in reported(batches, len(batches)):
                found = self.network(**self.tensors([encoded[row] for row in rows]))
                scores[rows] = found.cpu().numpy()
        return scores

    def features(self, pairs: Sequence[ReplyInContext]) -> Tensor:
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


def network_of(
    encoder: nn.Module, tokeniser: str, pooling: str, *, towers: bool, heads: int = 0, seed: int | None = None
) -> CrossEncoder | BranchEncoder:
    """A new head over an encoder, and so many more; `tokeniser` is the definition of the encoder's own."""
    if not towers:
        if heads:
            raise CallError("a network without towers has no heads: expected towers=True")
        return CrossEncoder(encoder, pooling)
    first, last = text_ends(tokeniser_of(tokeniser, TOKENISER))
    if seed is None:
        return BranchEncoder(encoder, (*first, *last), heads)
    return seeded(seed, lambda: BranchEncoder(encoder, (*first, *last), heads))


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


# The weights of an exported network, converted back so that it can be trained further.
#
# int8 matrices and tables become float32 again; what rounding lost stays lost. The exporter keeps the names of biases
# and tables, but not those of matrices: a matrix is recognised by the bias that is added to its product.


_OWNER = "network."
"""What the exporter puts before the names of the network's own weights."""
_WITHOUT_BIAS = "blend.weight"

TowerArrays = dict[str, NDArray[Any]]


def widened(weights: bytes, file: str) -> TowerArrays:
    """Name of each weight of a network with towers -> its values, float32; DataError if it is not such a network."""
    require_extra("train", "training an exported network further")
    import onnx
    from onnx import numpy_helper

    check_onnx(weights, file)
    graph = onnx.load_from_string(weights).graph
    arrays: TowerArrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    _restore(graph, arrays)
    state = {name.removeprefix(_OWNER): array for name, array in arrays.items() if _is_weight(name)}
    biases = {
        product: name.removesuffix(".bias").removeprefix(_OWNER)
        for node in graph.node
        if node.op_type == "Add"
        for product, name in (node.input, reversed(node.input))
        if name.endswith(".bias")
    }
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            owner = biases.get(node.output[0])
            name = _WITHOUT_BIAS if owner is None else f"{owner}.weight"
            state[name] = arrays[node.input[1]].T
    if _WITHOUT_BIAS not in state:
        raise DataError("cannot be trained further: expected a network with towers", file=file)
    return {name: np.array(array, np.float32, order="C") for name, array in state.items()}


def _restore(graph: Any, arrays: TowerArrays) -> None:
    """Add what is computed from stored arrays alone: matrices and tables at full precision."""
    for node in graph.node:
        if any(name not in arrays for name in node.input):
            continue
        if node.op_type == "DequantizeLinear":
            values, scale = (arrays[name] for name in node.input)
            axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
            arrays[node.output[0]] = values * np.expand_dims(scale, 1 - axis % 2)
        elif node.op_type == "Mul":
            arrays[node.output[0]] = arrays[node.input[0]] * arrays[node.input[1]]
    for name in [name for name in arrays if name.endswith(".scale")]:
        table = name.removesuffix(".scale")
        stored = next((each for each in (f"{table}.int8", f"{table}.byte") if each in arrays), None)
        if stored is not None and table.startswith(_OWNER) and table not in arrays:
            arrays[table] = arrays[stored] * arrays[name]


def _is_weight(name: str) -> bool:
    return name.startswith(_OWNER) and name.endswith((".weight", ".bias"))


# The encoder as two towers: contexts and replies as vectors whose cosine measures how well they fit.
#
# Both towers are one encoder. A context has two vectors, one of all its turns and one of its last turn.


MOST_CONTEXT = 64
"""Tokens of a context at most, special ones included."""
MOST_REPLY = 32
_AT_ONCE = 64


class EncoderTowers(nn.Module):
    """Vectors of length 1 of contexts, of their last turns, and of replies."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(
        self, context: Tensor, context_mask: Tensor, last_turn: Tensor, reply: Tensor, reply_mask: Tensor
    ) -> Tensor:
        """Each (rows, tokens) -> (3, rows, width): the whole context, its last turn, the reply."""
        contexts = self.contexts(context, context_mask, last_turn)
        return torch.cat([contexts, self.replies(reply, reply_mask).unsqueeze(0)])

    def contexts(self, context: Tensor, context_mask: Tensor, last_turn: Tensor) -> Tensor:
        """Each (rows, tokens) -> (2, rows, width): the whole context, its last turn."""
        vectors = self.encoder(input_ids=context, attention_mask=context_mask).last_hidden_state
        return _unit(torch.stack([mean_over(vectors, context_mask), mean_over(vectors, last_turn)]))

    def replies(self, reply: Tensor, reply_mask: Tensor) -> Tensor:
        """Each (rows, tokens) -> (rows, width)"""
        vectors = self.encoder(input_ids=reply, attention_mask=reply_mask).last_hidden_state
        return _unit(mean_over(vectors, reply_mask))


class TowerTexts:
    """Turns contexts and replies into the input of the towers."""

    def __init__(self, model: TorchModel) -> None:
        self.model = model
        self.texts = SeparateTexts(model.tokeniser.tokeniser, MOST_CONTEXT, MOST_REPLY)

    def contexts(self, contexts: Sequence[Sequence[str]]) -> dict[str, Tensor]:
        """The arguments of `EncoderTowers.contexts`."""
        read = self.texts.contexts([[writable(turn) for turn in context] for context in contexts])
        return self.model.on_device(padded_contexts(read, self.model.settings.pad))

    def replies(self, replies: Sequence[str]) -> dict[str, Tensor]:
        """The arguments of `EncoderTowers.replies`."""
        read = self.texts.replies([writable(reply) for reply in replies])
        return self.model.on_device(padded_replies(read, self.model.settings.pad))


class TowerVectors(NamedTuple):
    """Vectors of length 1."""

    contexts: Tensor
    """(contexts, width)"""
    last_turns: Tensor
    """(contexts, width)"""
    replies: Tensor
    """(replies, width)"""


def tower_vectors(
    models: Sequence[TorchModel], contexts: Sequence[Sequence[str]], replies: Sequence[str]
) -> TowerVectors:
    """The vectors of contexts and replies; a cosine of them is the mean of the cosines by each model's encoder."""
    found = [(*_contexts_of(model, contexts), _replies_of(model, replies)) for model in models]
    whole, last, after = (torch.cat(each, dim=1) / len(models) ** 0.5 for each in zip(*found, strict=True))
    return TowerVectors(whole, last, after)


@torch.no_grad()
def _contexts_of(model: TorchModel, contexts: Sequence[Sequence[str]]) -> Tensor:
    """Whole contexts, last turns. (2, contexts, width)"""
    towers, texts = EncoderTowers(model.network.encoder).eval(), TowerTexts(model)
    order = sorted(range(len(contexts)), key=lambda row: sum(map(len, contexts[row])))
    parts = [
        towers.contexts(**texts.contexts([contexts[row] for row in order[start : start + _AT_ONCE]]))
        for start in range(0, len(order), _AT_ONCE)
    ]
    return torch.cat(parts, dim=1)[:, np.argsort(order)]


@torch.no_grad()
def _replies_of(model: TorchModel, replies: Sequence[str]) -> Tensor:
    """A reply that occurs several times is read once. (replies, width)"""
    towers, texts = EncoderTowers(model.network.encoder).eval(), TowerTexts(model)
    order = sorted(set(replies), key=lambda reply: (len(reply), reply))
    place = {reply: number for number, reply in enumerate(order)}
    parts = [
        towers.replies(**texts.replies(order[start : start + _AT_ONCE])) for start in range(0, len(order), _AT_ONCE)
    ]
    return torch.cat(parts)[[place[reply] for reply in replies]]


def padded_contexts(contexts: Sequence[ContextIds], pad: int) -> dict[str, Ints]:
    """Token ids, which of them are not padding, and which belong to the last turn. Each (contexts, longest)"""
    ids, mask = _padded([context.ids for context in contexts], pad)
    last_turn = mask.copy()
    for row, context in enumerate(contexts):
        last_turn[row, : context.last_turn] = 0
    return {"context": ids, "context_mask": mask, "last_turn": last_turn}


def padded_replies(replies: Sequence[TokenIds], pad: int) -> dict[str, Ints]:
    """Token ids, and which of them are not padding. Each (replies, longest)"""
    ids, mask = _padded(replies, pad)
    return {"reply": ids, "reply_mask": mask}


def _padded(rows: Sequence[TokenIds], pad: int) -> tuple[Ints, Ints]:
    longest = max(map(len, rows))
    ids, mask = np.full((len(rows), longest), pad, np.int64), np.zeros((len(rows), longest), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return ids, mask


def _unit(vectors: Tensor) -> Tensor:
    return nn.functional.normalize(vectors.float(), dim=-1)
