"""Optional parts of the package: whether one is installed, and the error that says how to get it."""

from __future__ import annotations

from importlib.util import find_spec

from rejoinder.errors import MissingExtraError

_MODULES = {
    "train": ("torch", "transformers", "accelerate", "sklearn", "gensim", "onnx", "onnxscript"),
    "retrieval": ("faiss",),
    "chinese": ("jieba",),
}


def has_extra(extra: str) -> bool:
    """Whether every module of an optional part can be imported; nothing is imported to find out."""
    return all(find_spec(module) is not None for module in _MODULES[extra])


def require_extra(extra: str, what: str) -> None:
    """Raise a MissingExtraError, which says how to install it, where an optional part is missing."""
    if not has_extra(extra):
        raise MissingExtraError(what, extra)
