"""Optional extras of the package: whether one is installed, and the error that says how to install it."""

from __future__ import annotations

from importlib.util import find_spec

from rejoinder.errors import MissingExtraError

EXTRAS = {
    "train": ("torch", "transformers", "accelerate", "sklearn", "gensim", "onnx", "onnxscript"),
    "retrieval": ("faiss",),
    "chinese": ("jieba",),
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
