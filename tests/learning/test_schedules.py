"""Learning rates, by hand; and the paper's own figures."""

from __future__ import annotations

import pytest

from rejoinder.errors import CallError
from rejoinder.evaluators.encoder.model import PRESETS
from rejoinder.learning.schedules import Schedule


def test_warm_up_and_linear_decay() -> None:
    schedule = Schedule(learning_rate=1.0, batch=1, epochs=1, warm_up=0.2)
    rates = [schedule.rate(step, 10, 0) for step in range(10)]
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])


def test_plateaus() -> None:
    schedule = Schedule(learning_rate=3e-6, batch=3, epochs=2, decay="plateau")
    assert [schedule.rate(5, 10, plateaus) for plateaus in range(3)] == pytest.approx([3e-6, 3e-7, 3e-8])
    # Zhao et al. 2020, Appendix B: training stops when the rate is below 1e-7.
    assert [schedule.is_over(9, plateaus) for plateaus in range(3)] == [False, False, True]


def test_a_constant_rate() -> None:
    schedule = Schedule(learning_rate=0.5, batch=1, epochs=1, decay="constant", patience=2)
    assert {schedule.rate(step, 10, step) for step in range(10)} == {0.5}
    assert [schedule.is_over(looks, 9) for looks in range(3)] == [False, False, True]


def test_patience() -> None:
    schedule = Schedule(learning_rate=1.0, batch=1, epochs=1, patience=2)
    assert [schedule.is_over(looks, 9) for looks in range(4)] == [False, False, True, True]


def test_how_many_steps() -> None:
    schedule = Schedule(learning_rate=1.0, batch=1, epochs=3, most_steps=100)
    assert (schedule.total(20), schedule.total(50)) == (60, 100)


def test_the_paper_s_preset() -> None:
    # Zhao et al. 2020, Table 6: learning rate, batch size and epochs of both stages.
    paper = PRESETS["paper"]
    assert [(each.learning_rate, each.batch, each.epochs) for each in (paper.ranking, paper.regression)] == [
        (3e-6, 3, 2),
        (3e-6, 3, 50),
    ]
    assert {each.decay for each in (paper.ranking, paper.regression)} == {"plateau"}


@pytest.mark.parametrize("wrong", [{"learning_rate": 0}, {"batch": 0}, {"epochs": 0}, {"most_steps": -1}])
def test_schedules_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(CallError, match="a schedule needs"):
        Schedule(**{"learning_rate": 1.0, "batch": 1, "epochs": 1, **wrong})  # type: ignore[arg-type]
