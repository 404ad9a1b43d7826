"""A context and a reply as the token ids that an encoder reads, in one sequence or in branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints
from rejoinder.data.dialogues import ReplyInContext, by_replier
from rejoinder.errors import CallError
from rejoinder.evaluators.calibration import LOWEST
from rejoinder.folders.foreign import tokeniser_of
from rejoinder.folders.saved import TOKENISER
from rejoinder.learning.data import EncodedPair, by_length
from rejoinder.progress import reported
from rejoinder.text.markdown import without_markdown
from rejoinder.text.tokens import writable
from rejoinder.threads import in_threads

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# A context and a reply as the token ids that an encoder reads.
#
# The context is one text, each turn after a mark of who speaks: `me:` for the speaker whose reply is judged, `you:` for
# anyone else. The reply follows, separated as the encoder's own tokeniser does it (`[SEP]`, `</s></s>`). A context that
# is too long loses its beginning; a reply is kept whole up to a limit. Training and scoring both use the library
# `tokenizers` alone, so that both see the same numbers.


ME, YOU = "me:", "you:"
MOST_REPLY = 512
"""Tokens that are read of a reply that is read in parts."""
_MARGIN = 6
"""Tokens of a part left for special tokens, and because a text may be tokenised differently where it is cut."""


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
    """Whether pairs become rows of `Brancher`, without marks: context and reply are also read apart."""
    whole_replies: bool = False
    """Whether long replies are read in parts, up to MOST_REPLY tokens, without Markdown."""

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

    def parts(self, pairs: Sequence[ReplyInContext]) -> list[list[str]]:
        """The texts of each reply that are read: several for a long one, if replies are read whole."""
        if not self.whole_replies:
            return [[pair.response] for pair in pairs]
        return [_parts(text, *found, self.max_response) for text, found in self._tokens(pairs)]

    def cut_replies(self, pairs: Sequence[ReplyInContext]) -> int:
        """How many replies are too long to be read in parts."""
        return sum(len(starts) > MOST_REPLY for _, (starts, _) in self._tokens(pairs))

    def _tokens(self, pairs: Sequence[ReplyInContext]) -> list[tuple[str, tuple[list[int], list[int]]]]:
        """The text of each reply, and where each of its tokens begins and ends."""
        texts = [without_markdown(writable(pair.response)) for pair in pairs]
        found = self.tokeniser.encode_batch(texts, add_special_tokens=False)
        return [
            (text, ([start for start, _ in each.offsets], [end for _, end in each.offsets]))
            for text, each in zip(texts, found, strict=True)
        ]

    def mean_of_parts(
        self, pairs: Sequence[ReplyInContext], read: Callable[[Sequence[ReplyInContext]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """What `read` gives for each pair; for a reply in parts the mean over these, weighted by their words.

        (pairs,) or (pairs, columns)
        """
        if not self.whole_replies or not len(pairs):
            return read(pairs)
        parts = self.parts(pairs)
        owner = np.repeat(np.arange(len(pairs)), [len(each) for each in parts])
        shown = [pairs[number]._replace(response=text) for number, each in enumerate(parts) for text in each]
        found = read(shown)
        if len(found) == len(pairs):
            return found
        words = np.array([max(1, len(pair.response.split())) for pair in shown], np.float64)
        total = np.zeros((len(pairs), *found.shape[1:]))
        np.add.at(total, owner, (found.T * words).T)
        mean: NDArray[np.float64] = (total.T / np.bincount(owner, words)).T
        return mean

    def encode(self, pairs: Sequence[ReplyInContext]) -> list[EncodedPair]:
        """The token ids of each pair."""
        if self.towers:
            turns = [[writable(turn) for turn in pair.context] for pair in pairs]
            rows = self.brancher.rows(turns, [[writable(pair.response)] for pair in pairs])
            return [EncodedPair(row.ids, row.parts, row.positions) for row in rows]
        contexts = [writable(turns_as_text(pair, marks=self.speaker_marks)) for pair in pairs]
        before = self.tokeniser.encode_batch(contexts, add_special_tokens=False)
        after = self.tokeniser.encode_batch([writable(pair.response) for pair in pairs], add_special_tokens=False)
        encoded = []
        for context, response in zip(before, after, strict=True):
            response.truncate(self.max_response)
            context.truncate(self.max_length - self.special - len(response), direction="left")
            joined = self.tokeniser.post_process(context, response, add_special_tokens=True)
            types = joined.type_ids if self.own_types else _segments(joined.sequence_ids)
            encoded.append(EncodedPair(tuple(joined.ids), tuple(types)))
        return encoded


def _parts(text: str, starts: Sequence[int], ends: Sequence[int], most: int) -> list[str]:
    """The first MOST_REPLY tokens of a text in parts of nearly equal length, cut between words."""
    count = min(len(starts), MOST_REPLY)
    room = max(1, most - _MARGIN)
    number = max(1, -(-count // room))
    if number == 1:
        return [text if count == len(starts) else text[: ends[count - 1]]]
    cuts = []
    for part in range(1, number):
        at = count * part // number
        while at > 1 and starts[at] == ends[at - 1]:  # within a word
            at -= 1
        cuts.append(starts[at])
    bounds = [0, *sorted(set(cuts)), ends[count - 1]]
    return [text[start:end].strip() for start, end in pairwise(bounds) if text[start:end].strip()]


def _segments(sequences: Sequence[int | None]) -> list[int]:
    """1 from the reply's first token on, or for the last special token where the reply has none; 0 before."""
    start = sequences.index(1) if 1 in sequences else len(sequences) - 1
    return [int(place >= start) for place in range(len(sequences))]


