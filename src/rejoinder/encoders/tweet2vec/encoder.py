"""Sentence vectors from characters, by the network of tweet2vec (Dhingra et al. 2016): docs/reference/adem.md.

A gated recurrent network reads a text's characters forwards, another backwards; the vector is a linear map of where
both end. Spelling mistakes and words that were never seen get a vector like any other text. The paper learns it by
predicting hashtags; dialogues have none, so here a turn is told from the other turns of a batch by the turn before it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rejoinder._version import __version__
from rejoinder.arrays import Vectors
from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.digests import dialogues_digest
from rejoinder.errors import DataError, NeedsError
from rejoinder.learning.fitted import FittedOnDialogues
from rejoinder.learning.learned import CONTEXTS
from rejoinder.learning.parameters import check_least, check_rates
from rejoinder.learning.saving import WEIGHTS, read_arrays, replacing_folder, write_arrays, write_config
from rejoinder.types import Dialogue

PAD, UNKNOWN = 0, 1
_KNOWN = 2
"""The number of the first character of the alphabet."""
_ROWS = 64
_STEP = 16
_OFTEN = 3
"""Occurrences from which a character is of the alphabet."""


@dataclasses.dataclass(frozen=True, slots=True)
class EncoderFit:
    """What a sentence encoder was trained on."""

    seed: int
    data: str
    """Changes when any dialogue does."""
    dialogues: int
    version: str
    contexts: TrainedContexts = dataclasses.field(compare=False, repr=False)


class CharacterNetwork(nn.Module):
    """Characters to a vector of length 1: W [forward; backward] + b, normalised."""

    def __init__(self, characters: int, embedding: int, hidden: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=PAD)
        self.forwards = nn.GRU(embedding, hidden, batch_first=True)
        self.backwards = nn.GRU(embedding, hidden, batch_first=True)
        self.joined = nn.Linear(2 * hidden, width)

    def forward(self, codes: Tensor, lengths: Tensor) -> Tensor:
        """(rows, characters), (rows,) -> (rows, width)"""
        # Each row is turned about within its own length, so that padding comes last both ways and is never read.
        place = torch.arange(codes.shape[1])
        turned = torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
        ends = lengths[:, None, None] - 1
        states = []
        for network, characters in ((self.forwards, codes), (self.backwards, codes.gather(1, turned))):
            each, _ = network(self.embedding(characters))  # (rows, characters, hidden)
            states.append(each.gather(1, ends.expand(-1, 1, each.shape[2]))[:, 0])
        return nn.functional.normalize(self.joined(torch.cat(states, 1)), dim=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tweet2Vec(FittedOnDialogues[EncoderFit]):
    """A character BiGRU that is trained on dialogues, and then gives one vector a text or context."""

    name: ClassVar[str] = "tweet2vec"
    kind: ClassVar[str] = "sentence encoder"
    learning: ClassVar[str] = "trained"

    embedding: int = 48
    hidden: int = 128
    """Units that read in each direction."""
    width: int = 256
    """Numbers of a vector."""
    longest: int = 120
    """Characters that are read of a text, from its end."""
    steps: int = 2000
    """Batches that are learned from."""
    batch: int = 128
    """Turns that each is told from."""
    learning_rate: float = 2e-3

    alphabet_: list[str] = dataclasses.field(init=False, repr=False, compare=False)
    network_: CharacterNetwork = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_least(self, {"embedding": 1, "hidden": 1, "width": 1, "longest": 1, "steps": 1, "batch": 2})
        check_rates(self, "learning_rate")

    def fit(self, dialogues: Iterable[Dialogue], *, seed: int = 0, quiet: bool = True) -> Self:
        """The same encoder, trained anew."""
        from rejoinder.encoders.tweet2vec.training import learn_characters

        known = tuple(dialogues)
        alphabet = _alphabet(known)
        if not alphabet:
            raise NeedsError(f"{self.name} learns from dialogues: expected some with text")
        network = learn_characters(self, alphabet, known, seed, quiet=quiet)
        fit = EncoderFit(seed, dialogues_digest(known), len(known), __version__, TrainedContexts.within(known))
        self._remember({"alphabet_": alphabet, "network_": network}, fit)
        return self

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector of length 1 a text or context, whatever else is encoded with it. (texts, width)"""
        _ = self.fitted
        rows = self.codes(texts, self.alphabet_)
        order = np.argsort([len(row) for row in rows], kind="stable")
        vectors = np.empty((len(rows), self.width), np.float32)
        with torch.inference_mode():
            for start in range(0, len(rows), _ROWS):
                chosen = order[start : start + _ROWS]
                # Always as many rows: sums may be rounded in another way for fewer.
                filled = [rows[row] for row in chosen.tolist()] + [[UNKNOWN]] * (_ROWS - len(chosen))
                vectors[chosen] = self.network_(*padded_codes(filled)).numpy()[: len(chosen)]
        return vectors

    def codes(self, texts: Sequence[str | Sequence[str]], alphabet: Sequence[str]) -> list[list[int]]:
        """The characters of each text as numbers, one at least; turns of a context are told apart by a line break."""
        number = {character: place for place, character in enumerate(alphabet, start=_KNOWN)}
        joined = (text if isinstance(text, str) else "\n".join(text) for text in texts)
        return [
            [number.get(character, UNKNOWN) for character in text.lower()[-self.longest :]] or [UNKNOWN]
            for text in joined
        ]

    def untrained(self, alphabet: Sequence[str]) -> CharacterNetwork:
        """The network that training begins with."""
        return CharacterNetwork(len(alphabet) + _KNOWN, self.embedding, self.hidden, self.width)

    def save(self, folder: str | Path) -> None:
        """Write what `load` needs into a folder: config.json, and arrays beside it."""
        fit = self.fitted
        with replacing_folder(Path(folder), self.kind) as fresh:
            write_arrays(fresh / CONTEXTS, {"keys": fit.contexts.keys})
            save_file(self.network_.state_dict(), fresh / WEIGHTS["torch"])
            config = {
                "name": self.name,
                "parameters": self.parameters,
                "signature": self.signature,
                "fit": {key: getattr(fit, key) for key in ("seed", "data", "dialogues", "version")},
                "learned": {"alphabet_": self.alphabet_},
            }
            write_config(fresh, config)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The encoder that was saved in a folder."""
        home = Path(folder)
        encoder, config = cls._saved(home)
        learned = encoder.load_learned(home, config["learned"])
        encoder._remember(learned, EncoderFit(**config["fit"], contexts=TrainedContexts(_keys(home))))
        return encoder

    def load_learned(self, folder: Path, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Alphabet and network of the folder."""
        path, network = folder / WEIGHTS["torch"], self.untrained(plain["alphabet_"])
        try:
            network.load_state_dict(load_file(path))
        except FileNotFoundError as error:
            raise DataError("is missing: expected the weights of the encoder", file=str(path)) from error
        except (SafetensorError, RuntimeError) as error:
            raise DataError(f"cannot be read ({str(error).splitlines()[0]})", file=str(path)) from error
        return {"alphabet_": plain["alphabet_"], "network_": network.eval()}


def padded_codes(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Codes filled up to a common length, and the length of each row. (rows, characters), (rows,)"""
    longest = -(-max(map(len, rows)) // _STEP) * _STEP
    codes = np.full((len(rows), longest), PAD, np.int64)
    for place, row in enumerate(rows):
        codes[place, : len(row)] = row
    return torch.from_numpy(codes), torch.tensor([len(row) for row in rows])


def _alphabet(dialogues: Sequence[Dialogue]) -> list[str]:
    """Characters that occur often enough, the commonest first."""
    counts = Counter(character for dialogue in dialogues for turn in dialogue.turns for character in turn.lower())
    counts["\n"] += len(dialogues) * _OFTEN  # between turns of a context
    often = [character for character, count in counts.items() if count >= _OFTEN and not _is_half(character)]
    return sorted(often, key=lambda character: (-counts[character], character)) if counts.total() else []


def _is_half(character: str) -> bool:
    """Whether it is a surrogate, which no file can hold."""
    return "\ud800" <= character <= "\udfff"


def _keys(home: Path) -> NDArray[np.uint64]:
    return read_arrays(home / CONTEXTS)["keys"]
