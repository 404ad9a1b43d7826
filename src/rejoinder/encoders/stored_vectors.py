"""Vectors of texts that were computed before, by any encoder: scoring with them needs no network.

A study that fits an evaluator a hundred times on the same texts encodes each text once; vectors of a model that runs
elsewhere can be used in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Vectors
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError
from rejoinder.learning.learned import ARRAYS, CONTEXTS, read_contexts
from rejoinder.learning.saving import read_arrays, replacing_folder, write_arrays, write_config
from rejoinder.loading.array_schema import Array
from rejoinder.loading.schema import typed
from rejoinder.model_folder import CONFIG, read_config

Text = str | Sequence[str]
"""An utterance, or the turns of a context."""


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Hashes of texts, and the vector of each."""

    name: ClassVar[str] = "stored-vectors"
    kind: ClassVar[str] = "sentence encoder"

    keys: NDArray[np.uint64]
    """Sorted. (texts,)"""
    vectors: Vectors
    """(texts, width)"""
    signature: str
    """The signature of the encoder that computed them."""
    trained_contexts: TrainedContexts
    """The contexts that this encoder was trained on."""

    @classmethod
    def of(
        cls, vector_of: Mapping[Text, NDArray[np.floating]], signature: str, contexts: TrainedContexts | None = None
    ) -> Self:
        """Store the vector of each text."""
        if not vector_of:
            raise CallError("there are no vectors to store: expected the vector of at least one text")
        keys = np.array([_key(text) for text in vector_of], np.uint64)
        order = np.argsort(keys)
        vectors = np.stack(list(vector_of.values())).astype(np.float32)
        return cls(keys[order], vectors[order], signature, contexts or TrainedContexts())

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str | list | tuple) and _key(text) in self.keys

    def encode(self, texts: Sequence[Text]) -> Vectors:
        """One vector per text; CallError if one has none. (texts, width)"""
        wanted = np.array([_key(text) for text in texts], np.uint64)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        missing = np.flatnonzero(self.keys[place] != wanted)
        if len(missing):
            shown = str(texts[missing[0]])[:60]
            raise CallError(f"no vector is stored for {len(missing)} of {len(texts)} texts; the first is {shown!r}")
        return self.vectors[place]

    def save(self, folder: str | Path) -> None:
        """Write what `load` needs into a folder: config.json and array files."""
        with replacing_folder(Path(folder), self.kind) as fresh:
            write_arrays(fresh / ARRAYS, {"keys": self.keys, "vectors": self.vectors})
            write_arrays(fresh / CONTEXTS, {"keys": self.trained_contexts.keys})
            config = {"name": self.name, "parameters": {}, "fit": {}, "signature": self.signature}
            write_config(fresh, config)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The vectors that were saved in a folder."""
        home = Path(folder)
        signature = typed(read_config(home, cls.kind).get("signature", ""), str, str(home / CONFIG), "signature")
        expected = {"keys": Array("i", ("texts",), low=0, increasing=True), "vectors": Array("f", ("texts", "width"))}
        arrays = read_arrays(home / ARRAYS, expected)
        return cls(arrays["keys"].astype(np.uint64), arrays["vectors"], signature, read_contexts(home))


def _key(text: Text) -> int:
    """A hash of a text; an utterance and a context of that one turn have the same, as in `ReplyModel.encode`."""
    turns = (text,) if isinstance(text, str) else text
    joined = "\x1f".join(turns).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(joined, digest_size=8).digest())
