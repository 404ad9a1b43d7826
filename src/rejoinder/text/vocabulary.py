"""A byte-level byte-pair vocabulary learned from dialogues (Sennrich et al. 2016).

Every text can be encoded, so no word is unknown. Token ids are ordered by falling frequency after the special tokens,
which the adaptive softmax of `models/recurrent` relies on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from rejoinder.data.dialogues import read_text
from rejoinder.errors import DataError
from rejoinder.folders.foreign import tokeniser_of
from rejoinder.text.tokens import writable

PAD, START, END, DROPPED = range(4)
"""Padding; the token before a reply; the end of a turn; the placeholder of a dropped word."""
SPECIAL = ("<pad>", "<start>", "<end>", "<dropped>")
UNSAID = (PAD, START, DROPPED)
"""Tokens that never occur in a reply."""
VOCABULARY = "vocabulary.json"

_AT_ONCE = 10_000

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Vocabulary:
    """Texts to token ids and back."""

    definition: str = field(repr=False)
    """The tokenizer.json of the library `tokenizers`."""

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> Vocabulary:
        """Learn at most `size` tokens, including bytes and special tokens; deterministic."""
        lines = list(map(_one_line, texts))
        tokeniser = Tokenizer(models.BPE())
        tokeniser.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokeniser.decoder = decoders.ByteLevel()
        tokeniser.train_from_iterator(
            lines,
            trainers.BpeTrainer(
                vocab_size=size,
                min_frequency=2,
                special_tokens=list(SPECIAL),
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ),
        )
        return cls(_numbered_by_frequency(tokeniser, lines))

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Load what `save` wrote into the folder."""
        found = cls(read_text(folder / VOCABULARY))
        numbers = sorted(tokeniser_of(found.definition, str(folder / VOCABULARY)).get_vocab().values())
        if numbers != list(range(len(numbers))) or len(numbers) < len(SPECIAL):
            raise DataError("must number its tokens from 0", file=str(folder / VOCABULARY))
        return found

    def save(self, folder: Path) -> None:
        """Write it into the folder."""
        (folder / VOCABULARY).write_text(self.definition, encoding="utf-8")

    def __len__(self) -> int:
        return self._tokeniser.get_vocab_size()

    def encode(self, texts: Sequence[str], longest: int) -> list[Ids]:
        """The tokens of each text followed by END, truncated to `longest` tokens."""
        found = self._tokeniser.encode_batch_fast([_one_line(text) for text in texts], add_special_tokens=False)
        return [(*one.ids[: longest - 1], END) for one in found]

    def decode(self, replies: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of tokens, without special tokens."""
        texts = self._tokeniser.decode_batch([list(tokens) for tokens in replies], skip_special_tokens=True)
        return [text.strip() for text in texts]

    @cached_property
    def _tokeniser(self) -> Tokenizer:
        made = tokeniser_of(self.definition, VOCABULARY)
        made.encode_special_tokens = True  # "<end>" in a user's text is plain text
        return made


def _one_line(text: str) -> str:
    return " ".join(writable(text).split())


def _numbered_by_frequency(tokeniser: Tokenizer, lines: list[str]) -> str:
    """The tokeniser's definition with special tokens first, then the others by falling frequency."""
    counts: Counter[int] = Counter()
    for start in range(0, len(lines), _AT_ONCE):
        for one in tokeniser.encode_batch_fast(lines[start : start + _AT_ONCE], add_special_tokens=False):
            counts.update(one.ids)
    definition = json.loads(tokeniser.to_str())
    numbers: dict[str, int] = definition["model"]["vocab"]
    order = sorted(numbers, key=lambda token: (numbers[token] >= len(SPECIAL), -counts[numbers[token]], numbers[token]))
    # Special tokens have a count of 0 and keep their order.
    definition["model"]["vocab"] = {token: number for number, token in enumerate(order)}
    return json.dumps(definition, ensure_ascii=False)
