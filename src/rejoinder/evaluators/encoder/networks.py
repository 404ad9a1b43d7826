"""The networks: the cross-encoder of Zhao et al. 2020, and one that reads a context once for all its replies."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rejoinder.errors import CallError
from rejoinder.evaluators.calibration import HIGHEST, LOWEST
from rejoinder.evaluators.encoder.reading import AFTER, ALONE, EARLIER, FEATURES, LAST_TURN
from rejoinder.models.text_encoder import first_position, mean_over

# The network of Zhao et al. 2020: score = 4 * sigmoid(MLP(encoder([context; response]))) + 1 (section 5.3).


class CrossEncoder(nn.Module):
    """Reads context and reply together and gives one score, 1 to 5.

    `pooling` decides what the head gets of the encoder's last vectors: their `mean`, the first (`cls`), or a `match` of
    the mean c over the context with the mean r over the reply: [c, r, c * r, |c - r|, cosine(c, r)].
    """

    def __init__(self, encoder: nn.Module, pooling: str = "mean") -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        if getattr(encoder, "pooler", None) is not None:
            # Its output is not used, and training in several processes fails on weights without a gradient.
            encoder.pooler = None  # type: ignore[assignment]
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr,arg-type]
        features = 4 * width + 1 if pooling == "match" else width
        self.head = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Dropout(0.1), nn.Linear(width, 1))

    @property
    def config(self) -> Any:
        """The encoder's configuration, a class of transformers."""
        return self.encoder.config

    @property
    def takes_types(self) -> bool:
        """Whether the encoder has token type ids, which distinguish context from reply."""
        return int(getattr(self.config, "type_vocab_size", 0) or 0) > 1

    @property
    def needs_types(self) -> bool:
        """Whether `token_type_ids` must be given: for the encoder, or to distinguish context from reply in pooling."""
        return self.takes_types or self.pooling == "match"

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """One score per row. Each (rows, tokens) -> (rows,)"""
        types = {"token_type_ids": token_type_ids} if self.takes_types else {}
        # (rows, tokens, width)
        vectors = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **types).last_hidden_state
        if self.pooling == "cls":
            pooled = vectors[:, 0]
        elif self.pooling == "match":
            if token_type_ids is None:
                raise ValueError("pooling='match' needs token_type_ids: 0 for the context, 1 for the reply")
            pooled = _match(
                mean_over(vectors, attention_mask * (1 - token_type_ids)),
                mean_over(vectors, attention_mask * token_type_ids),
            )
        else:
            pooled = mean_over(vectors, attention_mask)
        return on_scale(self.head(pooled).squeeze(-1).float())


def on_scale(logits: Tensor) -> Tensor:
    """Scores from 1 to 5."""
    score: Tensor = (HIGHEST - LOWEST) * torch.sigmoid(logits) + LOWEST
    return score


def _match(context: Tensor, reply: Tensor) -> Tensor:
    """[c, r, c * r, |c - r|, cosine(c, r)]. Twice (rows, width) -> (rows, 4 * width + 1)"""
    cosine = nn.functional.cosine_similarity(context, reply, dim=-1).unsqueeze(-1)
    return torch.cat([context, reply, context * reply, (context - reply).abs(), cosine], dim=-1)


# The network that reads context and reply together and apart, in one pass over the rows of `reading.Brancher`.
#
# A cross-encoder learns how a reply fits its context; a sentence encoder knows the cosine of two texts before any
# training. Training for one alone loses the other, so this network has both. The encoder's vectors are pooled into the
# context c, its last turn l, the reply r that follows them, and the reply a read by itself:
#
#     features = level([cos(c, a), cos(l, a), cos(c, r), late match, copied, copied from the last turn, repeated,
# length])
#     logit    = blend . features + MLP([c, r, c * r, l * r, |l - r|, features])
#     score    = 4 * sigmoid(logit) + 1
#
# *level* standardises each feature and applies tanh, so that a reply that copies its context does not gain more and
# more by its cosine. *Late match* is the mean over the reply's tokens of the highest cosine with a token of the
# context (ColBERT, Khattab and Zaharia 2020). *Copied* is the share of the reply's tokens that occur in the context,
# *repeated* the share that occurred in the reply before.


