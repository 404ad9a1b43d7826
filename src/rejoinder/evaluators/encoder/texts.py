"""Contexts and replies as separate texts, each as the token ids that an encoder reads.

A context is `[CLS] turn [SEP] turn [SEP] last turn [SEP]`, its last turns as far as there is room; a reply is
`[CLS] reply [SEP]`. The special tokens are the encoder's own. Speakers are not marked: an encoder that was pretrained
on plain sentences knows no such marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_TURNS = 4

Ids = tuple[int, ...]


class ContextIds(NamedTuple):
    """A context as token numbers."""

    ids: Ids
    last_turn: int
    """Where the last turn begins."""


class SeparateTexts:
    """Turns contexts and replies into token ids."""

    def __init__(self, tokeniser: Tokenizer, most_context: int, most_reply: int) -> None:
        """`most_context` and `most_reply` are the tokens of each at most, special ones included."""
        self.tokeniser = tokeniser
        self.first, self.last = text_ends(tokeniser)
        self.most_context = most_context
        self.most_reply = most_reply

    def contexts(self, contexts: Sequence[Sequence[str]]) -> list[ContextIds]:
        """The last turns of each; a context that is too long loses its beginning."""
        return [self._context(turns) for turns in self._latest(contexts)]

    def cut_contexts(self, contexts: Sequence[Sequence[str]]) -> list[bool]:
        """Whether each context has last turns for which there is no room."""
        tokens = [sum(len(turn) + len(self.last) for turn in turns) for turns in self._latest(contexts)]
        return [len(self.first) + each > self.most_context for each in tokens]

    def replies(self, replies: Sequence[str]) -> list[Ids]:
        """A reply that is too long loses its end."""
        room = self.most_reply - len(self.first) - len(self.last)
        found = self.tokeniser.encode_batch(list(replies), add_special_tokens=False)
        return [(*self.first, *answer.ids[:room], *self.last) for answer in found]

    def _latest(self, contexts: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        """The token ids of the last turns of each context."""
        latest = [turns[-MOST_TURNS:] for turns in contexts]
        found = iter(
            self.tokeniser.encode_batch([turn for turns in latest for turn in turns], add_special_tokens=False)
        )
        return [[next(found).ids for _ in turns] for turns in latest]

    def _context(self, turns: Sequence[Sequence[int]]) -> ContextIds:
        latest = [*turns[-1][-(self.most_context - len(self.first) - len(self.last)) :], *self.last]
        before: list[int] = []
        room = self.most_context - len(self.first) - len(latest)
        for turn in reversed(turns[:-1]):
            if room <= 0:
                break
            kept = [*turn, *self.last][-room:]
            before = [*kept, *before]
            room -= len(kept)
        return ContextIds((*self.first, *before, *latest), len(self.first) + len(before))


def text_ends(tokeniser: Tokenizer) -> tuple[list[int], list[int]]:
    """The special tokens that the encoder puts before a text, and after it."""
    marked = tokeniser.encode("a", add_special_tokens=True)
    text = [place for place, special in enumerate(marked.special_tokens_mask) if not special]
    if not text:  # a vocabulary that lacks the letter, and whose unknown token counts as a special one
        return [], []
    return marked.ids[: text[0]], marked.ids[text[-1] + 1 :]
