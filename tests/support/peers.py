"""Other tools' packages, for tests of what is written for them.

Their requirements clash with each other's, so that each test is skipped where its package is absent. To run one, make
an environment of its own: `python -m venv DEEPEVAL && DEEPEVAL/bin/pip install deepeval 'rejoinder[test]'`, and
`DEEPEVAL/bin/python -m pytest tests/integrations`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


def peer(name: str, *parts: str) -> Any:
    """The package, with some of its modules imported; the test is skipped where it is not installed."""
    if find_spec(name) is None:
        pytest.skip(f"peer package {name} is not installed")
    for part in parts:
        import_module(part)
    return import_module(name)
