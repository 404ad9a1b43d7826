"""A pretrained causal language model that learns to reply, and writes with its key-value cache.

A dialogue is a script: one turn per line, without speaker names. The line break ends a turn; only replies are learned.
With `speakers`, the input is that of TransferTransfo (Wolf et al. 2019): each token is the sum of its word, its
position, and a segment, which says whether it is part of a persona, of the first speaker's turns or of the second's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rejoinder.data.dialogues import read_text
from rejoinder.errors import CallError, DataError
from rejoinder.folders.foreign import definition_of, embedded_tokens, shaped, tokeniser_of
from rejoinder.folders.saved import TOKENISER, WEIGHTS
from rejoinder.folders.schema import check_range, checked_member, read_json
from rejoinder.learning.checkpoints import loaded_network
from rejoinder.models.causal import CausalModel
from rejoinder.models.recurrent import Nats, ReplyNetwork
from rejoinder.models.text_encoder import longest_input
from rejoinder.models.token_dialogues import TokenContext, TokenDialogue
from rejoinder.text.tokens import writable
from rejoinder.text.vocabulary import Ids

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SHAPE = "language-model.json"
"""The model's architecture, its Hugging Face config.json; our own file of that name holds something else."""
PERSONA_MARK = "your persona:"
"""A turn that begins with this describes the one who replies, as in the files of PersonaChat."""
PERSONA, FIRST, SECOND = 0, 1, 2
"""Segments: whose turn a token is part of."""


