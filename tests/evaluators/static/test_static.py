"""The evaluator over static word vectors: what it counts, what it learns, and that it needs no neural library."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rejoinder.arrays import Ragged
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.evaluators.static import training
from rejoinder.evaluators.static import training as stages
from rejoinder.evaluators.static.reading import COUNTS, WordIds, count_columns
from rejoinder.evaluators.static.static import ARRAYS, Static
from rejoinder.evaluators.static.training import (
    MatchingStage,
    ScoreStage,
    StaticTargets,
    StaticTowers,
    TrainableNetwork,
    draw_places,
)
from rejoinder.folders.foreign import saved_arrays
from rejoinder.folders.saved import write_arrays
from rejoinder.learning.data import TrainingData
from rejoinder.learning.run import TrainingRun
from rejoinder.learning.torch_parts import in_batch_loss
from rejoinder.models.ngram import SPECIAL, NgramCounts, NgramModel
from rejoinder.models.smoothing import kneser_ney
from rejoinder.registry import load
from rejoinder.text.vectors import load_vectors
from rejoinder.training.distil import distill_static
from rejoinder.types import Dialogue, Example, JudgedExample

TOPICS = "tea rain chess jazz bread snow tennis paint gold maps trains owls soup dance moons ships".split()
WORDS = [*TOPICS, *"do you like yes i a lot no not at all what is that ? . !".split()]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small vector file, in GloVe's format."""
    path = tmp_path_factory.mktemp("vectors") / "small.txt"
    rng = np.random.default_rng(0)
    path.write_text("\n".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=8))}" for word in WORDS) + "\n")
    return str(path)


