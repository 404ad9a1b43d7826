"""AM-FM on a tenth of DSTC6, trained on references of other items; the whole of it: docs/results/am-fm-dstc6.md."""

from __future__ import annotations

import numpy as np
import pytest

from places import JUDGED
from rejoinder.data.judged import read_judged
from rejoinder.evaluators.am_fm import AmFm
from rejoinder.types import Dialogue

pytest.importorskip("sklearn", reason="learning a semantic space needs scikit-learn")


# All 2,000 items: r = .892 over 20 systems, .484 without S_20 (docs/results/am-fm-dstc6.md); D'Haro et al. 2019: .891.
@pytest.mark.slow
@pytest.mark.shared_data
def test_systems_are_ranked_as_published() -> None:
    path = JUDGED / "dstc6_t2.jsonl.gz"
    if not path.exists():
        pytest.skip("needs dstc6_t2 of ../shared/data")
    judged = read_judged(path)
    item = np.array([int(example.context_id) for example in judged.examples])
    references = {int(example.context_id): example.references for example in judged.examples}
    text = [Dialogue(str(n), (each,)) for n in range(1000) for each in references[n]]
    rows = np.flatnonzero((item >= 1000) & (item < 1200))
    scores = AmFm(tokenise="whitespace").fit(text).score([judged.examples[row] for row in rows.tolist()])
    names, system = np.unique(judged.systems[rows], return_inverse=True)
    ours, human = (np.bincount(system, column) / 200 for column in (scores, judged.human("overall")[rows]))
    assert len(names) == 20
    assert names[np.argmin(ours)] == "S_20"
    assert np.corrcoef(ours, human)[0, 1] > 0.8
    kept = names != "S_20"
    assert np.corrcoef(ours[kept], human[kept])[0, 1] < 0.75, "one system carries much of it"
