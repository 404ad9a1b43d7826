"""What the tests of several engines share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture
def one_blas_thread() -> Iterator[None]:
    """numpy multiplies matrices on one thread, as on the command line and in every worker: on several, bits differ."""
    with threadpool_limits(1, user_api="blas"):
        yield