_COSINES = 2
_HIDDEN = -1e9
_FAMILIES = {"bert", "electra", "roberta", "xlm-roberta", "camembert", "mpnet", "data2vec-text"}
"""Encoders known to accept position ids, and a mask of which tokens attend to which."""


class NetworkOutput(NamedTuple):
    """What the network computes for rows."""

    logits: Tensor
    """(rows, replies)"""
    features: Tensor
    """Before `level`. (rows, replies, features)"""
    context: Tensor
    """Of length 1. (rows, width)"""
    last_turn: Tensor
    """Of length 1. (rows, width)"""
    alone: Tensor
    """Of length 1. (rows, replies, width)"""
    heads: Tensor
    """(rows, replies, heads)"""


class Heads(nn.Module):
    """Several linear outputs over one vector that is computed from all that the encoder gives for a reply.

    The vectors of the reply's tokens after the context also enter by a mean whose weights are learned: a single word
    may contradict the context, and a plain mean hardly shows it.
    """

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.attend = nn.Linear(width, 1)
        self.pool = nn.Linear(6 * width + len(FEATURES), width)
        self.columns = nn.Linear(width, count)

    def weights(self, vectors: Tensor, chosen: Tensor) -> Tensor:
        """The weight of each token among the chosen ones. (rows, tokens, width), (rows, n, tokens) -> the latter"""
        attention = self.attend(vectors).squeeze(-1).unsqueeze(1)  # (rows, 1, tokens)
        return torch.where(chosen, attention, _HIDDEN).softmax(-1)

    def forward(self, pooled: Tensor) -> Tensor:
        """(rows, replies, 6 * width + features) -> (rows, replies, heads)"""
        columns: Tensor = self.columns(torch.tanh(self.pool(pooled)))
        return columns


