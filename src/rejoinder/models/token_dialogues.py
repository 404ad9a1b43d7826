"""Dialogues as token numbers, with the turns that are learned, and rows of tokens as packed tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from rejoinder.data.negatives import places_of
from rejoinder.text.vocabulary import START, Ids
from rejoinder.types import Dialogue

TokenContext = tuple[Ids, ...]
"""At least one turn, oldest first; each ends with the end token."""


class TokenCoder(Protocol):
    """What turns texts into token numbers: our own vocabulary, or a pretrained model's tokeniser."""

    def __len__(self) -> int:
        """How many tokens there are."""

    def encode(self, texts: Sequence[str], longest: int) -> list[Ids]:
        """The tokens of each text followed by the end token, at most `longest` in total."""

    def decode(self, replies: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of tokens."""

    def save(self, folder: Path) -> None:
        """Write it into a folder."""


class TokenDialogue(NamedTuple):
    """A conversation as a network reads it."""

    turns: tuple[Ids, ...]
    replies: tuple[int, ...]
    """Numbers of the turns that are learned; never 0."""

    @property
    def size(self) -> int:
        """The number of tokens."""
        return sum(map(len, self.turns))


class ReplyTargets(NamedTuple):
    """The replies of a batch of dialogues that are learned."""

    dialogue: Tensor  # (replies,)
    turn: Tensor  # (replies,)
    ids: list[Ids]


def token_dialogues(
    dialogues: Iterable[Dialogue], vocabulary: TokenCoder, *, turns: int, longest: int
) -> list[TokenDialogue]:
    """The dialogues that contain a reply. One of more than `turns` turns is cut into pieces that overlap by a turn."""
    found = []
    for dialogue in dialogues:
        ids = vocabulary.encode(dialogue.turns, longest)
        wanted = {place.turn for place in places_of([dialogue])}
        for start, stop in _pieces(len(ids), turns):
            replies = tuple(turn - start for turn in range(start + 1, stop) if turn in wanted)
            if replies:
                found.append(TokenDialogue(tuple(ids[start:stop]), replies))
    return found


def token_contexts(
    contexts: Iterable[Sequence[str]], vocabulary: TokenCoder, *, turns: int, longest: int
) -> list[TokenContext]:
    """The last turns of each context; a context without turns counts as one empty turn."""
    spoken = [context[-turns:] or ("",) for context in contexts]
    # All in one call: a call per context would take longer than the tokenisation itself.
    ids = iter(vocabulary.encode([turn for each in spoken for turn in each], longest))
    return [tuple(next(ids) for _ in each) for each in spoken]


def targets_of(dialogues: Sequence[TokenDialogue], device: torch.device) -> ReplyTargets:
    """All replies of these dialogues that are learned, in order."""
    places = [(number, turn) for number, dialogue in enumerate(dialogues) for turn in dialogue.replies]
    where = torch.tensor(places, device=device)
    return ReplyTargets(where[:, 0], where[:, 1], [dialogues[number].turns[turn] for number, turn in places])


def context_of(turns: Sequence[Ids], most: int) -> Ids:
    """The turns as one row of tokens: the last `most` of them."""
    return tuple(token for turn in turns for token in turn)[-most:]


def packed_tokens(rows: Sequence[Sequence[int]], device: torch.device) -> PackedSequence:
    """Rows of tokens, none empty, in the packed form that torch's recurrent networks read without padding."""
    return pack_sequence([torch.tensor(row, device=device) for row in rows], enforce_sorted=False)


def packed_like(data: Tensor, packing: PackedSequence) -> PackedSequence:
    """Other values with the same packing."""
    return PackedSequence(data, packing.batch_sizes, packing.sorted_indices, packing.unsorted_indices)


def shifted(reply: Ids) -> Ids:
    """The input for a reply: the start token, then each token but the last."""
    return (START, *reply[:-1])


def _pieces(length: int, most: int) -> Iterator[tuple[int, int]]:
    """Start and stop of pieces of at most `most` turns; each starts with the last turn of the previous one."""
    for start in range(0, max(1, length - 1), most - 1):
        yield start, min(length, start + most)
