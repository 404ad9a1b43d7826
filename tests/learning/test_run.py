"""Settings of a training run that make no sense are refused."""

from __future__ import annotations

from typing import Any

import pytest

from rejoinder.errors import CallError
from rejoinder.learning.run import TrainingRun


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"minutes": 0}, "minutes of training must be a number above 0, not 0"),
        ({"save_every": 0}, "save_every must be a whole number of at least 1, not 0"),
        ({"mixed_precision": "bf61"}, "mixed precision 'bf61'.*did you mean bf16"),
    ],
)
def test_wrong_settings(setting: dict[str, Any], problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        TrainingRun(**setting)
