"""A byte-pair vocabulary of the dialogues that a model learns from (Sennrich et al. 2016, over bytes).

Every text can be written with it, so that no word is unknown. Tokens are numbered by how often they come, the special
ones first: `softmax.py` relies on it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from rejoinder.data.files import read_text
from rejoinder.errors import DataError
from rejoinder.text.cleaning import writable

PAD, START, END, DROPPED = range(4)
"""What fills rows up; what a reply begins after; what ends a turn; what stands for a word that is hidden."""
SPECIAL = ("<pad>", "<start>", "<end>", "<dropped>")
UNSAID = (PAD, START, DROPPED)
"""Tokens that no reply has."""
VOCABULARY = "vocabulary.json"

_AT_ONCE = 10_000

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Vocabulary:
    """Texts to token numbers and back."""

    definition: str = field(repr=False)
    """What the library `tokenizers` writes as tokenizer.json."""

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> Vocabulary:
        """At most `size` tokens, bytes and special ones included; the same for the same texts."""
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
        """What `save` wrote into the folder."""
        found = cls(read_text(folder / VOCABULARY))
        try:
            _ = found._tokeniser
        except Exception as error:  # the library raises nothing narrower
            raise DataError(f"is not a vocabulary ({error})", file=str(folder / VOCABULARY)) from error
        return found

    def save(self, folder: Path) -> None:
        """Write it into the folder."""
        (folder / VOCABULARY).write_text(self.definition, encoding="utf-8")

    def __len__(self) -> int:
        return self._tokeniser.get_vocab_size()

    def encode(self, texts: Sequence[str], longest: int) -> list[Ids]:
        """The tokens of each text and the one that ends it, at most `longest` together: a text may be cut."""
        found = self._tokeniser.encode_batch_fast([_one_line(text) for text in texts], add_special_tokens=False)
        return [(*one.ids[: longest - 1], END) for one in found]

    def decode(self, replies: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of tokens, without special ones."""
        texts = self._tokeniser.decode_batch([list(tokens) for tokens in replies], skip_special_tokens=True)
        return [text.strip() for text in texts]

    @cached_property
    def _tokeniser(self) -> Tokenizer:
        made: Tokenizer = Tokenizer.from_str(self.definition)
        made.encode_special_tokens = True  # "<end>" in somebody's text is text
        return made


def _one_line(text: str) -> str:
    return " ".join(writable(text).split())


def _numbered_by_frequency(tokeniser: Tokenizer, lines: list[str]) -> str:
    """The tokeniser's definition with the special tokens first, then the others from the commonest on."""
    counts: Counter[int] = Counter()
    for start in range(0, len(lines), _AT_ONCE):
        for one in tokeniser.encode_batch_fast(lines[start : start + _AT_ONCE], add_special_tokens=False):
            counts.update(one.ids)
    definition = json.loads(tokeniser.to_str())
    numbers: dict[str, int] = definition["model"]["vocab"]
    order = sorted(numbers, key=lambda token: (numbers[token] >= len(SPECIAL), -counts[numbers[token]], numbers[token]))
    # Special tokens have a count of 0 and keep their order: they come first, by their numbers.
    definition["model"]["vocab"] = {token: number for number, token in enumerate(order)}
    return json.dumps(definition, ensure_ascii=False)
