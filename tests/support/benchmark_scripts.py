"""Scripts of benchmarks/ as modules, for short runs in tests."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from places import ROOT


def benchmark_script(name: str) -> Any:
    """The module of benchmarks/name.py; skips the test where it is absent."""
    path = ROOT / "benchmarks" / f"{name}.py"
    if not path.exists():
        pytest.skip(f"needs benchmarks/{name}.py")
    specification = importlib.util.spec_from_file_location(f"benchmark_{name}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module
    sys.path.append(str(path.parent))  # a script may import others beside it
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