@dataclass(frozen=True)
class ScriptTokens:
    """A pretrained tokeniser; a line break ends a turn."""

    definition: str
    """The content of tokenizer.json, as written by the library `tokenizers`."""

    @classmethod
    def load(cls, folder: Path) -> ScriptTokens:
        """What `save` wrote into the folder."""
        found = cls(read_text(folder / TOKENISER))
        tokeniser_of(found.definition, str(folder / TOKENISER))
        try:
            _ = found.end
        except CallError as error:
            raise DataError(str(error), file=str(folder / TOKENISER)) from error
        return found

    def save(self, folder: Path) -> None:
        """Write the definition into the folder."""
        (folder / TOKENISER).write_text(self.definition, encoding="utf-8")

    def __len__(self) -> int:
        return self._tokeniser.get_vocab_size()

    @cached_property
    def end(self) -> int:
        """The token of a line break."""
        found: list[int] = self._tokeniser.encode("\n", add_special_tokens=False).ids
        if not found or self._tokeniser.decode(found[-1:], skip_special_tokens=False) != "\n":
            raise CallError("the language model's tokeniser has no token for a line break, which ends a turn")
        return found[-1]

    @cached_property
    def persona(self) -> Ids:
        """The tokens of PERSONA_MARK."""
        return tuple(self._tokeniser.encode(PERSONA_MARK, add_special_tokens=False).ids)

    def encode(self, texts: Sequence[str], longest: int) -> list[Ids]:
        """The tokens of each text followed by the line break, at most `longest` in total."""
        lines = [" ".join(writable(text).split()) for text in texts]
        found = self._tokeniser.encode_batch(lines, add_special_tokens=False)
        return [(*one.ids[: longest - 1], self.end) for one in found]

    def decode(self, replies: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of tokens, on one line."""
        texts = self._tokeniser.decode_batch([list(tokens) for tokens in replies], skip_special_tokens=True)
        return [" ".join(text.split()) for text in texts]

    @cached_property
    def _tokeniser(self) -> Tokenizer:
        made = tokeniser_of(self.definition, TOKENISER)
        made.encode_special_tokens = True
        return made


class CausalState(NamedTuple):
    """The state of a causal model after the scripts so far, which are padded on the left."""

    cache: Any  # keys and values, of transformers
    present: Tensor  # (rows, tokens), 1 for a token and 0 for padding
    segment: Tensor  # (rows,), of the next token
    replier: Tensor  # (rows,), of the tokens after it: those of the reply


class CausalReplies(ReplyNetwork[CausalState]):
    """Any causal model of transformers, as a reply network."""

    def __init__(self, model: Any, end: int, start: int, context_tokens: int, persona: Ids = ()) -> None:
        """`start`: the token before a script; `context_tokens`: how many tokens of a script are read at most.

        `persona`: the tokens that a persona begins with, if tokens have segments; none if they have not.
        """
        super().__init__()
        longest = longest_input(model)
        self.model, self._end, self.begin, self.persona = model, end, start, persona
        self.segments = None
        if persona:
            width = model.get_input_embeddings().weight.shape[1]
            self.segments = torch.nn.Embedding(3, width)
            torch.nn.init.zeros_(self.segments.weight)  # at first, the model reads what it was pretrained to read
        self.context_tokens = context_tokens if longest is None else min(context_tokens, longest)

    @classmethod
    def pretrained(cls, source: str, context_tokens: int, *, speakers: bool) -> tuple[CausalReplies, ScriptTokens]:
        """A model by Hugging Face name, folder or GGUF file, and its tokeniser; `speakers`: tokens have segments."""
        found = CausalModel.load(source)
        tokens = ScriptTokens(found.tokeniser.backend_tokenizer.to_str())
        start = found.tokeniser.bos_token_id
        start = found.tokeniser.eos_token_id if start is None else start
        begin = tokens.end if start is None else int(start)
        return cls(found.network, tokens.end, begin, context_tokens, tokens.persona if speakers else ()), tokens

    @classmethod
    def load(cls, folder: Path, tokens: ScriptTokens, context_tokens: int, *, speakers: bool) -> CausalReplies:
        """The network that was saved in a folder, with the architecture that `save_shape` wrote."""
        path, weights = folder / SHAPE, folder / WEIGHTS["torch"]
        shape = read_json(path)
        start = checked_member(shape, "script_start", int, str(path), "shape")
        del shape["script_start"]
        most = weights.stat().st_size if weights.is_file() else 0
        model = shaped("AutoModelForCausalLM", json.dumps(shape), str(path), most)
        persona = tokens.persona if speakers else ()
        network = loaded_network(lambda: cls(model(), tokens.end, start, context_tokens, persona), weights)
        count = embedded_tokens(network.model)
        check_range(start, 0, count - 1, str(path), "script_start")
        tokeniser_of(tokens.definition, str(folder / TOKENISER), count)
        return network

    def save_shape(self, folder: Path) -> None:
        """Write what `load` reads."""
        shape = json.loads(definition_of(self.model)) | {"script_start": self.begin}
        (folder / SHAPE).write_text(json.dumps(shape, indent=2) + "\n", encoding="utf-8")

    @property
    def end(self) -> int:
        """The token of a line break."""
        return self._end

    def forward(self, dialogues: Sequence[TokenDialogue]) -> Nats:
        """The negative log-likelihood of the replies; of a script that is too long, only the beginning is learned."""
        said = [self._segments(dialogue.turns) for dialogue in dialogues]
        learned = [_learned(dialogue, segments) for dialogue, segments in zip(dialogues, said, strict=True)]
        rows = [[self.begin, *(token for turn in dialogue.turns for token in turn)] for dialogue in dialogues]
        marks = [
            [0, *(int(place in replies) for place, turn in enumerate(dialogue.turns) for _ in turn)]
            for dialogue, replies in zip(dialogues, learned, strict=True)
        ]
        spoken = [_per_token(dialogue.turns, segments) for dialogue, segments in zip(dialogues, said, strict=True)]
        ids, present = self._filled([row[: self.context_tokens] for row in rows], left=False)
        counted, _ = self._filled([row[: self.context_tokens] for row in marks], left=False)
        segments, _ = self._filled([row[: self.context_tokens] for row in spoken], left=False)
        hidden = self._read(ids, segments, attention_mask=present).logits[:, :-1]  # (dialogues, tokens, vocabulary)
        wanted = counted[:, 1:].bool()
        nats = cross_entropy(hidden[wanted], ids[:, 1:][wanted], reduction="none")
        return Nats(nats.sum(), nats.new_zeros(()), len(nats), sum(map(len, learned)))

    def start(self, contexts: Sequence[TokenContext], seeds: Sequence[int] | None) -> tuple[CausalState, Tensor]:  # noqa: ARG002
        """The state after the scripts without their last line break, which is the first token to be read."""
        said = [self._segments(context) for context in contexts]
        ids, present = self._filled([self._script(context)[:-1] for context in contexts], left=True)
        segments, _ = self._filled([self._spoken(*pair)[:-1] for pair in zip(contexts, said, strict=True)], left=True)
        read = self._read(ids, segments, attention_mask=present, position_ids=_positions(present), use_cache=True)
        first = torch.full((len(contexts),), self.end, device=self.device)
        last, replier = (torch.tensor(row, device=self.device) for row in zip(*map(_last_and_next, said), strict=True))
        return CausalState(read.past_key_values, present, last, replier), first

    def step(self, state: CausalState, last: Tensor) -> tuple[Tensor, CausalState]:
        """Log-probabilities of the next token, and the new state."""
        present = torch.cat([state.present, torch.ones_like(state.present[:, :1])], dim=1)
        read = self._read(
            last[:, None],
            state.segment[:, None],
            attention_mask=present,
            position_ids=_positions(present)[:, -1:],
            past_key_values=state.cache,
            use_cache=True,
        )
        new = CausalState(read.past_key_values, present, state.replier, state.replier)
        return read.logits[:, -1].float().log_softmax(1), new

    def reorder(self, state: CausalState, rows: Tensor) -> CausalState:
        """The state of these rows."""
        state.cache.batch_select_indices(rows)  # in place: the old state is not used again
        return CausalState(state.cache, state.present[rows], state.segment[rows], state.replier[rows])

    def encode(self, contexts: Sequence[TokenContext]) -> Tensor:
        """The last layer's state at the line break that ends the context."""
        ids, present = self._filled([self._script(context) for context in contexts], left=True)
        spoken = [self._spoken(context, self._segments(context)) for context in contexts]
        segments, _ = self._filled(spoken, left=True)
        read = self._read(
            ids, segments, attention_mask=present, position_ids=_positions(present), output_hidden_states=True
        )
        vectors: Tensor = read.hidden_states[-1][:, -1]
        return vectors

    def _read(self, ids: Tensor, segments: Tensor, **given: Any) -> Any:
        """The model's output for tokens with their segments. Each (rows, tokens)"""
        if self.segments is None:
            return self.model(input_ids=ids, **given)
        return self.model(inputs_embeds=self.model.get_input_embeddings()(ids) + self.segments(segments), **given)

    def _segments(self, turns: TokenContext) -> list[int]:
        """Whose each turn is: a persona's, or the first or the second speaker's, who alternate."""
        found: list[int] = []
        for turn in turns:
            found.append(PERSONA if self._is_persona(turn) else _last_and_next(found)[1])
        return found

    def _is_persona(self, turn: Ids) -> bool:
        return bool(self.persona) and turn[: len(self.persona)] == self.persona

    def _script(self, context: TokenContext) -> list[int]:
        """The tokens of a context that are read, leaving room for a reply."""
        return [self.begin, *self._cut([token for turn in context for token in turn], context)]

    def _spoken(self, context: TokenContext, segments: Sequence[int]) -> list[int]:
        """The segments of the tokens of `_script`."""
        first, *others = _per_token(context, segments)
        return [first, *self._cut(others, context)]

    def _cut(self, tokens: list[int], context: TokenContext) -> list[int]:
        """Of the tokens of a context that is too long: the persona at its start, and the last tokens.

        The last turn comes first: a persona that leaves no room for it loses its end.
        """
        most = max(1, self.context_tokens // 2)
        if len(tokens) <= most:
            return tokens
        told = sum(map(len, takewhile(self._is_persona, context)))
        told = min(told, max(0, most - len(context[-1])))
        return [*tokens[:told], *tokens[told - most :]]

    def _filled(self, rows: Sequence[Sequence[int]], *, left: bool) -> tuple[Tensor, Tensor]:
        """The rows padded to the longest, and a mask with 1 for tokens. Each (rows, longest)"""
        longest = max(map(len, rows))
        blank = [[0] * (longest - len(row)) for row in rows]
        ids = [[*fill, *row] if left else [*row, *fill] for row, fill in zip(rows, blank, strict=True)]
        ones = [[1] * len(row) for row in rows]
        there = [[*fill, *one] if left else [*one, *fill] for one, fill in zip(ones, blank, strict=True)]
        return torch.tensor(ids, device=self.device), torch.tensor(there, device=self.device)


def _learned(dialogue: TokenDialogue, segments: Sequence[int]) -> tuple[int, ...]:
    """The turns that are learned: with a persona, those of the last speaker, whom it describes, if there are any."""
    spoken = [segment for segment in segments if segment != PERSONA]
    if len(spoken) in {0, len(segments)}:
        return dialogue.replies
    return tuple(turn for turn in dialogue.replies if segments[turn] == spoken[-1]) or dialogue.replies


def _last_and_next(segments: Sequence[int]) -> tuple[int, int]:
    """The segment of the last turn, and that of the turn after it."""
    last = segments[-1] if segments else PERSONA
    return last, SECOND if last == FIRST else FIRST


def _per_token(turns: Sequence[Ids], segments: Sequence[int]) -> list[int]:
    """The segment of each token of a script, with its start."""
    return [PERSONA, *(segment for turn, segment in zip(turns, segments, strict=True) for _ in turn)]


def _positions(present: Tensor) -> Tensor:
    """The position of each token in its own script. (rows, tokens)"""
    return (present.cumsum(1) - 1).clamp(min=0)
