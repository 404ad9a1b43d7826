"""Held-out groups and folds of groups."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder.errors import NeedsError
from rejoinder.learning.data import drawn_groups, fold_of_groups, held_out

GROUPS = np.repeat([f"context {number}" for number in range(40)], np.arange(40) % 4 + 1)


def test_whole_groups_are_held_out() -> None:
    held = held_out(GROUPS, 0.25, 3)
    assert len(set(GROUPS[held])) == 10
    assert not set(GROUPS[held]) & set(GROUPS[~held])
    np.testing.assert_array_equal(held, held_out(GROUPS, 0.25, 3))
    np.testing.assert_array_equal(held, drawn_groups(GROUPS, 10, 3))
    assert drawn_groups(GROUPS, 41, 3).all()
    assert not np.array_equal(held, held_out(GROUPS, 0.25, 4))


def test_the_largest_number_of_groups_and_the_fewest_to_hold_out() -> None:
    assert len(set(GROUPS[held_out(GROUPS, 0.25, 3, most=4)])) == 4
    assert not held_out(GROUPS, 0.25, 3, fewest=41).any()
    assert held_out(GROUPS, 0.25, 3, fewest=40).any()


@pytest.mark.parametrize("by_size", [True, False])
def test_folds_share_no_group(by_size: bool) -> None:
    fold_of = fold_of_groups(GROUPS, 5, 0, by_size=by_size)
    assert set(fold_of) == set(range(5))
    assert all(len(set(fold_of[group == GROUPS])) == 1 for group in set(GROUPS))
    sizes = np.bincount(fold_of)
    groups = [len(set(GROUPS[fold_of == fold])) for fold in range(5)]
    if by_size:
        assert sizes.max() - sizes.min() <= 4  # the largest group
    else:
        assert groups == [8] * 5


def test_too_few_groups() -> None:
    with pytest.raises(NeedsError, match="2 contexts cannot be split into 3 folds"):
        fold_of_groups(["a", "b", "a"], 3, 0)