class BranchEncoder(nn.Module):
    """One score per reply, 1 to 5, and one number for each of its heads."""

    def __init__(self, encoder: nn.Module, special: tuple[int, ...], heads: int = 0) -> None:
        super().__init__()
        config: Any = encoder.config
        if config.model_type not in _FAMILIES:
            raise CallError(f"towers need one of {', '.join(sorted(_FAMILIES))}, not {config.model_type}")
        self.encoder = encoder
        self.special = special
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None  # type: ignore[assignment]
        width = int(config.hidden_size)
        self.level = nn.Linear(len(FEATURES), len(FEATURES))
        self.blend = nn.Linear(len(FEATURES), 1, bias=False)
        last = nn.Linear(width, 1)
        self.head = nn.Sequential(nn.Linear(5 * width + len(FEATURES), width), nn.Tanh(), last)
        with torch.no_grad():
            # Cosines of neighbouring turns have a mean of about .3 and a deviation of about .2. Before any training the
            # score follows them alone.
            self.level.weight.copy_(torch.eye(len(FEATURES)) * 5)
            self.level.bias.fill_(-1.5)
            self.blend.weight.zero_()
            self.blend.weight[0, :_COSINES] = 0.5
            last.weight.mul_(0.1)
            last.bias.zero_()
        # Last, so that the weights of a network without heads are drawn as ever.
        self.heads = Heads(width, heads) if heads else None

    @property
    def config(self) -> Any:
        """The encoder's configuration, a class of transformers."""
        return self.encoder.config

    def forward(self, input_ids: Tensor, positions: Tensor, parts: Tensor) -> Tensor:
        """One score per row, of rows that have one reply. Each (rows, tokens) -> (rows,)"""
        first = torch.zeros(1, dtype=parts.dtype, device=parts.device)
        logits = self.read(input_ids, positions, parts, torch.zeros_like(parts), first).logits.squeeze(1)
        return on_scale(logits)

    def read(
        self, input_ids: Tensor, positions: Tensor, parts: Tensor, numbers: Tensor, replies: Tensor
    ) -> NetworkOutput:
        """All that is computed for rows; `replies` are the numbers of the replies wanted.

        (rows, tokens) each, (replies,)
        """
        vectors = self._vectors(input_ids, positions, parts, numbers)  # (rows, tokens, width)
        owned = numbers.unsqueeze(1) == replies.view(1, -1, 1)
        before = (parts == EARLIER) | (parts == LAST_TURN)
        context = _mean(vectors, before.unsqueeze(1))  # (rows, 1, width)
        last_turn = _mean(vectors, (parts == LAST_TURN).unsqueeze(1))
        after = _mean(vectors, owned & (parts == AFTER).unsqueeze(1))  # (rows, replies, width)
        alone = _mean(vectors, owned & (parts == ALONE).unsqueeze(1))
        unit_context, unit_last, unit_alone = (_unit(each) for each in (context, last_turn, alone))
        cosines = [(unit_context * unit_alone).sum(-1), (unit_last * unit_alone).sum(-1)]
        cosines.append((unit_context * _unit(after)).sum(-1))
        late = _late_match(vectors, parts, owned)
        features = torch.stack([*cosines, late, *self._surface(input_ids, parts, owned)], dim=-1)
        levelled = torch.tanh(self.level(features))
        wide = context.expand_as(after)
        match = torch.cat([wide, after, wide * after, last_turn * after, (last_turn - after).abs(), levelled], dim=-1)
        logits = (self.blend(levelled) + self.head(match)).squeeze(-1)
        columns = logits.unsqueeze(-1)[..., :0]
        if self.heads is not None:
            attended = self.heads.weights(vectors, owned & (parts == AFTER).unsqueeze(1)) @ vectors
            last = (last_turn * after, (last_turn - after).abs())
            columns = self.heads(torch.cat([wide, after, attended, *last, alone, levelled], dim=-1))
        return NetworkOutput(logits, features, unit_context.squeeze(1), unit_last.squeeze(1), unit_alone, columns)

    @torch.no_grad()
    def standardise(self, features: Tensor) -> None:
        """Set `level` so that these features have mean 0 and deviation 1 before tanh. (replies, features)"""
        deviation = features.std(0).clamp(min=1e-3)
        self.level.weight.copy_(torch.diag(1 / deviation))
        self.level.bias.copy_(-features.mean(0) / deviation)

    def _vectors(self, input_ids: Tensor, positions: Tensor, parts: Tensor, numbers: Tensor) -> Tensor:
        """The encoder's last vectors, each token attending to what its part allows. (rows, tokens, width)"""
        before = (parts == EARLIER) | (parts == LAST_TURN)
        kind = torch.where(before, torch.full_like(parts, EARLIER), parts)
        same = (kind.unsqueeze(2) == kind.unsqueeze(1)) & (numbers.unsqueeze(2) == numbers.unsqueeze(1))
        sees = same | ((parts == AFTER).unsqueeze(2) & before.unsqueeze(1))
        mask = torch.where(sees, 0.0, _HIDDEN).unsqueeze(1)
        if self.config.model_type == "mpnet":
            mask = mask + _moved_bias(self.encoder.encoder, positions)
        given: dict[str, Tensor] = {}
        if int(getattr(self.config, "type_vocab_size", 0) or 0) > 1:
            given["token_type_ids"] = (parts == AFTER).to(input_ids.dtype)
        found: Tensor = self.encoder(
            input_ids=input_ids, attention_mask=mask, position_ids=positions + first_position(self.config), **given
        ).last_hidden_state
        return found

    def _surface(self, input_ids: Tensor, parts: Tensor, owned: Tensor) -> list[Tensor]:
        """Copied, copied from the last turn, repeated, length. Each (rows, replies)"""
        words = torch.ones_like(input_ids, dtype=torch.bool)
        for special in self.special:
            words = words & (input_ids != special)
        equal = (input_ids.unsqueeze(2) == input_ids.unsqueeze(1)) & words.unsqueeze(1)  # (rows, tokens, tokens)
        last_turn = parts == LAST_TURN
        before = last_turn | (parts == EARLIER)
        alone = parts == ALONE
        earlier = torch.ones_like(equal[0]).tril(-1)
        # Within the tokens of one reply; replies stand apart, so that an equal token of another is not counted.
        within = alone.unsqueeze(2) & alone.unsqueeze(1) & (owned.float().transpose(1, 2) @ owned.float() > 0)
        found = [
            (equal & before.unsqueeze(1)).any(2),
            (equal & last_turn.unsqueeze(1)).any(2),
            (equal & within & earlier).any(2),
        ]
        spoken = (owned & (alone & words).unsqueeze(1)).float()  # (rows, replies, tokens)
        count = spoken.sum(-1)
        shares = [(spoken * each.unsqueeze(1)).sum(-1) / count.clamp(min=1) for each in found]
        return [*shares, torch.log1p(count) / 2]


