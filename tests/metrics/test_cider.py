from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from rejoinder.errors import CallError
from rejoinder.metrics import hashes
from rejoinder.metrics.cider import Cider
from rejoinder.types import Example


@pytest.mark.parametrize("name", ["bundled", "real"])
def test_equals_pycocoevalcap(name: str, request: pytest.FixtureRequest) -> None:
    peer = pytest.importorskip("pycocoevalcap.cider.cider").Cider()
    examples: list[Example] = request.getfixturevalue(name)
    references = {e.id: list(e.references) for e in examples}
    _, expected = peer.compute_score(references, {e.id: [e.response] for e in examples})
    ours = Cider(tokenise="whitespace", lowercase=False)
    np.testing.assert_allclose(ours.score(examples), expected, atol=1e-6)


def ngrams(text: str, n: int) -> Counter[tuple[str, ...]]:
    words = text.split()
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


def test_plain_variant_equals_its_formula(bundled: list[Example]) -> None:
    examples = bundled[:80]
    seen: Counter[tuple[str, ...]] = Counter()
    for example in examples:
        seen.update({gram for text in example.references for n in (1, 2, 3, 4) for gram in ngrams(text, n)})

    def vector(text: str, n: int) -> dict[tuple[str, ...], float]:
        return {g: c * (math.log(len(examples)) - math.log(max(1, seen[g]))) for g, c in ngrams(text, n).items()}

    def cosine(left: dict[tuple[str, ...], float], right: dict[tuple[str, ...], float]) -> float:
        length = math.hypot(*left.values()) * math.hypot(*right.values())
        return sum(weight * right.get(gram, 0) for gram, weight in left.items()) / length if length else 0.0

    scores = Cider(variant="plain", tokenise="whitespace", lowercase=False).score(examples)
    for score, example in zip(scores, examples, strict=True):
        each = [
            np.mean([cosine(vector(example.response, n), vector(r, n)) for n in (1, 2, 3, 4)])
            for r in example.references
        ]
        assert score == pytest.approx(10 * np.mean(each), abs=1e-9)


def test_frequencies_that_spill_to_disk_are_the_same(bundled: list[Example], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Cider().score(bundled)
    monkeypatch.setattr(hashes, "_IN_MEMORY", 100)
    np.testing.assert_array_equal(Cider().score(bundled), expected)


def test_one_document_gives_no_weights() -> None:
    assert np.isnan(Cider().score([Example("1", (), "hello there", ("hello there",))])).all()


def test_must_see_the_corpus_first() -> None:
    from rejoinder.metrics.batch import Batch

    with pytest.raises(CallError, match="must see all examples"):
        Cider().score_batch(Batch([]))


def test_sigma_is_the_width_of_the_penalty_on_length() -> None:
    """A reply three words shorter than its reference: exp(-3^2 / (2 sigma^2)), whatever else the score is."""
    examples = [
        Example("1", (), "the train was late", ("the train was late again this morning",)),
        Example("2", (), "nobody knows", ("nobody told us",)),
    ]
    narrow, wide = (Cider(sigma=sigma).score(examples)[0] for sigma in (0.8, 6.0))
    assert narrow / wide == pytest.approx(np.exp(-4.5 / 0.8**2) / np.exp(-4.5 / 6**2))


@pytest.mark.parametrize("wrong", [{"variant": "x"}, {"sigma": 0}, {"sigma": 1e-200}, {"sigma": 10**400}])
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(CallError, match="cider: "):
        Cider(**wrong)  # type: ignore[arg-type]


def test_a_system_scores_the_same_alone_and_beside_others(bundled: list[Example]) -> None:
    metric = Cider(idf="system")
    together = metric.score(bundled)
    for system in ("good", "garbled"):
        rows = [row for row, example in enumerate(bundled) if example.system == system]
        alone = [bundled[row] for row in rows]
        np.testing.assert_allclose(together[rows], metric.score(alone), atol=1e-12)
        np.testing.assert_allclose(together[rows], Cider().score(alone), atol=1e-12)
