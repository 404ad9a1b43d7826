"""Sentence encoders by name or folder: pretrained, averaged word vectors, or vectors stored in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ragged, Vectors
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError
from rejoinder.folders.array_schema import Array
from rejoinder.folders.saved import read_arrays, replacing_folder, write_arrays, write_config
from rejoinder.folders.schema import CONFIG, checked_member, opening, read_config, read_json, typed
from rejoinder.folders.sources import find_pretrained, offline, require_extra
from rejoinder.learning.learned import ARRAYS, CONTEXTS, read_contexts
from rejoinder.registry import load_sentence_encoder
from rejoinder.text.vectors import WordVectors

if TYPE_CHECKING:
    from rejoinder.models.text_encoder import TextEncoder

# Sentence encoders by name or folder: pretrained models that turn utterances and contexts into vectors.
#
# An encoder is the folder of a reply model with an encoder (hred, vhred, ...), of tweet2vec, of skip-thought or of
# stored vectors; or a pretrained encoder by its Hugging Face name or folder.


KIND = "sentence encoder"


class SentenceEncoder(Protocol):
    """Texts to vectors; it can be saved, and loaded with `sentence_encoder`."""

    @property
    def name(self) -> str:
        """The kind of encoder: vhred, tweet2vec, pretrained, ..."""

    @property
    def signature(self) -> str:
        """Everything that determines its vectors, in one line."""

    @property
    def trained_contexts(self) -> TrainedContexts:
        """The contexts that it was trained on, as far as they are known."""

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector per text or context. (texts, width)"""

    def save(self, folder: str | Path) -> None:
        """Write what loading needs."""


@dataclass(frozen=True, eq=False)
class PretrainedEncoder:
    """A Hugging Face encoder; the turns of a context are read as one text."""

    name: ClassVar[str] = "pretrained"

    encoder: TextEncoder
    signature: str
    trained_contexts: TrainedContexts
    """Empty: the training data of a pretrained encoder is not known."""

    @classmethod
    def start(cls, name_or_folder: str, max_length: int) -> Self:
        """Load a pretrained encoder by its Hugging Face name or folder."""
        from rejoinder.models.text_encoder import TextEncoder

        encoder = TextEncoder.start(name_or_folder, max_length)
        signature = f"{cls.name}|{_weights_digest(Path(name_or_folder)) or name_or_folder}|max_length:{max_length}"
        return cls(encoder, signature, TrainedContexts())

    def encode(self, texts: Sequence[str | Sequence[str]]) -> Vectors:
        """One vector of length 1 per text or context. (texts, width)"""
        return self.encoder.encode([text if isinstance(text, str) else " ".join(text) for text in texts])

    def save(self, folder: str | Path) -> None:
        """Write tokeniser, architecture and weights."""
        with replacing_folder(Path(folder), KIND) as fresh:
            self.encoder.save(fresh)
            parameters = {"max_length": self.encoder.max_length}
            write_config(fresh, {"name": self.name, "parameters": parameters, "fit": {}, "signature": self.signature})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """What `save` wrote."""
        from rejoinder.models.text_encoder import TextEncoder

        folder, file = Path(folder), str(Path(folder) / CONFIG)
        with offline(), opening(folder):
            config = read_config(folder, KIND)
            max_length = checked_member(config["parameters"], "max_length", int, file, "parameters")
            signature = typed(config.get("signature"), str, file, "signature")
            return cls(TextEncoder.load(folder, max_length), signature, TrainedContexts())


def sentence_encoder(name_or_folder: str, max_length: int = 128) -> SentenceEncoder:
    """The encoder of a name or folder; the last two are cached.

    `max_length` is how many tokens of a text a pretrained encoder reads; others have their own limits.
    """
    config = Path(name_or_folder) / CONFIG
    changed = config.stat().st_mtime_ns if config.is_file() else 0
    return _opened(name_or_folder, max_length, changed)


def encoder_digest(name_or_folder: str) -> str:
    """A short hash of everything that determines an encoder's vectors; empty for a name that is not a local folder."""
    folder = Path(name_or_folder)
    if is_ours(folder):
        return signature_digest(str(read_config(folder, KIND).get("signature", "")))
    return _weights_digest(folder)