def turns_as_text(pair: ReplyInContext, *, marks: bool = True) -> str:
    """The turns of a context as one text."""
    if not marks:
        return " ".join(pair.context)
    mine = by_replier(len(pair.context), pair.speakers)
    return " ".join(f"{ME if own else YOU} {turn}" for own, turn in zip(mine, pair.context, strict=True))


# Contexts and replies as separate texts, each as the token ids that an encoder reads.
#
# A context is `[CLS] turn [SEP] turn [SEP] last turn [SEP]`, its last turns as far as there is room; a reply is
# `[CLS] reply [SEP]`. The special tokens are the encoder's own. Speakers are not marked: an encoder that was pretrained
# on plain sentences knows no such marks.


MOST_TURNS = 4

TokenIds = tuple[int, ...]


class ContextIds(NamedTuple):
    """A context as token numbers."""

    ids: TokenIds
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

    def replies(self, replies: Sequence[str]) -> list[TokenIds]:
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


# Rows of token ids, each a context with the replies that branch off it.
#
# A row is the context, `[CLS] turn [SEP] turn [SEP] last turn [SEP]`, and then each reply twice: once as a continuation
# of the context, and once by itself, `[CLS] reply [SEP]`. Each token's part decides which tokens it attends to: those
# of the context attend to the context, those of a reply after it to the context and the reply, those of a reply by
# itself to that reply only. So a context is computed once for all its replies, and one pass gives the vectors of
# context and reply both apart and together.


PADDING, EARLIER, LAST_TURN, AFTER, ALONE = range(5)
"""The parts of a row: padding, turns before the last, the last turn, a reply after the context, a reply by itself."""
FEATURES = (
    "cosine",
    "cosine of last turn",
    "cosine after",
    "late match",
    "copied",
    "copied last",
    "repeated",
    "length",
)
"""What the network computes from the vectors of a row on the way to its score: see `branch_encoder`."""
MOST_REPLIES = 8
"""Replies that share a context's row when they are scored. Attention is computed between all tokens of a row, whether
it is used or not, so that longer rows would cost more than they save."""


class BranchedContext(NamedTuple):
    """A context with its replies; each (tokens,)."""

    ids: TokenIds
    positions: TokenIds
    parts: TokenIds
    numbers: TokenIds
    """Which reply a token belongs to; 0 for tokens of the context."""


