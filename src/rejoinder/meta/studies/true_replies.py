"""Which replies are the true ones: what a person really answered, rather than what a system made up.

A reply is true where it equals one of its references, but for case and spaces; or where its system is named like the
truth. A metric that compares with references scores the first kind at its maximum, whatever the metric is worth, so
studies of what metrics make of replies leave those out, as the papers' data do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.meta.studies.wording import replies
from rejoinder.types import Example

TRUE_SYSTEMS = frozenset({"ground truth", "original ground truth", "human", "true", "true reply", "true response"})
"""Names in lower case, with spaces between words."""


def own_references(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Which replies equal one of their references."""
    return np.array([_equals_a_reference(example) for example in examples], np.bool_)


def of_true_systems(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Which replies come from a system that is named like the truth."""
    return np.array([_is_true(example.system) for example in examples], np.bool_)


def left_out(own: NDArray[np.bool_]) -> str:
    """The sentence that says how many replies a study leaves out; nothing where there are none."""
    count = int(own.sum())
    verbs = ("equals", "is") if count == 1 else ("equal", "are")
    return f" {replies(count)} that {verbs[0]} a reference {verbs[1]} left out." if count else ""


def _equals_a_reference(example: Example) -> bool:
    return _plain(example.response) in {_plain(reference) for reference in example.references}


def _is_true(system: str) -> bool:
    return " ".join(re.findall(r"\w+", system.lower().replace("_", " "))) in TRUE_SYSTEMS


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
