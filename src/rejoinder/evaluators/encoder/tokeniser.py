"""A context and a reply as the token ids that an encoder reads.

The context is one text, each turn after a mark of who speaks: `me:` for the speaker whose reply is judged, `you:` for
anyone else. The reply follows, separated as the encoder's own tokeniser does it (`[SEP]`, `</s></s>`). A context that
is too long loses its beginning; a reply is kept whole up to a limit. Training and scoring both use the library
`tokenizers` alone, so that both see the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from rejoinder.data.pairs import Pair, by_replier
from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.branching import Brancher
from rejoinder.learning.batching import Encoded
from rejoinder.learning.saving import TOKENISER
from rejoinder.loading.foreign import tokeniser_of
from rejoinder.text.cleaning import writable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ME, YOU = "me:", "you:"


@dataclass(frozen=True)
class PairTokeniser:
    """Turns pairs into token ids."""

    definition: str = field(repr=False)
    """The content of tokenizer.json, as written by the library `tokenizers`."""
    max_length: int = 128
    """Tokens of context and reply together, special ones included."""
    max_response: int = 64
    """Maximum tokens of a reply; the rest is not read."""
    speaker_marks: bool = True
    own_types: bool = True
    """Whether segments are those that the encoder was pretrained with, which are all 0 for some (RoBERTa, MPNet);
    otherwise 0 for the context and 1 for the reply, as in BERT, for every encoder."""
    towers: bool = False
    """Whether pairs become rows of `branching.py`, without marks: context and reply are also read apart."""

    def __post_init__(self) -> None:
        if self.max_response < 1 or self.max_response + self.special > self.max_length:
            raise CallError(
                f"max_length must have room for max_response ({self.max_response}) and {self.special} special tokens, "
                f"not be {self.max_length}"
            )

    @cached_property
    def tokeniser(self) -> Tokenizer:
        """The library's own object."""
        return tokeniser_of(self.definition, TOKENISER)

    @cached_property
    def special(self) -> int:
        """How many special tokens a pair gets."""
        return int(self.tokeniser.num_special_tokens_to_add(is_pair=True))

    @cached_property
    def brancher(self) -> Brancher:
        """Makes the rows in which context and reply are also read apart."""
        return Brancher(self.tokeniser, self.max_length - self.max_response // 2, self.max_response)

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        """The token ids of each pair."""
        if self.towers:
            turns = [[writable(turn) for turn in pair.context] for pair in pairs]
            rows = self.brancher.rows(turns, [[writable(pair.response)] for pair in pairs])
            return [Encoded(row.ids, row.parts, row.positions) for row in rows]
        contexts = [writable(context_text(pair, marks=self.speaker_marks)) for pair in pairs]
        before = self.tokeniser.encode_batch(contexts, add_special_tokens=False)
        after = self.tokeniser.encode_batch([writable(pair.response) for pair in pairs], add_special_tokens=False)
        encoded = []
        for context, response in zip(before, after, strict=True):
            response.truncate(self.max_response)
            context.truncate(self.max_length - self.special - len(response), direction="left")
            joined = self.tokeniser.post_process(context, response, add_special_tokens=True)
            types = joined.type_ids if self.own_types else _segments(joined.sequence_ids)
            encoded.append(Encoded(tuple(joined.ids), tuple(types)))
        return encoded


def _segments(sequences: Sequence[int | None]) -> list[int]:
    """1 from the reply's first token on, or for the last special token where the reply has none; 0 before."""
    start = sequences.index(1) if 1 in sequences else len(sequences) - 1
    return [int(place >= start) for place in range(len(sequences))]


def context_text(pair: Pair, *, marks: bool = True) -> str:
    """The turns of a context as one text."""
    if not marks:
        return " ".join(pair.context)
    mine = by_replier(len(pair.context), pair.speakers)
    return " ".join(f"{ME if own else YOU} {turn}" for own, turn in zip(mine, pair.context, strict=True))
