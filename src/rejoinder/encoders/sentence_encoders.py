"""Sentence encoders by name or folder: pretrained models that turn utterances and contexts into vectors.

An encoder is the folder of a reply model with an encoder (hred, vhred, ...), of tweet2vec, of skip-thought or of stored
vectors; or a pretrained encoder by its Hugging Face name or folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from rejoinder.arrays import Vectors
from rejoinder.data.contexts import TrainedContexts
from rejoinder.encoders.stored_vectors import StoredVectors
from rejoinder.errors import CallError
from rejoinder.learning.extras import require_extra
from rejoinder.learning.saving import replacing_folder, write_config
from rejoinder.loading.schema import member, opening, read_json, typed
from rejoinder.loading.sources import find_pretrained, offline
from rejoinder.model_folder import CONFIG, read_config
from rejoinder.registry import load_sentence_encoder

if TYPE_CHECKING:
    from rejoinder.encoders.text_encoder import TextEncoder

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
        from rejoinder.encoders.text_encoder import TextEncoder

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
        from rejoinder.encoders.text_encoder import TextEncoder

        home, file = Path(folder), str(Path(folder) / CONFIG)
        with offline(), opening(home):
            config = read_config(home, KIND)
            max_length = member(config["parameters"], "max_length", int, file, "parameters")
            signature = typed(config.get("signature"), str, file, "signature")
            return cls(TextEncoder.load(home, max_length), signature, TrainedContexts())


def sentence_encoder(name_or_folder: str, max_length: int = 128) -> SentenceEncoder:
    """The encoder of a name or folder; the last two are cached.

    `max_length` is how many tokens of a text a pretrained encoder reads; others have their own limits.
    """
    config = Path(name_or_folder) / CONFIG
    changed = config.stat().st_mtime_ns if config.is_file() else 0
    return _opened(name_or_folder, max_length, changed)


def encoder_digest(name_or_folder: str) -> str:
    """A short hash of everything that determines an encoder's vectors; empty for a name that is not a local folder."""
    home = Path(name_or_folder)
    if is_ours(home):
        return signature_digest(str(read_config(home, KIND).get("signature", "")))
    return _weights_digest(home)


def signature_digest(signature: str) -> str:
    """A short hash of an encoder's signature."""
    return blake2b(signature.encode(), digest_size=6).hexdigest()


# A study fits the same evaluator many times.
@lru_cache(maxsize=2)
def _opened(name_or_folder: str, max_length: int, changed: int) -> SentenceEncoder:  # noqa: ARG001 - part of the key
    home = Path(name_or_folder)
    if not is_ours(home):
        find_pretrained(name_or_folder)
        require_extra("train", "a pretrained encoder")
        return PretrainedEncoder.start(name_or_folder, max_length)
    return opened_folder(home)


def opened_folder(home: Path) -> SentenceEncoder:
    """The encoder that was saved in a folder by this package."""
    if read_config(home, KIND)["name"] != StoredVectors.name:
        require_extra("train", "a trained encoder")
    encoder: Any = load_sentence_encoder(home)
    if not getattr(encoder, "has_encoder", True):
        raise CallError(f"{home} holds the reply model {encoder.name!r}, which has no encoder")
    found: SentenceEncoder = encoder
    return found


def is_ours(home: Path) -> bool:
    """Whether config.json was written by this package; a pretrained encoder has a file of the same name."""
    path = home / CONFIG
    if not path.is_file():
        return False
    return {"name", "parameters", "fit"} <= read_json(path).keys()


def _weights_digest(home: Path) -> str:
    """A hash of the files of weights and tokeniser; empty if there are none."""
    paths = sorted([*home.glob("*.safetensors"), *home.glob("*.bin"), *home.glob("tokenizer.json")])
    return _files_digest(tuple((path, path.stat().st_mtime_ns) for path in paths)) if home.is_dir() and paths else ""


@lru_cache(maxsize=8)
def _files_digest(files: tuple[tuple[Path, int], ...]) -> str:
    found = blake2b(digest_size=6)
    for path, _ in files:
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()
