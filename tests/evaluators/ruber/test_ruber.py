"""RUBER: its two scores, their blends, what is learned and kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import rejoinder
from rejoinder.data.dialogues import ReplyInContext
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.ruber.network import PairTable
from rejoinder.evaluators.ruber.ruber import BLENDS, MinMaxRange, Ruber, blended
from rejoinder.evaluators.ruber.training import from_hred
from rejoinder.evaluators.ruber.unref import RuberPool, RuberRef, RuberUnref, cosines, pooled_texts
from rejoinder.metrics.base import ScoreWarning
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.registry import load_reply_model
from rejoinder.replies.lexical import Bm25
from rejoinder.replies.recurrent import HredModel
from rejoinder.text.vectors import WordVectors
from rejoinder.types import Dialogue, Example
from tiny_encoder import TOPICS, dialogues, judged, write_encoder
from topic_replies import labelled, questions, topics_in_order

TEXT = TextOptions()
SMALL = {"hidden": 16, "units": 16, "epochs": 60, "learning_rate": 0.01, "dropout": 0.0}
KNOWN = WordVectors.of(
    ["red", "blue", "sky"], np.array([[1, -2], [3, 0], [-1, 4]], np.float32), name="three"
)  # rows are words


@pytest.fixture(scope="module")
def model() -> Ruber:
    return Ruber(**SMALL).fit(dialogues())  # type: ignore[arg-type]


def test_pooling_by_hand() -> None:
    # "red sky": highest (1, 4), lowest (-1, -2); "blue": (3, 0, 3, 0); "green" has no vector.
    pooled = pooled_texts(["Red sky", "blue", "green"], KNOWN, TEXT)
    assert pooled.tolist() == [[1, 4, -1, -2], [3, 0, 3, 0], [0, 0, 0, 0]]
    # (3 - 3) / (sqrt(22) * sqrt(18)) = 0; with "red": (1, -2, 1, -2) . (3, 0, 3, 0) = 6 over sqrt(10) * sqrt(18).
    assert cosines(pooled[:1], pooled[1:2]).tolist() == [0.0]
    red = pooled_texts(["red"], KNOWN, TEXT)
    assert cosines(red, pooled[1:2])[0] == pytest.approx(6 / np.sqrt(180))
    assert np.isnan(cosines(pooled[2:], red)).all()


def test_of_several_references_the_nearest() -> None:
    part = RuberRef(min_count=1).fit([Dialogue("1", ("red sky", "blue"))])
    part._remember({"vectors_": KNOWN}, part.fit_)
    example = Example("1", (), "red", ("green", "blue", "red sky"))
    by_hand = [6 / np.sqrt(180), (1 - 8 - 1 + 4) / np.sqrt(10 * 22)]
    assert part.score([example])[0] == pytest.approx(max(by_hand))
    unknown = [replace(example, response="green", references=refs) for refs in (("blue",), ("green",), ("white",))]
    scores = part.score(unknown)
    assert scores[:2].tolist() == [0.0, 1.0]
    assert np.isnan(scores[2])


def test_the_baseline_looks_at_the_query() -> None:
    pool = rejoinder.load("ruber-pool")
    assert isinstance(pool, RuberPool)
    same = Example("1", ("hello there", "do you like tea"), "do you like tea")
    other = replace(same, response="taxes rose sharply")
    scores = pool.score([same, other, replace(same, context=()), replace(same, response="xqzzt")])
    assert scores[0] == pytest.approx(1.0)
    assert scores[1] < 0.9
    assert np.isnan(scores[2:]).all()
    assert pool.score([replace(same, response="DO YOU LIKE TEA")])[0] == pytest.approx(1.0)
    with pytest.warns(ScoreWarning, match="1 empty replies"):
        assert pool.score([replace(same, response=" ")])[0] == -1, "no cosine is lower"
    both = RuberPool(turns=2).score([replace(same, response="hello there do you like tea")])
    assert both[0] == pytest.approx(1.0)
    assert "vectors:conversational-50d@" in pool.signature
    with pytest.raises(CallError, match="turns must be at least 1"):
        RuberPool(turns=0)


def test_min_max_normalisation_by_hand() -> None:
    found = MinMaxRange.of(np.array([0.2, np.nan, 0.6, 1.0]))
    assert found == MinMaxRange(0.2, 1.0)
    np.testing.assert_allclose(found.normalised(np.array([0.0, 0.2, 0.6, 2.0])), [0, 0, 0.5, 1])
    assert np.isnan(found.normalised(np.array([np.nan]))).all()
    assert MinMaxRange.of(np.full(3, 0.7)).normalised(np.array([0.1, 0.7])).tolist() == [0.5, 0.5]
    trimmed = MinMaxRange.of(np.linspace(0, 1, 101), trim=0.1)
    assert (trimmed.low, trimmed.high) == pytest.approx((0.1, 0.9))


def test_blends_by_hand() -> None:
    near, fitting = np.array([0.25, 0.0]), np.array([1.0, np.nan])
    found = {blend: blended(near, fitting, blend) for blend in BLENDS}
    assert {blend: scores[0] for blend, scores in found.items()} == {
        "min": 0.25,
        "max": 1.0,
        "geometric": 0.5,
        "arithmetic": 0.625,
    }
    assert all(np.isnan(scores[1]) for scores in found.values())


@pytest.mark.parametrize("encoder", ["gru", "hierarchical"])
def test_it_learns_what_fits(encoder: str) -> None:
    part = RuberUnref(encoder=encoder, **SMALL).fit(questions())  # type: ignore[arg-type]
    true, wrong = (part.score(topics_in_order(shift)) for shift in (0, 3))
    assert np.mean(true > wrong) >= 0.9


@pytest.mark.slow
def test_it_learns_over_a_pretrained_encoder(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "pretrained")
    part = RuberUnref(encoder=str(folder), epochs=60, learning_rate=0.01, dropout=0.0)
    right = []
    for seed in range(6):  # a single seed of so little data says little
        part.fit(questions(), seed=seed)
        true, wrong = (part.score(topics_in_order(shift)) for shift in (0, 3))
        right.append(np.mean(true > wrong))
    assert np.mean(right) >= 0.8
    part.save(tmp_path / "model")
    np.testing.assert_array_equal(RuberUnref.load(tmp_path / "model").score(topics_in_order()), true)
    with pytest.raises(CallError, match="start is for a GRU"):
        RuberUnref(encoder=str(folder), start="hred")


def test_the_hierarchical_form_reads_what_came_before() -> None:
    part = RuberUnref(encoder="hierarchical", **SMALL | {"epochs": 2}).fit(dialogues())  # type: ignore[arg-type]
    first = Example("1", ("tell me about tea", "well tea is what i like"), "because tea makes me happy all day")
    other = replace(first, context=("tell me about rain", *first.context[1:]))
    by_another = replace(first, speakers=("A", "A"))
    scores = part.score([first, other, by_another])
    assert len(set(scores.tolist())) == 3
    flat = RuberUnref(**SMALL | {"epochs": 2}).fit(dialogues())  # type: ignore[arg-type]
    assert flat.score([first])[0] == flat.score([other])[0]


def test_the_parts_are_those_of_the_whole(model: Ruber) -> None:
    examples = topics_in_order(3)
    ref, unref = model.ranges_
    parts = ref.normalised(model.ref.score(examples)), unref.normalised(model.unref.score(examples))
    for blend in BLENDS:
        np.testing.assert_array_equal(model.with_blend(blend).score(examples), blended(*parts, blend))
    np.testing.assert_array_equal(model.normalised_parts(Batch(examples)), parts)
    assert ref.high == 1.0
    assert 0 <= unref.low < unref.high <= 1


def test_one_reply_alone_has_the_same_score(model: Ruber) -> None:
    examples = topics_in_order(3)
    np.testing.assert_array_equal([model.score([example])[0] for example in examples], model.score(examples))


def test_human_scores_after_ranking(model: Ruber) -> None:
    tuned = replace(model, label_rate=0.01)
    tuned._remember({name: getattr(model, name) for name in ("vectors_", "scorer_", "ranges_")}, model.fit_)
    before = model.unref.score(topics_in_order())
    after = tuned.tuned(labelled())
    examples = [item.example for item in labelled()]
    human = np.array([item.scores["overall"][0] for item in labelled()])
    assert np.corrcoef(after.unref.score(examples), human)[0, 1] > 0.9
    np.testing.assert_array_equal(model.unref.score(topics_in_order()), before)
    assert (after.fitted.dialogues, after.fitted.judged) == (20, 40)
    assert after.signature != model.signature
    assert after.trained_contexts.holds(examples).all()


def test_labels_that_tell_nothing_of_when_to_stop(model: Ruber) -> None:
    tuned = RuberUnref(**SMALL | {"label_rate": 0.01, "label_epochs": 10})  # type: ignore[arg-type]
    tuned._remember({"scorer_": model.scorer_}, model.fit_)
    same = [replace(item, split="valid") for item in labelled() if item.scores["overall"] == (5.0,)]
    after = tuned.tuned([*labelled(), *same])
    examples = [item.example for item in labelled()]
    assert not np.array_equal(after.score(examples), tuned.score(examples))  # the last weights, not the first


def test_what_cannot_be_tuned(model: Ruber) -> None:
    with pytest.raises(CallError, match="ruber-unref is not fitted"):
        RuberUnref().tuned(labelled())
    with pytest.raises(CallError, match="ruber is not fitted"):
        Ruber().tuned(labelled())
    only_valid = [replace(item, split="valid") for item in labelled()]
    bare = [replace(item, example=replace(item.example, context=())) for item in labelled()]
    for useless in (only_valid, bare):
        with pytest.raises(NeedsError, match="with a context and a reply: expected one"):
            model.tuned(useless)


def test_fitting_on_both_is_fitting_and_then_tuning() -> None:
    quick = {**SMALL, "epochs": 2, "label_epochs": 2}
    at_once = RuberUnref(**quick).fit(dialogues(), judged(), seed=4)  # type: ignore[arg-type]
    in_turn = RuberUnref(**quick).fit(dialogues(), seed=4).tuned(judged(), seed=4)  # type: ignore[arg-type]
    np.testing.assert_array_equal(at_once.score(topics_in_order()), in_turn.score(topics_in_order()))


def test_loaded_with_another_blend_or_as_a_part(model: Ruber, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    examples = topics_in_order(3)
    for spec, same in {
        "(blend=max)": model.with_blend("max"),
        "(part=ref)": model.ref,
        "(part=unref)": model.unref,
    }.items():
        found = rejoinder.load(f"{tmp_path / 'model'}{spec}")
        assert found.signature == same.signature
        np.testing.assert_array_equal(found.score(examples), same.score(examples))
    with pytest.raises(UnknownNameError, match="did you mean ref"):
        Ruber.load(tmp_path / "model", part="reff")
    with pytest.raises(CallError, match="blend must be one of min, max"):
        Ruber.load(tmp_path / "model", blend="harmonic")
    (tmp_path / "model" / "network.safetensors").unlink()
    with pytest.raises(DataError, match="is missing: expected arrays"):
        Ruber.load(tmp_path / "model")


def test_bundled_vectors_are_not_copied(tmp_path: Path) -> None:
    part = RuberRef(vectors="conversational-50d").fit(dialogues())
    part.save(tmp_path / "model")
    assert not (tmp_path / "model" / "vectors.safetensors").exists()
    assert "|vectors:conversational-50d@" in part.signature
    np.testing.assert_array_equal(
        RuberRef.load(tmp_path / "model").score(topics_in_order(2)), part.score(topics_in_order(2))
    )


def test_what_cannot_be_learned_from() -> None:
    same = [Dialogue(str(n), ("hello there", "hello there")) for n in range(3)]
    with pytest.raises(NeedsError, match="at least two different replies"):
        RuberUnref().fit(same)
    with pytest.raises(NeedsError, match="no word of the dialogues occurs 2 times"):
        RuberRef().fit([Dialogue("1", ("red", "blue"))])
    with pytest.raises(NeedsError, match="no word of the dialogues occurs 2 times"):
        RuberUnref(vectors="conversational-50d").fit([Dialogue("1", ("red", "blue", "green"))])


def test_any_seed_will_do() -> None:
    assert RuberRef(dims=2).fit(questions(), seed=2**32 - 1).score(topics_in_order()).tolist() == [1.0] * len(TOPICS)


def test_a_label_for_every_turn() -> None:
    with pytest.raises(ValueError, match="1 speakers for 2 turns"):
        PairTable.of([ReplyInContext(("a", "b"), ("A",), "c")], 5, hierarchical=True)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"blend": "mean"}, "blend must be one of min, max, geometric, arithmetic"),
        ({"tokenise": "wrods"}, "tokenise must be one of words"),
        ({"trim": 0.5}, "trim must be at least 0 and below 0.5"),
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"batch": 1}, "batch must be at least 2"),
        ({"margin": 0.0}, "margin must be above 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"scale": (5.0, 1.0)}, "scale must be the lowest score and a higher one"),
        ({"start": "hred", "layers": 2}, "layers is for a GRU without start"),
    ],
)
def test_wrong_parameters(wrong: dict[str, object], problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        Ruber(**wrong)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=[1, 2])
def hred(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hred") / "model"
    HredModel(vocabulary=300, embedding=12, hidden=16, epochs=1, layers=request.param).fit(questions()).save(folder)
    return folder


@pytest.mark.parametrize("encoder", ["gru", "hierarchical"])
def test_it_starts_from_a_hred(encoder: str, hred: Path, tmp_path: Path) -> None:
    network, reader = from_hred(
        load_reply_model(hred), hierarchical=True, speaker=3, units=4, dropout=0.0, max_length=60
    )
    context = ("tell me about tea", "well tea is what i like")
    rows = reader.rows(context)
    turns = torch.stack([network.texts(torch.from_numpy(row)[None], torch.tensor([len(row)]))[0] for row in rows])
    found = network.contexts(turns[None], torch.ones(1, 2, dtype=torch.int64), torch.tensor([2]))
    np.testing.assert_allclose(
        found[0, :16].detach().numpy(), load_reply_model(hred).encode_contexts((context,))[0], atol=1e-6
    )
    part = RuberUnref(encoder=encoder, start=str(hred), epochs=2).fit(questions())
    part.save(tmp_path / "model")
    scores = part.score(topics_in_order(2))
    np.testing.assert_array_equal(RuberUnref.load(tmp_path / "model").score(topics_in_order(2)), scores)
    assert part.trained_contexts.holds([replace(topics_in_order()[0], context=context)]).all()


def test_what_it_cannot_start_from(tmp_path: Path) -> None:
    Bm25().fit(questions()).save(tmp_path / "bm25")
    with pytest.raises(CallError, match="can start from a hred, not from the reply model bm25"):
        RuberUnref(start=str(tmp_path / "bm25")).fit(questions())