class Brancher(SeparateTexts):
    """Turns contexts with their replies into rows."""

    def rows(self, contexts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]]) -> list[BranchedContext]:
        """One row per context, with all its replies."""
        answers = iter(self.replies([reply for each in replies for reply in each]))
        read = self.contexts(contexts)
        return [self.row(context, [next(answers) for _ in each]) for context, each in zip(read, replies, strict=True)]

    def shared_rows(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[str], most: int
    ) -> list[tuple[BranchedContext, list[int]]]:
        """Rows of at most `most` replies to one context, each with the numbers of its replies."""
        owners: dict[tuple[str, ...], list[int]] = {}
        for number, context in enumerate(contexts):
            owners.setdefault(tuple(context), []).append(number)
        read, answers = self.contexts(list(owners)), self.replies(replies)
        return [
            (self.row(context, [answers[number] for number in part]), part)
            for context, numbers in zip(read, owners.values(), strict=True)
            for part in (numbers[start : start + most] for start in range(0, len(numbers), most))
        ]

    def row(self, context: ContextIds, replies: Sequence[TokenIds]) -> BranchedContext:
        """The context and its replies side by side."""
        length = len(context.ids)
        ids, positions = [*context.ids], [*range(length)]
        parts = [EARLIER] * context.last_turn + [LAST_TURN] * (length - context.last_turn)
        numbers = [0] * length
        for number, reply in enumerate(replies):
            after = reply[len(self.first) :]
            ids += [*after, *reply]
            positions += [*range(length, length + len(after)), *range(len(reply))]
            parts += [AFTER] * len(after) + [ALONE] * len(reply)
            numbers += [number] * (len(after) + len(reply))
        return BranchedContext(tuple(ids), tuple(positions), tuple(parts), tuple(numbers))


def padded_rows(rows: Sequence[BranchedContext], pad: int) -> dict[str, Ints]:
    """The rows as arrays, padded to the longest. Each (rows, longest)"""
    longest = max(len(row.ids) for row in rows)
    arrays = {name: np.zeros((len(rows), longest), np.int64) for name in ("input_ids", "positions", "parts", "numbers")}
    arrays["input_ids"][:] = pad
    for place, row in enumerate(rows):
        for array, values in zip(arrays.values(), row, strict=True):
            array[place, : len(values)] = values
    return arrays


def shared_scores(
    brancher: Brancher,
    pairs: Sequence[ReplyInContext],
    pad: int,
    tokens: int,
    run: Callable[[dict[str, Ints]], NDArray[Any]],
    *,
    threads: bool = False,
) -> NDArray[np.float64]:
    """One score per pair, in order; replies to one context share a row, and rows of similar length run together.

    `tokens` limits a batch. `run` gives the scores of a batch of rows (rows, replies), or several numbers for each
    (rows, replies, numbers), which are then given for each pair. With `threads`, several batches run at a time.
    (pairs,) or (pairs, numbers)
    """
    contexts = [tuple(map(writable, pair.context)) for pair in pairs]
    found = brancher.shared_rows(contexts, [writable(pair.response) for pair in pairs], MOST_REPLIES)
    scores = np.full(0, LOWEST)

    def scored(places: list[int]) -> NDArray[Any]:
        arrays = padded_rows([found[place][0] for place in places], pad)
        most = max(len(found[place][1]) for place in places)
        return run({**arrays, "replies": np.arange(most)})

    batches = by_length([row for row, _ in found], tokens)
    results = in_threads(scored, batches) if threads else reported(map(scored, batches), len(batches))
    for places, made in zip(batches, results, strict=True):
        if not len(scores):
            scores = np.full((len(pairs), *made.shape[2:]), LOWEST)
        for place, row in zip(places, made, strict=True):
            numbers = found[place][1]
            scores[numbers] = row[: len(numbers)]
    return scores