def judged(count: int = 240) -> list[JudgedExample]:
    """Questions about a topic; a reply about the same topic is good, one about another is bad."""
    rng = np.random.default_rng(0)
    items = []
    for row in range(count):
        topic = TOPICS[row // 2 % len(TOPICS)]
        other = TOPICS[(row // 2 + int(rng.integers(1, len(TOPICS)))) % len(TOPICS)]
        context = ("what is that ?", f"{other} {row // 2}.", f"do you like {topic} {row // 2} ?")
        reply = f"yes i like {topic if row % 2 else other} a lot !"
        items.append(JudgedExample(Example(str(row), context, reply), {"teacher": (4.5 if row % 2 else 1.5,)}))
    return items


@pytest.fixture(scope="module")
def fitted(vectors: str) -> Static:
    return Static(vectors=vectors, scale=(1.0, 5.0), epochs=30).fit((), judged())


def by_name(example: Example, known: NgramModel) -> dict[str, float]:
    return dict(zip(COUNTS, count_columns(WordIds.of([example], known), known)[0].tolist(), strict=True))


@pytest.fixture(scope="module")
def known() -> NgramModel:
    words = ["i", "like", "tea", "you", "?", "."]
    return kneser_ney(NgramCounts.of(words, Ragged.of([[0, 1, 2, 5], [3, 1, 2, 4], [0, 1, 2, 5]]), order=2))


def test_it_learns_which_reply_fits(fitted: Static) -> None:
    items = judged()
    scores = fitted.score([item.example for item in items])
    wanted = np.array([item.scores["teacher"][0] for item in items])
    assert np.corrcoef(scores, wanted)[0, 1] > 0.9
    assert scores.min() >= 1
    assert scores.max() <= 5


def test_counts_by_hand(known: NgramModel) -> None:
    found = by_name(Example("", ("You like tea.", "tea?", "I like tea?"), "I like tea. tea tea"), known)
    assert found["words of the reply"] == pytest.approx(np.log(7))
    assert found["words of the last turn"] == pytest.approx(np.log(5))
    assert found["words before it"] == pytest.approx(np.log(7))
    assert found["turns"] == pytest.approx(np.log(4))
    # Of the pairs (i like) (like tea) (tea .) (. tea) (tea tea), two are in the last turn and none in "tea?".
    assert found["pairs from the last turn"] == pytest.approx(2 / 5)
    assert found["pairs from the replier's last turn"] == 0
    assert found["words said twice"] == pytest.approx(2 / 6)
    assert found["pairs said twice"] == 0
    assert (found["asked"], found["asks"], found["ends a sentence"]) == (1, 0, 0)
    assert found["unknown words"] == 0


def test_what_is_echoed_is_weighted_by_rarity(known: NgramModel) -> None:
    found = by_name(Example("", ("you",), "you tea"), known)
    you, tea = -known.levels[0].log_prob[known.numbers(["you", "tea"])]
    assert found["rare words from the last turn"] == pytest.approx(you / (you + tea), rel=1e-6)
    assert found["rare words of the last turn taken up"] == 1
    assert found["rare words from before"] == 0


def test_likelihood_is_that_of_the_language_model(known: NgramModel) -> None:
    usual, shuffled = (by_name(Example("", ("you",), text), known) for text in ("I like tea.", "tea. like I"))
    row = Ragged.of([[*known.numbers(["i", "like", "tea", "."]).tolist(), 2]])  # 2: the end
    assert usual["likelihood"] == pytest.approx(known.mean_log_probs(row)[0], rel=1e-6)
    assert usual["likelihood"] > shuffled["likelihood"]
    assert usual["rarity"] == pytest.approx(shuffled["rarity"])


def test_unknown_words_and_texts_without_words_are_read(known: NgramModel) -> None:
    assert by_name(Example("", ("hm",), "tea qwrtz"), known)["unknown words"] == 0.5
    reading = WordIds.of([Example("", ("",), "\u00a0"), Example("", ("tea", ""), "i")], known)
    assert reading.lengths.tolist() == [[0, 0, 0, 0], [0, 1, 0, 1]]
    assert np.isfinite(count_columns(reading, known)).all()


def test_torch_and_numpy_compute_the_same(vectors: str) -> None:
    words = load_vectors(vectors)
    model = training.language_model(words, ["i like tea ."], 0.0)
    rows = StaticTargets.of(judged(40), None, (1.0, 5.0), model)
    network = TrainableNetwork.start(words, model, hidden=16, seed=0)
    network.standardise(rows.reading, rows.counts)
    in_torch = network.eval()(rows.reading, rows.counts).detach().numpy()
    assert np.ptp(in_torch) > 0.05
    # The tolerance is for word vectors rounded to int8.
    np.testing.assert_allclose(network.finished().score(rows.reading, rows.counts), in_torch, atol=0.01)


def test_the_folder_is_small_and_comes_back_whole(fitted: Static, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    arrays = saved_arrays(tmp_path / "model" / ARRAYS)
    assert arrays["table"].dtype == np.int8
    assert arrays["pairs"].dtype == np.uint32
    examples = [item.example for item in judged()]
    np.testing.assert_array_equal(load(tmp_path / "model").score(examples), fitted.score(examples))
    del arrays["bridge"]
    write_arrays(tmp_path / "model" / ARRAYS, arrays)
    with pytest.raises(DataError, match="'bridge': is missing"):
        Static.load(tmp_path / "model")


def test_scoring_imports_no_neural_library(fitted: Static, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    code = (
        "import sys, rejoinder; model = rejoinder.load(sys.argv[1]);"
        "model.score([rejoinder.Example('1', ('do you like tea ?',), 'yes')]);"
        "print(*{'torch', 'onnxruntime', 'tokenizers', 'transformers'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_dialogues_teach_which_words_follow_which(vectors: str) -> None:
    spoken = [Dialogue("d", ("i like tea .", "yes you do like tea .")) for _ in range(5)]
    model = Static(vectors=vectors, scale=(1.0, 5.0), epochs=1, prune=0.0).fit(spoken, judged(20)).known_
    like, tea, owls = model.numbers(["like", "tea", "owls"]).tolist()
    after = model.last_word_log_probs(np.array([[like, tea], [like, owls]]))
    assert after[0] > after[1] + 1


def test_dialogues_teach_which_reply_answers_which_turn(vectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "MATCHING_RATE", 0.02)  # so little text
    pairs = zip(TOPICS[::2], TOPICS[1::2], strict=True)
    spoken = [Dialogue(asked, (f"do you like {asked} ?", f"i like {told} .")) for asked, told in pairs]
    words = load_vectors(vectors)
    model = training.language_model(words, [turn for dialogue in spoken for turn in dialogue.turns], 0.0)
    network = TrainableNetwork.start(words, model, hidden=4, seed=0)
    reading = WordIds.of([Example("", each.turns[:1], each.turns[1]) for each in spoken], model)

    def rightly_matched() -> int:
        replies, last_turns, _ = StaticTowers(network)(reading)
        return int(((last_turns @ replies.T).argmax(1) == torch.arange(len(spoken))).sum())

    assert rightly_matched() < len(spoken) / 2
    training.match_replies(network, model, TrainingData(tuple(spoken)), passes=60)
    assert rightly_matched() == len(spoken)
    assert not network.vectors[: len(SPECIAL)].any(), "marks and unknown words stay without a vector"


def test_earlier_turns_count_half_in_the_matching_loss(known: NgramModel) -> None:
    places = [Example("", ("i ?", f"you {word}"), f"{word} .") for word in ("like", "tea", "i")]
    replies, last, before = torch.nn.functional.normalize(torch.randn(3, 3, 4, generator=torch.manual_seed(0)), dim=2)
    towers: Any = None  # only `forward` computes
    stage = MatchingStage(towers, places, known, 0)
    found = stage.loss(lambda reading: (replies, last, before), [0, 1, 2], 0)
    every = torch.ones(3, 3, dtype=torch.bool)
    expected = in_batch_loss(last, replies, every) + 0.5 * in_batch_loss(before, replies, every)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def test_validation_without_differences(known: NgramModel) -> None:
    held_out = StaticTargets.of(judged(8), None, (1.0, 5.0), known)

    class Constant:
        """Gives every reply the same score."""

        def finished(self) -> Constant:
            return self

        def score(self, reading: WordIds, counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return np.full(len(reading), 2.0)

    network: Any = Constant()
    assert ScoreStage(network, held_out, held_out, 0).validate() == -1, "equal scores are as bad as can be"
    equal = replace(held_out, wanted=np.full(len(held_out), 3.0))
    assert ScoreStage(network, held_out, equal, 0).validate() is None, "no correlation with equal labels"
    assert ScoreStage(network, held_out, None, 0).validate() is None


def test_places_are_turns_that_answer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    spoken = [Dialogue("1", ("x", "y")), Dialogue("2", ("z",)), Dialogue("3", ("a", "b", " ", "c", "d", "e", "f"))]
    found = draw_places(spoken, seed=0)
    assert sorted((example.response, example.context) for example in found) == [
        ("b", ("a",)),
        ("d", ("a", "b", " ", "c")),
        ("e", ("b", " ", "c", "d")),
        ("f", (" ", "c", "d", "e")),
        ("y", ("x",)),
    ]
    assert draw_places([], seed=0) == []
    monkeypatch.setattr(stages, "MOST_PLACES", 2)
    assert len(draw_places(spoken[:1] * 9, seed=0)) == 2


@pytest.mark.parametrize(("stage", "stop_at"), [(MatchingStage, 2), (ScoreStage, 3)])
def test_a_resumed_run_gives_the_weights_of_an_uninterrupted_one(
    stage: Any, stop_at: int, vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "PLACES", 8)
    monkeypatch.setattr(training, "REPLIES", 40)
    spoken = [Dialogue(topic, (f"do you like {topic} ?", f"i like {topic} .")) for topic in TOPICS]
    evaluator = Static(vectors=vectors, epochs=2, passes=2)
    whole = evaluator.clone().fit(spoken, judged(), seed=3)
    run, loss = TrainingRun(checkpoints=tmp_path / "checkpoints", save_every=1), stage.loss
    steps: list[int] = []

    def counted(*given: Any) -> Any:
        if len(steps) == stop_at:
            raise KeyboardInterrupt
        steps.append(1)
        return loss(*given)

    with monkeypatch.context() as patched:
        patched.setattr(stage, "loss", counted)
        with pytest.raises(KeyboardInterrupt):
            evaluator.fit(spoken, judged(), seed=3, run=run)
    evaluator.fit(spoken, judged(), seed=3, run=replace(run, resume=True))
    for name, array in whole.network_.arrays.items():
        np.testing.assert_array_equal(getattr(evaluator.network_, name), array)


def test_quiet_or_not(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    spoken = [Dialogue(topic, (f"do you like {topic} ?", f"i like {topic} .")) for topic in TOPICS]
    evaluator = Static(vectors=vectors, epochs=2, passes=1)
    evaluator.fit(spoken, judged())
    assert capsys.readouterr() == ("", "")
    evaluator.fit(spoken, judged(), run=TrainingRun(quiet=False))
    err = capsys.readouterr().err
    assert "matching: step 1 of 1, loss" in err
    assert "scores: step 2 of 2, loss" in err


def test_contexts_with_the_same_end_are_validated_on_together() -> None:
    end = "and say it at such length that it is no formula"
    whole = [replace(item, example=replace(item.example, context=(*item.example.context, end))) for item in judged()]
    shorter = [replace(item, example=replace(item.example, context=item.example.context[1:])) for item in whole]
    learn, valid = training.split(TrainingData(judged=(*whole, *shorter)))
    assert (len(learn), len(valid)) == (432, 48)
    assert not {item.example.context[-2:] for item in learn} & {item.example.context[-2:] for item in valid}


def test_contexts_without_a_turn_cannot_be_scored(fitted: Static) -> None:
    assert np.isnan(fitted.score([Example("1", (), "yes")])).all()


def test_what_makes_no_sense_is_refused(vectors: str) -> None:
    with pytest.raises(NeedsError, match="static learns from judged examples"):
        Static(vectors=vectors).fit([Dialogue("d", ("hello", "hi"))])
    with pytest.raises(CallError, match="no judged example has both"):
        Static(vectors=vectors, scale=(1.0, 5.0)).fit((), [JudgedExample(Example("1", (), "yes"), {"teacher": (2.0,)})])
    for wrong in ({"hidden": 0}, {"passes": -1}, {"epochs": 0}, {"prune": 1.0}, {"scale": (5.0, 1.0)}):
        with pytest.raises(CallError, match=f"static: {next(iter(wrong))} must be"):
            Static(**wrong)


def test_a_teacher_is_learned_from_and_what_it_saw_is_remembered(vectors: str, fitted: Static) -> None:
    candidates = [item.example for item in judged(120)]
    student = distill_static(Static(vectors=vectors, epochs=30), fitted, (), candidates)
    assert np.corrcoef(student.score(candidates), fitted.score(candidates))[0, 1] > 0.9
    assert student.trained_contexts.holds([item.example for item in judged()[200:]]).all()
    with pytest.raises(CallError, match="can score none"):
        distill_static(Static(vectors=vectors), fitted, (), [Example("1", (), "yes")])
