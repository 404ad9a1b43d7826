"""AM, FM and AM-FM: their formulas by hand, references, weights, language models, folders."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.am_fm import AmFm
from rejoinder.evaluators.am_fm_parts import Am, Fm, NgramFluency, SemanticSpace
from rejoinder.metrics.base import ScoreWarning
from rejoinder.models.arpa import write_arpa
from rejoinder.types import Dialogue, Example, Scores
from small_am_fm import EXAMPLES, REFERENCES, SENTENCES, TEXTS, judged

pytest.importorskip("sklearn", reason="learning a semantic space needs scikit-learn")


@pytest.fixture(scope="module")
def fitted() -> AmFm:
    return AmFm(dimensions=4).fit(SENTENCES)


def test_the_score_is_the_weighted_mean_of_its_parts(fitted: AmFm) -> None:
    am, fm = fitted.am.score(EXAMPLES), fitted.fm.score(EXAMPLES)
    np.testing.assert_allclose(fitted.score(EXAMPLES), 0.8 * am + 0.2 * fm)
    geometric = fitted.with_changes(mean="geometric", weight=0.5)
    np.testing.assert_allclose(geometric.score(EXAMPLES), np.sqrt(am * fm))
    harmonic = fitted.with_changes(mean="harmonic", weight=0.5)
    np.testing.assert_allclose(harmonic.score(EXAMPLES)[:3], 2 / (1 / am[:3] + 1 / fm[:3]))
    assert harmonic.score(EXAMPLES)[3] == 0, "no adequacy, whatever the fluency"
    np.testing.assert_array_equal(fitted.with_changes(weight=1.0).score(EXAMPLES), am)
    np.testing.assert_array_equal(fitted.with_changes(weight=0.0).score(EXAMPLES), fm)


def test_adequacy_is_the_cosine_in_the_space(fitted: AmFm) -> None:
    vectors = dict(zip(fitted.space_.words, fitted.space_.vectors.astype(float), strict=True))

    def point(text: str) -> Scores:
        total: Scores = np.stack([vectors[word] for word in text.split() if word in vectors]).sum(axis=0)
        return total

    def cosine(a: str, b: str) -> float:
        return max(0.0, float(point(a) @ point(b) / np.linalg.norm(point(a)) / np.linalg.norm(point(b))))

    both = [cosine(EXAMPLES[1].response, reference) for reference in REFERENCES]
    scores = [Am(dimensions=4, refs=refs).fit(SENTENCES).score(EXAMPLES)[1] for refs in ("max", "mean")]
    np.testing.assert_allclose(scores, [max(both), sum(both) / 2], atol=1e-6)
    centre = point(REFERENCES[0]) + point(REFERENCES[1])
    own = point(EXAMPLES[1].response)
    expected = own @ centre / np.linalg.norm(own) / np.linalg.norm(centre)
    score = Am(dimensions=4, refs="centroid").fit(SENTENCES).score(EXAMPLES)[1]
    np.testing.assert_allclose(score, expected, atol=1e-6)


def test_a_negative_cosine_counts_as_0() -> None:
    space = SemanticSpace(("tea", "rain"), np.array([[1.0, 0.0], [-1.0, 0.1]], np.float32))
    am = Am(dimensions=2).fit(SENTENCES)
    object.__setattr__(am, "space_", space)
    scores = am.score([Example("0", (), "tea", ("rain",)), Example("1", (), "tea", ("tea",))])
    np.testing.assert_array_equal(scores, [0.0, 1.0])


def test_the_space_spans_what_a_full_svd_spans(fitted: AmFm) -> None:
    words = fitted.space_.words
    counts = np.array([[text.split().count(word) for word in words] for text in TEXTS], float)
    rows = np.linalg.svd(counts, full_matrices=False)[2][:4]
    np.testing.assert_allclose(rows.T @ rows, fitted.space_.vectors @ fitted.space_.vectors.T, atol=1e-5)


def test_fluency_is_the_ratio_of_probabilities_a_word() -> None:
    single = Fm(order=1, prune=0.0, smoothing="good-turing").fit(SENTENCES)
    # Words and ends of sentences in TEXTS; one more for unknown words (see tests/language_models/ngram/).
    words = [word for text in TEXTS for word in [*text.split(), "</s>"]]
    total = len(words) + 1

    def probability(text: str) -> float:
        logs = [math.log(max(words.count(word), 1) / total) for word in text.split()]
        return math.exp(sum(logs) / len(logs))

    own, (first, second) = probability(EXAMPLES[2].response), map(probability, REFERENCES)
    ratios = [min(own, each) / max(own, each) for each in (first, second)]
    assert single.score(EXAMPLES)[2] == pytest.approx(max(ratios))
    assert Fm(order=1, prune=0.0, refs="mean").fit(SENTENCES).score(EXAMPLES)[2] == pytest.approx(np.mean(ratios))
    centre = math.sqrt(first * second)
    central = Fm(order=1, prune=0.0, refs="centroid").fit(SENTENCES)
    assert central.score(EXAMPLES)[2] == pytest.approx(min(own, centre) / max(own, centre))
    absolute = Fm(order=1, prune=0.0, fluency="absolute").fit(SENTENCES)
    assert absolute.needs == frozenset()
    assert absolute.score([replace(EXAMPLES[2], references=())])[0] == pytest.approx(own)


def test_identical_replies_score_1_in_any_script(fitted: AmFm) -> None:
    texts = ["please send your order number", "好的谢谢你", "👍🏽 🎉", "?!", "zzz"]
    examples = [Example(text, (), text, ("something else", text)) for text in texts]
    np.testing.assert_allclose(fitted.score(examples), 1, atol=1e-12)
    central = fitted.with_changes(am_refs="centroid", fm_refs="centroid")
    np.testing.assert_allclose(central.score([replace(e, references=(e.response,)) for e in examples]), 1, atol=1e-7)


def test_replies_without_a_known_word(fitted: AmFm) -> None:
    assert fitted.am.score(EXAMPLES)[3] == 0, "nothing of the reference is in it"
    foreign = Example("1", (), "thank you", ("好的谢谢你",))
    assert np.isnan(fitted.am.score([foreign])[0]), "nothing can be told of the reference"
    passed_over = AmFm(unknown="skip").fit(SENTENCES)
    assert np.isnan(passed_over.fm.score(EXAMPLES)[3])
    assert np.isnan(passed_over.score(EXAMPLES)[3])
    assert passed_over.with_changes(weight=1.0).score(EXAMPLES)[3] == 0, "a part without weight does not matter"


def test_no_references_no_score(fitted: AmFm) -> None:
    scores = fitted.score([replace(EXAMPLES[0], references=()), EXAMPLES[1]])
    assert np.isnan(scores).tolist() == [True, False]


def test_hostile_text_never_raises(fitted: AmFm) -> None:
    texts = ["a" * 5000, "\u200b", "﷽" * 50, "<s>", "</s> <unk>", "\\", "a\u2028b", "lone \ud800", "?!", "x " * 900]
    examples = [Example(str(n), (), text, (reference,)) for n, text in enumerate(texts) for reference in texts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)
        scores = fitted.score(examples)
    known = scores[~np.isnan(scores)]
    assert ((known >= 0) & (known <= 1)).all()


def test_many_dimensions_are_as_many_as_the_text_has() -> None:
    assert AmFm(dimensions=2500).fit(SENTENCES).space_.dimensions == len(TEXTS)


@pytest.mark.parametrize("level", ["replies", "systems"])
def test_lambda_is_found_where_people_follow_adequacy(level: str) -> None:
    items = judged(np.random.default_rng(1))
    model = AmFm(dimensions=4, fit_weight=level).fit(SENTENCES, items)
    np.testing.assert_allclose(model.weights_, [1, 0], atol=0.02)
    assert model.fitted.judged == 80
    with pytest.raises(NeedsError, match="all ratings are equal"):
        AmFm(fit_weight=level, dimension="other").fit(SENTENCES, items)
    with pytest.raises(NeedsError, match="needs judged examples"):
        AmFm(fit_weight=level).fit(SENTENCES)
    with pytest.raises(NeedsError, match="cannot fit the weights to 2 judged"):
        AmFm(fit_weight=level).fit(SENTENCES, items[:2])


def test_the_weight_of_the_pragmatic_part_is_fitted_too(fitted: AmFm) -> None:
    model = AmFm(dimensions=4, fit_weight="replies", pm="specificity").fit(SENTENCES, judged(np.random.default_rng(1)))
    np.testing.assert_allclose(model.weights_, [1, 0, 0], atol=0.051)


def test_am_fm_pm_is_one_weighted_mean(fitted: AmFm) -> None:
    model = fitted.with_changes(pm="specificity", pm_weight=0.5, weight=0.6)
    am, fm = fitted.am.score(EXAMPLES), fitted.fm.score(EXAMPLES)
    pm = rejoinder.load("specificity").score(EXAMPLES)
    np.testing.assert_allclose(model.score(EXAMPLES), 0.3 * am + 0.2 * fm + 0.5 * pm)
    assert "|pm:specificity@" in model.signature
    lower = fitted.with_changes(pm="repetition", pm_weight=1.0)
    np.testing.assert_allclose(lower.score(EXAMPLES[:3]), 1 - rejoinder.load("repetition").score(EXAMPLES[:3]))


# am-fm, Table 3: people gave 1.6, AM-FM .816.
def test_the_pragmatic_part_sees_another_country_and_a_yes_for_a_no(fitted: AmFm) -> None:
    reference = "i am sorry but we currently do not deliver to serbia"
    wrong = Example("1", (), "hi , yes we do deliver to ireland .", (reference,))
    right = Example("2", (), "sorry , we do not deliver to serbia", (reference,))
    for mean in ("arithmetic", "geometric", "harmonic"):
        with_pm = fitted.with_changes(pm="pm", pm_weight=0.5, mean=mean)
        without = fitted.with_changes(mean=mean)
        assert with_pm.score([wrong])[0] < without.score([wrong])[0]
        gap = np.subtract(*with_pm.score([right, wrong])) - np.subtract(*without.score([right, wrong]))
        assert gap > 0.1


@pytest.mark.parametrize("spec", ["length", "cider"])
def test_what_cannot_be_a_part(spec: str, fitted: AmFm) -> None:
    with pytest.raises(CallError, match=f"{spec} .*cannot be part"):
        fitted.with_changes(pm=spec).score(EXAMPLES)


def test_a_saved_evaluator_is_loaded_whole_in_part_and_with_other_weights(fitted: AmFm, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = rejoinder.load(tmp_path / "model")
    assert loaded == fitted
    assert loaded.signature == fitted.signature
    np.testing.assert_array_equal(loaded.score(EXAMPLES), fitted.score(EXAMPLES))
    for part in ("am", "fm"):
        one = rejoinder.load(f"{tmp_path}/model(part={part})")
        assert one.name == part
        np.testing.assert_array_equal(one.score(EXAMPLES), getattr(fitted, part).score(EXAMPLES))
        one.save(tmp_path / part)
        np.testing.assert_array_equal(rejoinder.load(tmp_path / part).score(EXAMPLES), one.score(EXAMPLES))
    other = rejoinder.load(f"{tmp_path}/model(weight=0.5, mean=harmonic)")
    assert other.weights_.tolist() == [0.5, 0.5]
    assert "|weight:0.5|" in other.signature
    with pytest.raises(UnknownNameError, match="did you mean am"):
        rejoinder.load(tmp_path / "model", part="an")


def test_fitted_weights_are_saved(tmp_path: Path) -> None:
    model = AmFm(dimensions=4, fit_weight="replies").fit(SENTENCES, judged(np.random.default_rng(1)))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(AmFm.load(tmp_path / "model").weights_, model.weights_)
    assert AmFm.load(tmp_path / "model", mean="geometric").weights_.tolist() == model.weights_.tolist()
    other = AmFm.load(tmp_path / "model", weight=0.3)
    assert other.weights_.tolist() == [0.3, 0.7]
    assert "|fit_weight:no|" in other.signature


def test_broken_folders(fitted: AmFm, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    fitted.save(folder)
    config = json.loads((folder / "config.json").read_text())
    config["learned"]["weights_"] = [1.0]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="must be 2 weights"):
        AmFm.load(folder)
    fitted.save(folder)
    (folder / "fluency.safetensors").unlink()
    with pytest.raises(DataError, match=r"fluency\.safetensors: is missing"):
        AmFm.load(folder)


def test_fluency_by_an_arpa_file(fitted: AmFm, tmp_path: Path) -> None:
    assert isinstance(fitted.model_, NgramFluency)
    write_arpa(fitted.model_.model, tmp_path / "lm.arpa")
    read = Fm(lm=str(tmp_path / "lm.arpa")).fit()
    np.testing.assert_allclose(read.score(EXAMPLES), fitted.fm.score(EXAMPLES), atol=1e-7)
    assert f"|lm:lm.arpa@{read.model_.digest}|" in read.signature
    read.save(tmp_path / "model")
    (tmp_path / "lm.arpa").unlink()
    np.testing.assert_array_equal(Fm.load(tmp_path / "model").score(EXAMPLES), read.score(EXAMPLES))


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimensions": 0},
        {"order": 0},
        {"order": 7},
        {"smoothing": "laplace"},
        {"prune": -1.0},
        {"unknown": "guess"},
        {"fluency": "both"},
        {"am_refs": "min"},
        {"mean": "median"},
        {"weight": 1.5},
        {"pm_weight": -0.1},
        {"fit_weight": "yes"},
        {"tokenise": "no"},
    ],
)
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(CallError):
        AmFm(**wrong)  # type: ignore[arg-type]


def test_nothing_to_learn_from() -> None:
    with pytest.raises(NeedsError, match="am-fm learns from dialogues"):
        AmFm().fit()
    with pytest.raises(NeedsError, match="there are no sentences to learn from"):
        Fm().fit([Dialogue("1", (" ", ""))])


def test_a_corpus_of_one_word_and_one_with_fewer_directions_than_dimensions() -> None:
    alone = Am().fit([Dialogue("0", ("hello",))])
    assert alone.score([Example("1", (), "hello", ("hello",))])[0] == pytest.approx(1)
    alike = Am().fit([Dialogue(str(number), ("a b",)) for number in range(20)])
    assert alike.space_.dimensions == 1
    assert alike.score([Example("1", (), "a", ("b",))])[0] == pytest.approx(1)


def test_a_word_of_probability_0_is_no_word_at_all(tmp_path: Path) -> None:
    path = tmp_path / "zero.arpa"
    path.write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-0.3\ta\n-99\tb\n-99\tc\n\n\\end\\\n")
    part = Fm(lm=str(path), order=1).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)
        scores = part.score([Example("1", (), "b", ("c",)), Example("2", (), "a b", ("a",))])
    assert math.isnan(scores[0])
    assert scores[1] == pytest.approx(1)
