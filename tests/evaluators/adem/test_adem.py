"""ADEM and its variants over vectors that were stored, and over a tiny encoder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_evaluators as small
from planted_scores import GIVEN, WIDTH, examples, human_of, judged, stored
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.adem.adem import Adem, ContextAdem, LengthTrend, ReferenceAdem
from rejoinder.evaluators.adem.baselines import EncoderDot, Tweet2VecDot, VhredDot
from rejoinder.evaluators.adem.vectors import Projection
from rejoinder.evaluators.calibration import Calibration
from rejoinder.metrics.batch import Batch
from rejoinder.models.sentence_encoders import StoredVectors
from rejoinder.registry import build_reply_model, load
from rejoinder.stats.correlation import correlate
from rejoinder.trusting.probes import lengths_of
from rejoinder.types import Example, JudgedExample
from tiny_vectors import tiny_characters


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return stored(examples(), tmp_path / "vectors")


def test_it_learns_what_people_go_by(encoder: str) -> None:
    items = judged(examples(), encoder)
    evaluator = Adem(encoder=encoder, components=WIDTH, gamma=0.001, towards="zero", scale=(1.0, 5.0)).fit((), items)
    found = evaluator.score(examples())
    assert correlate(found, human_of(items)).coefficient > 0.95
    start = EncoderDot(encoder=encoder).fit().score(examples())
    assert abs(correlate(start, human_of(items)).coefficient) < 0.3
    assert str(evaluator.setting_) == "12 components, gamma 0.001, drawn towards zero"


def test_the_variants_look_at_their_part_alone(encoder: str) -> None:
    items, (first, *_) = judged(examples(), encoder), examples()
    swapped = replace(examples()[8], response=first.response)  # another context and another reference
    for cls, kept, changed in (
        (ContextAdem, replace(first, references=swapped.references), replace(first, context=swapped.context)),
        (ReferenceAdem, replace(first, context=swapped.context), replace(first, references=swapped.references)),
    ):
        evaluator = cls(encoder=encoder, **GIVEN).fit((), items)
        assert evaluator.bilinear_.matrices.shape == (1, 6, 6)
        score = evaluator.score([first, kept, changed])
        assert score[0] == score[1] != score[2]
    assert np.isfinite(ContextAdem(encoder=encoder, **GIVEN).fit((), items).score([replace(first, references=())])[0])


def test_what_is_missing_makes_the_score_unknown(encoder: str) -> None:
    evaluator = Adem(encoder=encoder, **GIVEN).fit((), judged(examples(), encoder))
    first, second, third, *_ = examples()
    scores = evaluator.score([replace(first, context=()), replace(second, references=()), third])
    assert np.isnan(scores).tolist() == [True, True, False]
    blank, *kept = evaluator.score(
        [replace(first, references=(" ",)), replace(third, references=("", *third.references)), third]
    )
    assert np.isnan(blank)
    assert kept[0] == kept[1]
    bare = [replace(item, example=replace(item.example, references=())) for item in judged(examples(), encoder)]
    with pytest.raises(NeedsError, match="with a reply and context and references"):
        Adem(encoder=encoder, **GIVEN).fit((), bare)


def test_the_best_reference_counts(tmp_path: Path) -> None:
    items = examples(references=3)
    encoder = stored(items, tmp_path / "vectors")
    evaluator = ReferenceAdem(encoder=encoder, **GIVEN).fit((), judged(items, encoder))
    alone = [evaluator.score([replace(item, references=(item.references[n],)) for item in items]) for n in range(3)]
    np.testing.assert_array_equal(evaluator.score(items), np.max(alone, axis=0))
    mean = ReferenceAdem(encoder=encoder, refs="mean", **GIVEN).fit((), judged(items, encoder))
    assert not np.array_equal(mean.score(items), evaluator.score(items))
    alone = [mean.score([replace(item, references=(item.references[n],)) for item in items]) for n in range(3)]
    found = mean.score(items)
    assert ((found >= np.min(alone, axis=0) - 1e-9) & (found <= np.max(alone, axis=0) + 1e-9)).all()
    assert (found < np.max(alone, axis=0) - 1e-3).any(), "not the best reference"


def test_a_trend_that_turns_with_length_is_found() -> None:
    """Replies of middling length are liked best: a parabola of the log length, which one line could not follow."""
    replies = ["word " * length for length in range(1, 16)]
    batch = Batch([Example(str(number), (), reply) for number, reply in enumerate(replies)])
    logs = np.log1p(np.arange(1, 16))
    liked = 3 - (logs - 2) ** 2
    np.testing.assert_allclose(LengthTrend.of(batch, liked, apart=False).excess(batch), liked - liked.mean(), atol=1e-9)


def test_the_trend_with_length_is_taken_out(encoder: str) -> None:
    items = examples()
    lengths = lengths_of(items).own
    # Vectors that know the length, and people who like long replies.
    known = StoredVectors.load(encoder)
    vectors = {text: known.encode([text])[0] for item in items for text in (item.context, *item.references)}
    for item, length in zip(items, lengths.tolist(), strict=True):
        vectors[item.response] = known.encode([item.response])[0] + length / 2
        vectors[item.context] = vectors[item.context] + 1
    StoredVectors.of(vectors, "long|1").save(encoder)
    labelled = [
        JudgedExample(item, {"overall": (1 + length / 4,)}) for item, length in zip(items, lengths, strict=True)
    ]
    given = {**GIVEN, "scale": (0.0, 6.0)}
    biased, freed = (
        correlate(ContextAdem(encoder=encoder, debias=debias, **given).fit((), labelled).score(items), lengths)
        for debias in (False, True)
    )
    assert biased.coefficient > 0.5
    assert abs(freed.coefficient) < 0.1


def test_true_replies_do_not_make_the_trend() -> None:
    words = "one two three four five six seven eight nine ten".split()
    told = [Example(str(n), ("c",), " ".join(words[:n]), ("a b c d e",)) for n in range(1, 11)]
    true = [Example(f"t{n}", ("c",), "the same", ("the same",)) for n in range(5)]
    scores = np.linspace(2, 3, 10)
    alone = LengthTrend.of(Batch(told), scores, apart=True)
    assert LengthTrend.of(Batch([*told, *true]), np.append(scores, [5.0] * 5), apart=True) == alone
    assert np.std(scores - alone.excess(Batch(told))) < 0.2 * np.std(scores)


def test_settings_are_chosen_on_training_data(encoder: str) -> None:
    items = judged(examples(), encoder)
    open_ = Adem(encoder=encoder)
    first = open_.clone().fit((), items)
    assert first.setting_.components in {7, WIDTH}
    tests = [replace(item, scores={"overall": (1.0,)}, split="test") for item in items[80:]]
    again = open_.clone().fit((), [*items, *tests])  # the test split is not looked at
    np.testing.assert_array_equal(again.score(examples()), first.score(examples()))
    with pytest.raises(NeedsError, match="too few to choose settings"):
        open_.clone().fit((), items[:12])


def test_components_are_those_of_the_training_texts(encoder: str) -> None:
    items = judged(examples(), encoder)
    evaluator = Adem(encoder=encoder, **GIVEN).fit((), items[:80])
    texts = dict.fromkeys(text for item in examples()[:80] for text in (item.context, item.response, *item.references))
    expected = StoredVectors.load(encoder).encode(list(texts)).mean(axis=0)
    np.testing.assert_allclose(evaluator.projection_.mean, expected, atol=1e-6)


def test_gradient_descent_comes_near(encoder: str) -> None:
    items = judged(examples(), encoder)
    exact, descent = (
        Adem(encoder=encoder, solver=solver, **GIVEN).fit((), items).score(examples()) for solver in ("exact", "sgd")
    )
    assert correlate(exact, descent).coefficient > 0.8


def test_principal_components_are_those_of_scikit_learn() -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    rng = np.random.default_rng(0)
    for rows in (50, 8):  # more than the width, and fewer
        vectors = rng.normal(size=(rows, 10)) * np.linspace(2, 1, 10)
        peer = decomposition.PCA(4, svd_solver="full").fit(vectors)
        ours = Projection.of(vectors, 4)
        np.testing.assert_allclose(np.abs(ours.points(vectors)), np.abs(peer.transform(vectors)), atol=1e-9)
    assert Projection.of(vectors, 20).axes.shape == (10, 7)  # eight points have seven directions
    with pytest.raises(CallError, match="the same vector"):
        Projection.of(np.ones((5, 3)), 2)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"components": 0}, "components must be at least 1"),
        ({"gamma": -1.0}, "gamma must be at least 0"),
        ({"towards": "one"}, "towards must be one of zero, identity"),
        ({"solver": "adam"}, "solver must be one of exact, sgd"),
        ({"preset": "papers"}, "preset must be one of own, paper"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"scale": (5.0, 1.0)}, "scale must be the lowest"),
        ({"max_length": 2}, "max_length must be at least 4"),
    ],
)
def test_wrong_parameters(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        Adem(encoder="anything", **given)


def test_a_saved_folder_needs_nothing_else(encoder: str, tmp_path: Path) -> None:
    evaluator = Adem(encoder=encoder, debias=True, **GIVEN).fit((), judged(examples(), encoder))
    evaluator.save(tmp_path / "model")
    shutil.rmtree(encoder)
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.score(examples()), evaluator.score(examples()))
    assert (loaded.setting_, loaded.length_, loaded.signature) == (
        evaluator.setting_,
        evaluator.length_,
        evaluator.signature,
    )
    (tmp_path / "model" / "adem.safetensors").unlink()
    with pytest.raises(DataError, match="is missing"):
        load(tmp_path / "model")


def test_stored_vectors_are_scored_with_without_torch(encoder: str, tmp_path: Path) -> None:
    Adem(encoder=encoder, **GIVEN).fit((), judged(examples(), encoder)).save(tmp_path / "model")
    script = """
