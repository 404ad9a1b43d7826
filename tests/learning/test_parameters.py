"""Parameters that make no sense are refused in the same words everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from rejoinder.errors import CallError
from rejoinder.options import check_least, check_rates, check_scale


@dataclass
class Small:
    name: ClassVar[str] = "small"
    steps: int | None = 3
    rate: float = 0.5


def test_what_makes_sense_passes() -> None:
    check_least(Small(), {"steps": 3})
    check_least(Small(steps=None), {"steps": 3})
    check_rates(Small(rate=1.0), "rate")
    check_scale(Small(), None)
    check_scale(Small(), (0.0, 1.0))


def test_a_parameter_below_its_least() -> None:
    with pytest.raises(CallError, match=r"^small: steps must be at least 4, not 3$"):
        check_least(Small(), {"rate": 0, "steps": 4})


NOT_FINITE = [float("nan"), float("inf"), -float("inf"), np.float32("nan")]


@pytest.mark.parametrize("value", ["many", True, (1,), *NOT_FINITE])
def test_a_word_is_no_number(value: Any) -> None:
    with pytest.raises(CallError, match=r"^small: steps must be a number, not "):
        check_least(Small(steps=value), {"steps": 1})
    with pytest.raises(CallError, match=r"^small: rate must be a number, not "):
        check_rates(Small(rate=value), "rate")
    numpys: Any = np.int64(3)
    check_least(Small(steps=numpys), {"steps": 3})


@pytest.mark.parametrize(("value", "said"), [(float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "-inf")])
def test_what_is_not_finite_has_one_message(value: float, said: str) -> None:
    with pytest.raises(CallError, match=rf"^small: rate must be a number, not {said}$"):
        check_least(Small(rate=value), {"rate": 0})
    with pytest.raises(CallError, match=rf"^small: rate must be a number, not {said}$"):
        check_rates(Small(rate=value), "rate")


def test_what_is_counted_has_no_fractions() -> None:
    half: Any = 3.5
    with pytest.raises(CallError, match=r"^small: steps must be a whole number, not 3\.5$"):
        check_least(Small(steps=half), {"steps": 1})
    whole: Any = 4.0
    check_least(Small(steps=whole, rate=1), {"steps": 1, "rate": 0.5})


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.5])
def test_a_rate_is_above_0_and_at_most_1(rate: float) -> None:
    with pytest.raises(CallError, match=rf"^small: rate must be above 0 and at most 1, not {rate}$"):
        check_rates(Small(rate=rate), "rate")


@pytest.mark.parametrize("scale", [(1.0,), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0, 3.0), (1.0, np.inf), (-np.inf, 1.0)])
def test_a_scale_goes_upwards(scale: tuple[float, ...]) -> None:
    with pytest.raises(CallError, match=r"^small: scale must be the lowest score and a higher one, not "):
        check_scale(Small(), scale)
