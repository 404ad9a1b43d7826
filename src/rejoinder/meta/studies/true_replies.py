"""Which replies are the true ones: what a person really answered, rather than what a system generated.

A reply is true where it equals one of its references, up to case and spaces, or where its system has a name such as
"ground truth". A metric that compares with references gives replies of the first kind its maximum, however good or bad
the metric is, so studies of metrics leave them out, as the papers' data do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.meta.studies.wording import replies
from rejoinder.types import Example

TRUE_SYSTEMS = frozenset({"ground truth", "original ground truth", "human", "true", "true reply", "true response"})
"""Names of systems whose replies are true ones, in lower case with spaces between words."""


def own_references(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Which replies equal one of their references."""
    return np.array([_equals_a_reference(example) for example in examples], np.bool_)


def of_true_systems(examples: Sequence[Example]) -> NDArray[np.bool_]:
    """Which replies come from a system with a name such as "ground truth"."""
    return np.array([_is_true(example.system) for example in examples], np.bool_)


def left_out(own: NDArray[np.bool_]) -> str:
    """The sentence that says how many replies a study leaves out; empty where there are none."""
    count = int(own.sum())
    verbs = ("equals", "is") if count == 1 else ("equal", "are")
    return f" {replies(count)} that {verbs[0]} a reference {verbs[1]} left out." if count else ""


def _equals_a_reference(example: Example) -> bool:
    return _plain(example.response) in {_plain(reference) for reference in example.references}


def _is_true(system: str) -> bool:
    return " ".join(re.findall(r"\w+", system.lower().replace("_", " "))) in TRUE_SYSTEMS


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
