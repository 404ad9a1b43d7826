"""What would make training faster, for everything that can be trained."""

from __future__ import annotations

import pytest

from rejoinder.cli.parameters import fields_of
from rejoinder.cli.train import faster_ways
from rejoinder.registry import TRAINABLE, trainable_class

NAMES = [name for purposes in TRAINABLE.values() for name in purposes]


@pytest.mark.parametrize("name", [name for name in NAMES if trainable_class(name).trains_in_steps])
def test_each_model_that_trains_in_steps_has_an_option_for_less(name: str) -> None:
    ways = faster_ways([parameter.name for parameter in fields_of(trainable_class(name))], {}, None)
    assert ways[0].startswith("fewer --")
    assert ways[-1] == "a time limit, --minutes N"


def test_ways_depend_on_what_was_given() -> None:
    assert faster_ways(["preset", "steps", "in_batch_steps"], {"preset": "paper"}, 30.0) == (
        "without --preset paper",
        "fewer --in-batch-steps or --steps",
        "a shorter --minutes",
    )
    assert faster_ways(["preset"], {"preset": "cpu"}, None, trains_in_steps=False) == ()
