"""The choice between the models of a blend, and how it is compared with one of them."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.arrays import Floats
from rejoinder.evaluators.blend import fitting
from rejoinder.evaluators.blend.columns import LabelledRows
from rejoinder.evaluators.blend.fitting import compared

SETS, HUMAN = np.repeat(np.arange(3), 4), np.tile(np.arange(1.0, 5), 3)
RIGHT, WRONG = np.arange(1.0, 5), np.arange(4.0, 0, -1) / 2  # the mean of both is in the right order
PREDICTED = {
    "ridge": np.concatenate([RIGHT, WRONG, WRONG]),
    "trees": np.concatenate([WRONG, RIGHT, RIGHT]),
}


def labelled() -> LabelledRows:
    """Twelve contexts in three sets."""
    return LabelledRows(np.empty((12, 0)), (), np.empty(0, np.int64), HUMAN, HUMAN, np.ones(12), SETS, np.arange(12))


@pytest.fixture(autouse=True)
def predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions that need no fit."""

    def given(data: LabelledRows, kinds: tuple[str], hold_out: str, seed: int) -> Floats:
        return PREDICTED[kinds[0]]

    monkeypatch.setattr(fitting, "held_out_predictions", given)


def test_the_model_of_a_fold_is_chosen_on_all_other_folds() -> None:
    found = fitting.choose_models(labelled(), ("ridge", "trees"), "sets", 0)
    mean = (PREDICTED["ridge"] + PREDICTED["trees"]) / 2
    # Trees are right in sets 1 and 2, and so they are chosen for set 0. For the others only the mean is always right.
    np.testing.assert_array_equal(found.held_out, np.concatenate([PREDICTED["trees"][:4], mean[4:]]))
    assert found.kinds == ("ridge", "trees")
    np.testing.assert_array_equal(found.chosen, mean)


def test_a_single_kind_is_chosen_as_it_is() -> None:
    found = fitting.choose_models(labelled(), ("trees",), "sets", 0)
    assert found.kinds == ("trees",)
    np.testing.assert_array_equal(found.held_out, PREDICTED["trees"])


def test_the_interval_of_a_difference() -> None:
    rows = np.arange(20.0)
    # In every resample the first column has a correlation of -1 and the second of 1.
    second, difference = compared(-rows, rows, rows, np.zeros(20, np.int64), np.arange(20))
    assert (second.low, second.estimate, second.high) == pytest.approx((1, 1, 1))
    assert (difference.low, difference.estimate, difference.high) == pytest.approx((2, 2, 2))
