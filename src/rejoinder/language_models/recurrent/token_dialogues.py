"""Dialogues as token numbers: which turns are learned to be said, and rows of tokens as tensors without padding."""

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
"""Turns, oldest first; one at least, and each ends with its mark."""


class Tokens(Protocol):
    """What turns texts into token numbers: a vocabulary of our own, or a pretrained model's tokeniser."""

    def __len__(self) -> int:
        """How many tokens there are."""

    def encode(self, texts: Sequence[str], longest: int) -> list[Ids]:
        """The tokens of each text and the one that ends it, at most `longest` together."""

    def decode(self, replies: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of tokens."""

    def save(self, folder: Path) -> None:
        """Write it into a folder."""


class TokenDialogue(NamedTuple):
    """A conversation as a network reads it."""

    turns: tuple[Ids, ...]
    replies: tuple[int, ...]
    """Numbers of the turns that are learned, 0 never among them."""

    @property
    def size(self) -> int:
        """How many tokens it has."""
        return sum(map(len, self.turns))


class Targets(NamedTuple):
    """The turns that a batch of dialogues has to say."""

    dialogue: Tensor  # (replies,)
    turn: Tensor  # (replies,)
    ids: list[Ids]


def token_dialogues(
    dialogues: Iterable[Dialogue], vocabulary: Tokens, *, turns: int, longest: int
) -> list[TokenDialogue]:
    """Those that have a reply in them. A dialogue of more than `turns` turns comes in pieces that share a turn."""
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
    contexts: Iterable[Sequence[str]], vocabulary: Tokens, *, turns: int, longest: int
) -> list[TokenContext]:
    """The last turns of each context; one without turns counts as one empty turn."""
    spoken = [context[-turns:] or ("",) for context in contexts]
    # All at once: a call for each context costs more than its tokens.
    ids = iter(vocabulary.encode([turn for each in spoken for turn in each], longest))
    return [tuple(next(ids) for _ in each) for each in spoken]


def targets_of(dialogues: Sequence[TokenDialogue], device: torch.device) -> Targets:
    """All that these dialogues have to say, in order."""
    places = [(number, turn) for number, dialogue in enumerate(dialogues) for turn in dialogue.replies]
    where = torch.tensor(places, device=device)
    return Targets(where[:, 0], where[:, 1], [dialogues[number].turns[turn] for number, turn in places])


def context_of(turns: Sequence[Ids], most: int) -> Ids:
    """The last turns as one row of tokens, at most so many of them."""
    return tuple(token for turn in turns for token in turn)[-most:]


def packed(rows: Sequence[Sequence[int]], device: torch.device) -> PackedSequence:
    """Rows of tokens, none empty, as torch's recurrent networks read them without padding."""
    return pack_sequence([torch.tensor(row, device=device) for row in rows], enforce_sorted=False)


def packed_like(data: Tensor, packing: PackedSequence) -> PackedSequence:
    """Other values for the same rows."""
    return PackedSequence(data, packing.batch_sizes, packing.sorted_indices, packing.unsorted_indices)


def shifted(reply: Ids) -> Ids:
    """What is read while a reply is said: the mark it starts after, then each token but the last."""
    return (START, *reply[:-1])


def _pieces(length: int, most: int) -> Iterator[tuple[int, int]]:
    """Start and stop of stretches of at most `most` turns; each starts with the last turn of the one before."""
    for start in range(0, max(1, length - 1), most - 1):
        yield start, min(length, start + most)
