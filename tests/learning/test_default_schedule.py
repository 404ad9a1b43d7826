"""What a schedule does unless it is told otherwise."""

from __future__ import annotations

import pytest

from rejoinder.learning.schedules import Schedule


def test_the_rate_rises_in_a_tenth_of_the_steps() -> None:
    schedule = Schedule(learning_rate=1.0, batch=1, epochs=1)
    assert [schedule.rate(step, 20, 0) for step in (0, 1, 2, 11)] == pytest.approx([0.5, 1.0, 1.0, 0.5])
