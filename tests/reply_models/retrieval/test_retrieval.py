"""R-TFIDF, C-TFIDF and BM25, checked by hand and against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge

from papers.reply_models.recall import chance_of_rank, drawn_candidates, recall
from rejoinder.arrays import Floats
from rejoinder.data.negatives import places_of
from rejoinder.errors import CallError, NeedsError
from rejoinder.replies.corpus import Retrieval
from rejoinder.replies.lexical import Bm25, ContextTfidf, ResponseTfidf
from rejoinder.replies.rerank import FEATURES, RetrieveRerank
from rejoinder.types import Dialogue
from small_dialogues import DIALOGUES

MODELS = [ResponseTfidf, ContextTfidf, Bm25, RetrieveRerank]


def test_r_tfidf_finds_the_reply_with_similar_words() -> None:
    model = ResponseTfidf().fit(DIALOGUES)
    assert model.reply([["Is there a forecast of rain?"]]) == ["The forecast says heavy rain."]


def test_c_tfidf_finds_the_reply_to_a_similar_context() -> None:
    model = ContextTfidf().fit(DIALOGUES)
    assert model.reply([["How would you bake bread?"]]) == ["With flour, water and salt."]


@pytest.mark.parametrize("model", MODELS)
def test_one_occurrence_of_the_true_reply_is_left_out(model: type[Retrieval]) -> None:
    fitted = model().fit(DIALOGUES)
    context, truth = ("Will it rain today",), DIALOGUES[1].turns[1]
    assert fitted.reply([context]) == [truth]
    assert fitted.reply([context], true_replies=[truth]) != [truth]
    assert fitted.reply([context], true_replies=["never said"]) == [truth]


@pytest.mark.parametrize("model", MODELS)
def test_another_occurrence_may_still_be_found(model: type[Retrieval]) -> None:
    twice = [DIALOGUES[1], Dialogue("again", DIALOGUES[1].turns[:2]), DIALOGUES[2]]
    context, truth = DIALOGUES[1].turns[:1], DIALOGUES[1].turns[1]
    assert model().fit(twice).reply([context], true_replies=[truth]) == [truth]


def test_c_tfidf_leaves_out_the_occurrence_of_this_very_context() -> None:
    dialogues = [Dialogue("a", ("red apples", "Same.")), Dialogue("b", ("blue plums", "Same.")), *DIALOGUES]
    model = ContextTfidf().fit(dialogues)
    request_row = model.corpus_._left_out(("blue plums",), "Same.")
    assert request_row == 1


@pytest.mark.parametrize("model", MODELS)
def test_a_context_without_a_known_word_gets_a_random_reply(model: type[Retrieval]) -> None:
    fitted = model().fit(DIALOGUES)
    drawn = {fitted.reply([["zzz qqq"]], seed=seed)[0] for seed in range(30)}
    assert len(drawn) > 3
    assert fitted.reply([["zzz qqq"]], seed=4) == fitted.reply([["zzz qqq"]], seed=4)


def test_tfidf_weights_are_those_of_the_paper() -> None:
    model = ResponseTfidf().fit(DIALOGUES)
    weights = dict(zip(model.vocabulary_.words, model.word_weights_.tolist(), strict=True))
    # Liu et al. 2016, section 3: log(N / number of dialogues with the word)
    assert weights["tea"] == pytest.approx(math.log(4 / 1))
    assert weights["thanks"] == pytest.approx(math.log(4 / 2))
    assert weights["."] == 0


def test_tfidf_similarity_is_that_of_sklearn_counts() -> None:
    model = ResponseTfidf().fit(DIALOGUES)
    counter = CountVectorizer(token_pattern=r"[\w']+|[^\w\s]", vocabulary=model.vocabulary_.words)
    context, candidates = ("Do you take lemon in your tea?",), ["Green tea please.", "No yeast, no bread.", "???"]
    rows = counter.transform([*context, *candidates]).toarray() * model.word_weights_
    lengths = np.linalg.norm(rows, axis=1)
    expected = rows[1:] @ rows[0] / (lengths[0] * np.where(lengths[1:] > 0, lengths[1:], 1))
    np.testing.assert_allclose(model.candidate_scores([context], [candidates])[0], expected, atol=1e-6)


def test_bm25_by_hand() -> None:
    dialogues = [Dialogue("1", ("x", "a a b")), Dialogue("2", ("x", "b c")), Dialogue("3", ("x", "c"))]
    model = Bm25(k1=1.5, b=0.5).fit(dialogues)
    # idf(a) = log(1 + (3 - 1 + .5) / (1 + .5)); length 3, mean length 2.
    idf_a, idf_b = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    slack = 1.5 * (1 - 0.5 + 0.5 * 3 / 2)
    expected = idf_a * 2 * 2.5 / (2 + slack) + idf_b * 1 * 2.5 / (1 + slack)
    found = model.candidate_scores([("a b a z",)], [["a a b"]])
    assert found[0].tolist() == pytest.approx([expected])


def test_only_the_last_turns_may_count() -> None:
    context = ["Will it rain today?", "Do you play chess?"]
    assert ContextTfidf(turns=1).fit(DIALOGUES).reply([context]) == ["I love chess, I play every day."]
    with pytest.raises(CallError, match="turns must be at least 1"):
        ContextTfidf(turns=0)
    with pytest.raises(CallError, match="b must be from 0 to 1"):
        Bm25(b=2)


def test_a_corpus_of_one_reply_has_nothing_to_choose() -> None:
    model = ResponseTfidf().fit([Dialogue("1", ("hello", "hi")), Dialogue("2", ("good day", "hi"))])
    assert model.reply([["zzz"]], true_replies=["hi"]) == ["hi"]


def test_too_little_to_learn_from() -> None:
    with pytest.raises(NeedsError, match="expected dialogues with at least two replies, found 1"):
        ResponseTfidf().fit([Dialogue("1", ("hello", "hi"))])


def test_chance_of_rank_shares_ties() -> None:
    assert chance_of_rank(np.array([2.0, 1.0, 0.0]), 1) == 1
    assert chance_of_rank(np.array([1.0, 2.0, 0.0]), 1) == 0
    assert chance_of_rank(np.array([0.0, 0.0, 0.0, 0.0]), 1) == 0.25
    assert chance_of_rank(np.array([0.0, 1.0, 0.0, 0.0]), 2) == pytest.approx(1 / 3)


def test_candidates_are_different_and_the_truth_is_first() -> None:
    places = places_of(DIALOGUES)
    for place, offered in zip(places, drawn_candidates(places, 5, seed=1), strict=True):
        assert offered[0] == place.response
        assert len(set(offered)) == 5
        assert not set(offered[1:]) & ({*place.dialogue.turns} - {"Thanks!"})
    assert drawn_candidates(places, 5, seed=1) == drawn_candidates(places, 5, seed=1)
    with pytest.raises(NeedsError):
        drawn_candidates(places, 50, seed=1)


@pytest.mark.parametrize("model", MODELS)
def test_recall_of_what_was_learned_by_heart(model: type[Retrieval]) -> None:
    found = recall(model().fit(DIALOGUES), DIALOGUES, candidates=5, at=(1, 4), resamples=50)
    assert found.contexts == 12
    assert 0.3 < found.at[1].estimate <= found.at[4].estimate <= 1
    assert "recall of 5: @1 0." in str(found) or "recall of 5: @1 1." in str(found)
    with pytest.raises(CallError, match="expected each k"):
        recall(model().fit(DIALOGUES), DIALOGUES, candidates=5, at=(5,))


def test_the_features_of_candidates_by_hand() -> None:
    model = RetrieveRerank().fit(DIALOGUES)
    context = DIALOGUES[1].turns[:1]
    [(rows, features)] = model._fitted_candidates.described([context], np.array([-1]))
    assert model.corpus_.text(int(rows[0])) == "The forecast says heavy rain."
    # The same query; one occurrence; six words with the full stop; no earlier turns.
    assert features[0, [0, 1]].tolist() == pytest.approx([1, 1])
    assert features[0, [4, 5, 6]].tolist() == pytest.approx([0, math.log(1 + 6), math.log(1 + 1)])
    replies = [model.corpus_.text(row) for row in rows.tolist()]
    np.testing.assert_allclose(features[:, 2], ResponseTfidf().fit(DIALOGUES).candidate_scores([context], [replies])[0])
    assert features.shape[1] == len(FEATURES)


def test_the_weighted_sum_decides_among_the_candidates() -> None:
    dialogues = [Dialogue(str(n), ("what about rain", "well " * n + "rain")) for n in range(1, 6)]
    model = RetrieveRerank().fit([*dialogues, *DIALOGUES])
    for weight, chosen in ((1.0, 5), (-1.0, 1)):
        object.__setattr__(model, "feature_weights_", np.eye(len(FEATURES))[5] * weight)  # the number of words alone
        assert model.reply([["what about rain"]]) == ["well " * chosen + "rain"]


def test_the_weights_are_those_of_ridge_regression() -> None:
    model = RetrieveRerank().fit(DIALOGUES, seed=3)
    places = places_of(DIALOGUES)
    table, own = model._fitted_candidates, np.arange(len(places))
    found = list(table.described([place.context for place in places], own))
    assert not any(row in rows for row, (rows, _) in zip(own, found, strict=True)), "a place is not its own candidate"
    wanted = []
    for row, (rows, _) in zip(own.tolist(), found, strict=True):
        texts = table.texts([places[row].response] * len(rows)), table.texts([model.corpus_.text(one) for one in rows])
        words = np.asarray(texts[0].words.multiply(texts[1].words).sum(axis=1)).ravel()
        wanted += ((words + paired_cosine(texts[0].means, texts[1].means)) / 2).tolist()
    matrix = np.concatenate([features for _, features in found])
    spread = np.where(matrix.std(axis=0) > 0, matrix.std(axis=0), 1)
    peer = Ridge(alpha=1e-3 * len(matrix)).fit((matrix - matrix.mean(axis=0)) / spread, wanted)
    np.testing.assert_allclose(model.feature_weights_, peer.coef_ / spread, atol=1e-6)


def paired_cosine(left: Floats, right: Floats) -> Floats:
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    found: Floats = (left * right).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    return found