def signature_digest(signature: str) -> str:
    """A short hash of an encoder's signature."""
    return blake2b(signature.encode(), digest_size=6).hexdigest()


# An experiment fits the same evaluator many times.
@lru_cache(maxsize=2)
def _opened(name_or_folder: str, max_length: int, changed: int) -> SentenceEncoder:  # noqa: ARG001 - part of the key
    folder = Path(name_or_folder)
    if not is_ours(folder):
        find_pretrained(name_or_folder)
        require_extra("train", "a pretrained encoder")
        return PretrainedEncoder.start(name_or_folder, max_length)
    return opened_folder(folder)


def opened_folder(folder: Path) -> SentenceEncoder:
    """The encoder that was saved in a folder by this package."""
    if read_config(folder, KIND)["name"] != StoredVectors.name:
        require_extra("train", "a trained encoder")
    encoder: Any = load_sentence_encoder(folder)
    if not getattr(encoder, "has_encoder", True):
        raise CallError(f"{folder} holds the reply model {encoder.name!r}, which has no encoder")
    found: SentenceEncoder = encoder
    return found


def is_ours(folder: Path) -> bool:
    """Whether config.json was written by this package; a pretrained encoder has a file of the same name."""
    path = folder / CONFIG
    if not path.is_file():
        return False
    return {"name", "parameters", "fit"} <= read_json(path).keys()


def _weights_digest(folder: Path) -> str:
    """A hash of the files of weights and tokeniser; empty if there are none."""
    paths = sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin"), *folder.glob("tokenizer.json")])
    return _files_digest(tuple((path, path.stat().st_mtime_ns) for path in paths)) if folder.is_dir() and paths else ""


@lru_cache(maxsize=8)
def _files_digest(files: tuple[tuple[Path, int], ...]) -> str:
    found = blake2b(digest_size=6)
    for path, _ in files:
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


# Vectors of texts that were computed before, by any encoder: scoring with them needs no network.
#
# An experiment that fits an evaluator a hundred times encodes each text once; vectors of a model that runs
# elsewhere can be used in the same way.


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
        folder = Path(folder)
        signature = typed(read_config(folder, cls.kind).get("signature", ""), str, str(folder / CONFIG), "signature")
        expected = {"keys": Array("i", ("texts",), low=0, increasing=True), "vectors": Array("f", ("texts", "width"))}
        arrays = read_arrays(folder / ARRAYS, expected)
        return cls(arrays["keys"].astype(np.uint64), arrays["vectors"], signature, read_contexts(folder))


def _key(text: Text) -> int:
    """A hash of a text; an utterance and a context of that one turn have the same, as in `ReplyModel.encode`."""
    turns = (text,) if isinstance(text, str) else text
    joined = "\x1f".join(turns).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(joined, digest_size=8).digest())


# Word vectors learned from the training corpus, with gensim's word2vec (Mikolov et al. 2013).


CORPUS = "corpus"
"""The name of these word vectors in the options."""


@dataclass(frozen=True, kw_only=True)
class Word2VecTraining:
    """How word vectors are learned; everything else is gensim's default."""

    dims: int = 50
    """As in Tao et al. 2018 [RUBER], section 4.1."""
    window: int = 5
    epochs: int = 5
    negatives: int = 5


def learned_vectors(words: Sequence[str], texts: Ragged, how: Word2VecTraining, seed: int) -> WordVectors:
    """One skip-gram vector per word of a vocabulary; the same for the same texts and seed.

    `texts` are codes into `words`; negative codes are ignored.
    """
    require_extra("train", "learning word vectors")
    from gensim.models import Word2Vec

    sentences = [[str(code) for code in text.tolist() if code >= 0] for text in texts]
    model = Word2Vec(
        sentences,
        vector_size=how.dims,
        window=how.window,
        negative=how.negatives,
        epochs=how.epochs,
        sg=1,
        min_count=1,
        seed=seed % 2**32,  # gensim accepts no larger one
        workers=1,  # with several threads the result would depend on their timing
    )
    matrix = np.zeros((len(words), how.dims), np.float32)
    for code in range(len(words)):
        place = model.wv.key_to_index.get(str(code))
        if place is not None:
            matrix[code] = model.wv.vectors[place]
    return WordVectors.of(list(words), matrix, name=CORPUS)
