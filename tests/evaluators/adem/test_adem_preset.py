"""The preset `paper` of ADEM has the settings of Lowe et al. 2017: encoder, solver, and what sgd stops by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_evaluators as small
from planted_scores import GIVEN, WIDTH, examples, human_of, judged, stored
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.adem.adem import Adem, ContextAdem
from rejoinder.evaluators.adem.learning import Bilinear, ComparedVectors, descended
from rejoinder.models.sentence_encoders import StoredVectors
from rejoinder.registry import load
from rejoinder.types import Scores
from tiny_vectors import tiny_characters


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return stored(examples(), tmp_path / "vectors")


def test_the_preset_of_the_paper_is_its_settings(encoder: str) -> None:
    items = judged(examples(), encoder)
    # Lowe et al. 2017, section 5.1 and appendix D
    stated: dict[str, Any] = {
        "components": 7,
        "gamma": 0.02,
        "towards": "zero",
        "solver": "sgd",
        "learning_rate": 0.01,
        "batch": 16,
    }
    found, expected = Adem(encoder=encoder, preset="paper"), Adem(encoder=encoder, **stated)
    assert (found.learning_rate, found.batch) == (0.01, 16)
    np.testing.assert_array_equal(found.fit((), items).score(examples()), expected.fit((), items).score(examples()))
    assert found.setting_ == expected.setting_
    other = Adem(encoder=encoder, preset="paper", components=3, gamma=0.01).fit((), items).setting_
    assert (other.components, other.gamma, other.towards) == (3, 0.01, "zero")


def test_the_preset_of_the_paper_for_tweet2vec(tmp_path: Path) -> None:
    # Lowe et al. 2017, appendix D: n = 150 and gamma = .01 with tweet2vec embeddings
    items = judged(examples(), stored(examples(), tmp_path / "vectors"))
    found = StoredVectors.load(tmp_path / "vectors")
    StoredVectors(found.keys, found.vectors, "tweet2vec|1", found.trained_contexts).save(tmp_path / "characters")
    paper = Adem(encoder=str(tmp_path / "characters"), preset="paper", epochs=1).fit((), items).setting_
    assert (paper.components, paper.gamma, paper.towards) == (WIDTH, 0.01, "zero"), "no more than the vectors have"
    assert Adem(encoder="any", preset="paper")._given("tweet2vec") == (150, 0.01, "zero")
    assert Adem(encoder="any", preset="paper", components=9)._given("tweet2vec") == (9, 0.01, "zero")
    assert Adem(encoder="any", preset="paper")._given("vhred") == (7, 0.02, "zero")
    assert Adem(encoder="any")._given("tweet2vec") == (None, None, None)
    real = Adem(encoder=tiny_characters(), preset="paper", epochs=1).fit((), small.judged())
    assert real.setting_.gamma == 0.01


def test_the_signature_names_the_solver_that_is_used(encoder: str, tmp_path: Path) -> None:
    paper: dict[str, Any] = {"preset": "paper"}
    for given, solver in (({}, "exact"), (paper, "sgd"), (paper | {"solver": "sgd"}, "sgd")):
        for kind in (Adem, ContextAdem):
            assert f"|solver:{solver}|learning_rate:0.01|" in kind(encoder=encoder, **given).signature
    with pytest.raises(CallError, match="adem: the preset paper has the solver sgd: for exact, leave out the preset"):
        Adem(encoder=encoder, preset="paper", solver="exact")
    # What earlier versions saved: sgd was used, and the folder said exact.
    evaluator = Adem(encoder=encoder, preset="paper", epochs=1).fit((), judged(examples(), encoder))
    evaluator.save(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config["parameters"]["solver"] = "exact"
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    old = load(tmp_path / "model")
    assert (old.solver, old.signature) == ("sgd", evaluator.signature)
    np.testing.assert_array_equal(old.score(examples()), evaluator.score(examples()))


def test_gradient_descent_stops_by_the_split_valid(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    items = judged(examples(), encoder)
    learn, apart = items[:120], [replace(item, split="valid") for item in items[120:]]
    seen: list[tuple[Scores, Scores | None]] = []

    def noted(compared: ComparedVectors, valid: ComparedVectors | None, *given: Any) -> Bilinear:
        seen.append((compared.human, None if valid is None else valid.human))
        return descended(compared, valid, *given)

    monkeypatch.setattr("rejoinder.evaluators.adem.adem.descended", noted)
    given: dict[str, Any] = {"encoder": encoder, "scale": (1.0, 5.0)}
    paper = Adem(preset="paper", **given)
    paper.fit((), [*learn, *apart])
    ((trained, stopped),) = seen
    assert stopped is not None
    np.testing.assert_allclose(trained, human_of(learn))
    np.testing.assert_allclose(stopped, human_of(apart))
    seen.clear()
    np.testing.assert_array_equal(
        paper.clone().fit((), learn, valid=items[120:]).score(examples()), paper.score(examples())
    )
    paper.clone().fit((), learn)  # none are given: some contexts of the training replies
    assert seen[1][1] is not None
    assert (len(seen[1][0]), len(seen[1][1])) == (120 - 16, 16)
    exact = Adem(**GIVEN, **given)
    np.testing.assert_array_equal(
        exact.fit((), [*learn, *apart]).score(examples()), exact.clone().fit((), learn).score(examples())
    )


def test_replies_to_stop_by_are_no_replies_to_learn_from(encoder: str) -> None:
    items = judged(examples(), encoder)
    learn, apart = items[:120], items[120:]
    paper = Adem(encoder=encoder, preset="paper", epochs=3)
    found = paper.clone().fit((), learn, valid=apart)
    without = paper.clone().fit((), learn)
    np.testing.assert_array_equal(found.projection_.mean, without.projection_.mean)
    extreme = [replace(item, scores={"overall": (9.0,)}) for item in apart[:1]]  # widens the scale that is observed
    assert np.isfinite(paper.clone().fit((), learn, valid=extreme).score(examples())).all()
    bare = [replace(item, example=replace(item.example, references=())) for item in apart]
    with pytest.raises(
        NeedsError, match=r"adem stops early by judged examples with a reply .*: the split valid has none"
    ):
        paper.clone().fit((), learn, valid=bare)
