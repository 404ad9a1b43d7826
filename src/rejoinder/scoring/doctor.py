"""What is installed, and whether it works: versions, extras, execution providers, and the weights in the package."""

from __future__ import annotations

import base64
import hashlib
import math
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from rejoinder._version import __version__
from rejoinder.folders.sources import EXTRAS
from rejoinder.options import verb
from rejoinder.scoring.score import metric_of
from rejoinder.show.document import Document, Result, Say, Table
from rejoinder.types import Example

SHIPPED = {
    "default": "the default evaluator",
    "default-fast": "the small evaluator",
    "embedding-average": "word vectors",
    "meteor": "WordNet's synonyms",
}
"""Metric -> the data in the package that it reads."""

_EXAMPLE = Example("1", ("Do you want some tea?",), "Yes, a cup of tea please.", ("Yes, please.",))
_WHOLE = "whole"


@dataclass(frozen=True, repr=False)
class Installation(Result):
    """What was found."""

    version: str
    python: str
    system: str
    packages: Mapping[str, str]
    """Package that the core needs -> its version; "missing" where it is not installed."""
    extras: Mapping[str, tuple[str, ...]]
    """Extra -> the modules of it that are missing."""
    providers: tuple[str, ...]
    """What ONNX Runtime can compute on."""
    data: Mapping[str, str]
    """What comes with the package -> "whole", or what is wrong with it."""
    damaged: tuple[str, ...] | None
    """Files of the package that differ from those that were installed; None where their digests are not known."""

    @property
    def problems(self) -> list[str]:
        """What has to be put right, one sentence each."""
        return [
            *(f"{name} is missing: pip install {name}" for name, found in self.packages.items() if found == "missing"),
            *(f"{what} cannot be used: {state}" for what, state in self.data.items() if state != _WHOLE),
            *(f"{file} differs from the file that was installed: reinstall rejoinder" for file in self.damaged or ()),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "problems": self.problems}

    def document(self) -> Document:
        """Versions, extras, execution providers, and the state of the data in the package."""
        digests = "not known (an editable installation)" if self.damaged is None else f"{len(self.damaged)} differ"
        title = f"rejoinder {self.version}, Python {self.python}, {self.system}"
        data = [
            f"ONNX Runtime computes on: {', '.join(self.providers) or 'unknown'}",
            *(f"{what}: {state}" for what, state in self.data.items()),
            f"digests of the installed files: {digests}",
        ]
        extras = [_extra_line(extra, missing) for extra, missing in self.extras.items()]
        packages = [f"{name} {version}" for name, version in self.packages.items()]
        lines = [Say(some, lines=True, fit=False) for some in ([title], packages, extras, data)]
        return Document(title, [*lines, Table(["package", "version"], [*self.packages.items()], only=("latex",))])


@verb
def doctor() -> Installation:
    """What is installed, and whether it works; every evaluator in the package is loaded, and scores one reply."""
    return Installation(
        version=__version__,
        python=platform.python_version(),
        system=platform.platform(),
        packages={name: _version(name) for name in _core_packages()},
        extras={extra: tuple(name for name in names if find_spec(name) is None) for extra, names in EXTRAS.items()},
        providers=_providers(),
        data={what: _state(metric) for metric, what in SHIPPED.items()},
        damaged=_damaged(),
    )


def _extra_line(extra: str, missing: tuple[str, ...]) -> str:
    if not missing:
        return f"extra [{extra}]: installed"
    return f"extra [{extra}]: without {', '.join(missing)}; pip install 'rejoinder[{extra}]'"


def _core_packages() -> list[str]:
    """The packages that the core needs."""
    try:
        required = metadata.requires("rejoinder") or []
    except metadata.PackageNotFoundError:  # run from a checkout
        return []
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def _providers() -> tuple[str, ...]:
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        return ()
    return tuple(onnxruntime.get_available_providers())


def _state(metric: str) -> str:
    """Whether the metric loads and scores a reply."""
    try:
        (score,) = metric_of(metric).score([_EXAMPLE]).tolist()
    except Exception as error:  # what a damaged file causes depends on the library that reads it
        return f"{type(error).__name__}: {error}"
    return _WHOLE if math.isfinite(score) else "gives no score"


def _damaged() -> tuple[str, ...] | None:
    """Data files whose SHA-256 is not the one that the installer recorded; None where none was recorded."""
    try:
        files = metadata.files("rejoinder") or []
    except metadata.PackageNotFoundError:
        files = []
    recorded = [file for file in files if "resources" in file.parts and file.hash and file.hash.mode == "sha256"]
    if not recorded:
        return None
    return tuple(str(file) for file in recorded if _digest(file) != getattr(file.hash, "value", None))


def _digest(file: metadata.PackagePath) -> str:
    """The digest as installers record it; "" where the file is gone."""
    try:
        content = file.read_binary()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
