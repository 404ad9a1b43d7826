"""docs/reference/metrics.md compared with the code: every name is there, with its parameters and defaults."""

from __future__ import annotations

import re

import pytest

from places import DOCS
from rejoinder.metrics.base import Metric, plain
from rejoinder.registry import ALIASES, METRICS, load

PAGE = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*METRICS, *ALIASES])
def test_every_name_is_in_the_table(name: str) -> None:
    table = PAGE[: PAGE.index("**Read this first.**")]
    first_and_last = re.findall(r"`(bleu)-(\d)` \.\. `bleu-(\d)`", table)
    ranged = {f"{base}-{n}" for base, low, high in first_and_last for n in range(int(low), int(high) + 1)}
    assert f"`{name}`" in table or name in ranged


@pytest.mark.parametrize("name", METRICS)
def test_parameters_and_defaults(name: str) -> None:
    metric: Metric = load(name)
    # The two other embedding metrics have the parameters of the first.
    written = re.search(rf"^`{ALIKE.get(name, name)}\((.*)\)`", PAGE, re.MULTILINE)
    assert written is not None
    given = dict(part.split("=") for part in written[1].split(", ") if part)
    assert given == {key: "" if value is None else shown(value) for key, value in metric.parameters.items()}


ALIKE = {"vector-extrema": "embedding-average", "greedy-matching": "embedding-average"}


def shown(value: object) -> str:
    return plain(int(value)) if isinstance(value, float) and value == int(value) else plain(value)