import sys
for name in ("sklearn", "torch", "transformers", "accelerate"):
    sys.modules[name] = None
import rejoinder
from rejoinder.types import Example
example = Example("0", ("turn 0", "question 0"), sys.argv[1], ("reference 0 0",))
print(rejoinder.load("model").score([example])[0])
"""
    call = [sys.executable, "-c", script, examples()[0].response]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == load(tmp_path / "model").score(examples()[:1])[0]


def test_the_signature_tells_encoders_apart(encoder: str, tmp_path: Path) -> None:
    other = str(tmp_path / "others")
    StoredVectors.of({"a": np.ones(3)}, "random|2").save(other)
    assert Adem(encoder=encoder).signature != Adem(encoder=other).signature
    assert str(tmp_path) not in Adem(encoder=encoder).signature
    assert Adem(encoder="sentence-transformers/nowhere").signature.startswith("adem|")


def test_contexts_of_the_encoder_count_as_trained_on() -> None:
    labelled = [
        JudgedExample(replace(item, context=("nothing of the kind",)), {"overall": (float(row % 5),)})
        for row, item in enumerate(examples(40))
    ]
    evaluator = ContextAdem(encoder=tiny_characters(), components=2, gamma=0.1, towards="zero").fit((), labelled)
    seen = Example("x", ("is it still raining outside", "yes it is so take a coat"), "why")
    assert evaluator.trained_contexts.holds([seen]).all()


def test_dot_products_by_hand(tmp_path: Path) -> None:
    vectors: dict[Any, Any] = {("a", "b"): [1.0, 2.0], "reply": [0.5, -1.0], "near": [1.0, 0.0], "far": [-1.0, 0.0]}
    folder = tmp_path / "vectors"
    StoredVectors.of({text: np.array(vector) for text, vector in vectors.items()}, "vhred|1").save(folder)
    example = Example("0", ("a", "b"), "reply", ("near", "far"))
    found = {
        against: EncoderDot(encoder=str(folder), against=against).fit().score([example])[0]
        for against in ("both", "context", "references")
    }
    assert found == {"both": -1.0, "context": -1.5, "references": 0.5}
    dot = VhredDot(encoder=str(folder)).fit()
    assert dot.score([example]).tolist() == [-1.0]
    dot.save(tmp_path / "model")
    assert load(tmp_path / "model").score([example]).tolist() == [-1.0]
    with pytest.raises(CallError, match=r"t2v-dot: .* holds 'stored-vectors': expected tweet2vec"):
        Tweet2VecDot(encoder=str(folder)).fit()
    assert Tweet2VecDot(encoder=tiny_characters()).fit().range == (-2.0, 2.0)


def test_a_calibrated_dot_product_keeps_its_own_scores(tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    vectors = {"q": [3.0, 0.0], **{f"r{n}": [n / 10 - 1, 0.0] for n in range(20)}}
    StoredVectors.of({text: np.array(vector) for text, vector in vectors.items()}, "any|1").save(folder)
    items = [Example(str(n), ("q",), f"r{n}") for n in range(20)]
    dot = EncoderDot(encoder=str(folder), against="context").fit()
    raw = dot.score(items)
    np.testing.assert_allclose(raw, [3 * (n / 10 - 1) for n in range(20)], atol=1e-6)  # beyond -2 and 2: not cut off
    assert dot.range == (-9.0, 9.0)
    calibrated = dot.with_calibration(Calibration.fit(raw, np.linspace(1, 5, 20), range(20)))
    assert calibrated.range == (1.0, 5.0)
    assert len(set(calibrated.score(items).tolist())) > 10


@pytest.mark.parametrize("name", ["hred", "vhred"])
def test_over_a_reply_model(name: str, tmp_path: Path) -> None:
    sizes = {"vocabulary": 300, "embedding": 4, "hidden": 4, "epochs": 1}
    build_reply_model(name, sizes).fit(small.dialogues()).save(tmp_path / name)
    items = small.judged()
    evaluator = Adem(encoder=str(tmp_path / name), components=3, gamma=0.02, towards="zero").fit((), items)
    evaluator.save(tmp_path / "model")
    shutil.rmtree(tmp_path / name)
    loaded, scored = load(tmp_path / "model"), [item.example for item in items]
    assert loaded.encoder_.name == name
    np.testing.assert_array_equal(loaded.score(scored), evaluator.score(scored))


def test_a_part_of_a_fitted_model_is_one_term_of_its_score(encoder: str, tmp_path: Path) -> None:
    items = judged(examples(), encoder)
    whole = Adem(encoder=encoder, **GIVEN).fit((), items)
    whole.save(tmp_path / "model")
    context, reference = (load(tmp_path / "model", part=part) for part in ("context", "reference"))
    assert (type(context), type(reference)) == (ContextAdem, ReferenceAdem)
    scores, *parts = (each.score(examples()) for each in (whole, context, reference))
    inside = np.all([(column > 1) & (column < 5) for column in (scores, *parts)], axis=0)  # others are cut off
    assert inside.sum() > 100
    scale, means = whole.bilinear_.scale, whole.bilinear_.means
    mean = (sum(means) - scale.alpha) / scale.beta
    np.testing.assert_allclose(parts[0][inside] + parts[1][inside] - mean, scores[inside], atol=1e-6)
    trained = ContextAdem(encoder=encoder, **GIVEN).fit((), items)
    assert not np.allclose(trained.bilinear_.matrices, context.bilinear_.matrices)
    assert np.isfinite(context.score([replace(examples()[0], references=())])[0])


def test_a_part_that_does_not_exist_is_refused(encoder: str) -> None:
    items = judged(examples(), encoder)
    whole = Adem(encoder=encoder, **GIVEN).fit((), items)
    with pytest.raises(CallError, match=r"unknown part of adem: 'contxt'; did you mean context\?"):
        whole.part("contxt")
    with pytest.raises(CallError, match="unknown part of c-adem: 'context'; there are none"):
        whole.part("context").part("context")