class SharedContexts(nn.Module):
    """The same network with several replies per row, in the form that is exported."""

    def __init__(self, network: BranchEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, positions: Tensor, parts: Tensor, numbers: Tensor, replies: Tensor) -> Tensor:
        """One score per reply, meaningless where a row has fewer. (rows, tokens) each, (replies,) -> (rows, replies)"""
        return on_scale(self.network.read(input_ids, positions, parts, numbers, replies).logits)


class AllColumns(nn.Module):
    """The same network with everything that it computes for a reply in one matrix."""

    def __init__(self, network: BranchEncoder) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, positions: Tensor, parts: Tensor, numbers: Tensor, replies: Tensor) -> Tensor:
        """The score, the features and the heads from 0 to 1. (rows, replies, 1 + features + heads)"""
        reading = self.network.read(input_ids, positions, parts, numbers, replies)
        return torch.cat(
            [on_scale(reading.logits).unsqueeze(-1), reading.features, torch.sigmoid(reading.heads)], dim=-1
        )


def _moved_bias(layers: Any, positions: Tensor) -> Tensor:
    """The difference between MPNet's attention bias by positions and that by places. (rows, heads, tokens, tokens)

    MPNet's attention depends on how far apart tokens stand in the row, but in our rows several replies stand side by
    side. Added to the mask, this makes it depend on their positions in their own texts.
    """
    places = torch.arange(positions.shape[1], device=positions.device).unsqueeze(0)
    wanted, had = (
        layers.relative_attention_bias(layers.relative_position_bucket(each.unsqueeze(1) - each.unsqueeze(2))).permute(
            0, 3, 1, 2
        )
        for each in (positions, places)
    )
    bias: Tensor = wanted - had
    return bias


def _late_match(vectors: Tensor, parts: Tensor, owned: Tensor) -> Tensor:
    """The mean over a reply's tokens of the highest cosine with a token of the context. (rows, replies)"""
    unit = _unit(vectors)
    before = (parts == EARLIER) | (parts == LAST_TURN)
    highest = (unit @ unit.transpose(1, 2)).masked_fill(~before.unsqueeze(1), -1).amax(2)  # (rows, tokens)
    mine = (owned & (parts == ALONE).unsqueeze(1)).float()
    return (mine * highest.unsqueeze(1)).sum(-1) / mine.sum(-1).clamp(min=1)


def _mean(vectors: Tensor, chosen: Tensor) -> Tensor:
    """The mean of the chosen vectors. (rows, tokens, width), (rows, n, tokens) -> (rows, n, width)"""
    weights = chosen.to(vectors.dtype)
    return weights @ vectors / weights.sum(-1, keepdim=True).clamp(min=1)


def _unit(vectors: Tensor) -> Tensor:
    return nn.functional.normalize(vectors, dim=-1)
