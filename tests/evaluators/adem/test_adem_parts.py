"""The parts of a fitted ADEM, its trend with length in a file, and the least values of its parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planted_scores import GIVEN, examples, judged, stored
from rejoinder.errors import CallError, DataError
from rejoinder.evaluators.adem.adem import Adem, ContextAdem, LengthTrend, ReferenceAdem


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Adem:
    encoder = stored(examples(), tmp_path_factory.mktemp("parts") / "vectors")
    return Adem(encoder=encoder, debias=True, **GIVEN).fit((), judged(examples(), encoder))


@pytest.mark.parametrize(("name", "kind"), [("context", ContextAdem), ("reference", ReferenceAdem)])
def test_a_part_keeps_the_trend_with_length_and_says_so(fitted: Adem, name: str, kind: type[Adem]) -> None:
    part = fitted.part(name)
    assert type(part) is kind
    assert part.length_ is None
    assert not part.debias


@pytest.mark.parametrize("means", [(), (1.0,), (1.0, 2.0, 3.0)])
def test_parts_need_one_mean_for_each(fitted: Adem, means: tuple[float, ...]) -> None:
    other = fitted.clone()
    learned = {name: getattr(fitted, name) for name in ("encoder_", "projection_", "length_", "setting_")}
    other._remember({**learned, "bilinear_": replace(fitted.bilinear_, means=means)}, fitted.fitted)
    with pytest.raises(CallError, match="train it again"):
        other.part("context")


@pytest.mark.parametrize("columns", [2, 3])
def test_a_trend_is_read_as_it_was_written(columns: int) -> None:
    trend = LengthTrend((0.5, -0.1, 0.2)[:columns], (1.0, 2.0, 3.0)[:columns], apart=columns == 3)
    plain = {**trend.plain, "weights": list(trend.weights), "means": list(trend.means)}  # as JSON has it
    assert LengthTrend.of_plain(plain, "config.json") == trend
    for name in ("weights", "means"):
        with pytest.raises(DataError, match="one weight and one mean per column"):
            LengthTrend.of_plain({**plain, name: plain[name][1:]}, "config.json")


def test_the_least_values_are_allowed(tmp_path: Path) -> None:
    least = Adem(encoder=str(tmp_path), components=1, batch=1, epochs=1, gamma=0.0)
    assert (least.components, least.batch, least.epochs) == (1, 1, 1)
