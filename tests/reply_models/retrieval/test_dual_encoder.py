"""Dual encoders: M is learned, two RNNs are, and the graph finds the same neighbours as exact search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_dialogues import CONTEXTS, DIALOGUES, small_parameters

torch = pytest.importorskip("torch", reason="needs what training needs")

from papers.reply_models.recall import recall  # noqa: E402
from rejoinder.arrays import Vectors  # noqa: E402
from rejoinder.errors import CallError, DataError  # noqa: E402
from rejoinder.learning.loop import train_stage  # noqa: E402
from rejoinder.learning.run import TrainingRun  # noqa: E402
from rejoinder.replies.corpus import ExactIndex, GraphIndex, index_of  # noqa: E402
from rejoinder.replies.dual_encoder import DualEncoder, RecurrentDualEncoder  # noqa: E402
from rejoinder.replies.dual_network import (  # noqa: E402
    BilinearHead,
    PairStage,
    TokenPlace,
    VectorPairs,
    pair_loss,
    wrong_replies,
)
from rejoinder.types import Dialogue  # noqa: E402


def learned(pairs: VectorPairs, valid: VectorPairs | None, **parameters: Any) -> tuple[Vectors, float]:
    """M and b, as a dual encoder with these parameters learns them."""
    head = BilinearHead(pairs.contexts.shape[1])
    model = DualEncoder(encoder="any", **parameters)
    train_stage(PairStage(head, pairs, valid, 1, model.negatives), model.schedule, 1, None, "key")
    return head.matrix.detach().numpy(), float(head.bias.detach())


def test_m_learns_which_reply_belongs_to_which_context() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    turned = vectors @ np.linalg.qr(rng.normal(size=(16, 16)))[0].astype(np.float32)  # not similar before M
    pairs = VectorPairs(vectors, turned, np.arange(40))
    matrix, bias = learned(pairs, None, epochs=150, learning_rate=0.1)
    logits = vectors @ matrix @ turned.T + bias
    assert (logits.argmax(axis=1) == np.arange(40)).mean() > 0.95
    assert (1 / (1 + np.exp(-np.diag(logits)))).mean() > 0.8


def test_validation_ends_training_and_keeps_the_best() -> None:
    rng = np.random.default_rng(0)
    train, valid = (
        VectorPairs(
            rng.normal(size=(20, 8)).astype(np.float32), rng.normal(size=(20, 8)).astype(np.float32), np.arange(20)
        )
        for _ in range(2)
    )
    stopped, _ = learned(train, valid, epochs=100, learning_rate=0.2)  # other random pairs cannot be learned from these
    overfitted, _ = learned(train, None, epochs=100, learning_rate=0.2)
    assert np.abs(overfitted - stopped).max() > 1


def test_the_loss_of_pairs_by_hand() -> None:
    # c^T M r + b is 5 - 2.5 for equal unit vectors and -2.5 for orthogonal ones; a wrong reply equal to the true one
    # does not count.
    replies = np.eye(2, dtype=np.float32)
    stage = PairStage(BilinearHead(2), VectorPairs(replies[:1], replies, np.array([0])), None, 0, 2)
    found = stage._cross_entropy(stage.network, stage.pairs, torch.tensor([0]), torch.tensor([[0, 1]]))
    assert float(found.detach()) == pytest.approx(np.log1p(np.exp(-2.5)), rel=1e-6)


def test_probabilities_rank_candidates_as_replies_do() -> None:
    model = DualEncoder(**small_parameters("dual-encoder")).fit(DIALOGUES, valid=DIALOGUES[:1])
    scores = model.candidate_scores(CONTEXTS, [model.corpus_.replies] * len(CONTEXTS))
    assert all(((one > 0) & (one < 1)).all() for one in scores)
    assert model.reply(CONTEXTS) == [model.corpus_.replies[int(one.argmax())] for one in scores]
    best = model.reply(CONTEXTS[:1])
    assert model.reply(CONTEXTS[:1], true_replies=best) != best


def test_exact_neighbours_are_in_order() -> None:
    vectors = np.eye(4, dtype=np.float32)
    query = np.array([[0.1, 0.9, 0.5, 0.0]], np.float32)
    assert ExactIndex(vectors).search(query, 3).tolist() == [[1, 2, 0]]
    assert ExactIndex(vectors[:1]).search(query, 2).tolist() == [[0, -1]]


def test_the_graph_finds_the_same_neighbours_as_exact_search(tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="needs the extra retrieval")
    rng = np.random.default_rng(1)
    vectors, queries = (rng.normal(size=(n, 16)).astype(np.float32) for n in (500, 50))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    graph = index_of(vectors, exact_up_to=499)
    assert isinstance(graph, GraphIndex)
    assert isinstance(index_of(vectors, exact_up_to=500), ExactIndex)
    exact = ExactIndex(vectors).search(queries, 2)
    assert (graph.search(queries, 2) == exact).mean() > 0.95
    again = GraphIndex.from_arrays(graph.arrays(), vectors, tmp_path)
    np.testing.assert_array_equal(again.search(queries, 2), graph.search(queries, 2))
    with pytest.raises(DataError, match="is not a graph over 499 vectors"):
        GraphIndex.from_arrays(graph.arrays(), vectors[1:], tmp_path)
    with pytest.raises(DataError, match="is not a graph over 500 vectors"):
        GraphIndex.from_arrays({"graph": np.zeros(64, np.uint8)}, vectors, tmp_path)
    model = DualEncoder(**small_parameters("dual-encoder"), exact_up_to=1).fit(DIALOGUES)
    model.save(tmp_path / "model")
    assert DualEncoder.load(tmp_path / "model").reply(CONTEXTS) == model.reply(CONTEXTS)


def test_a_graph_that_names_a_file_is_refused_before_faiss_opens_it(tmp_path: Path) -> None:
    """faiss keeps the lists of some indexes on disk, in a file that the serialized index names."""
    faiss = pytest.importorskip("faiss", reason="needs the extra retrieval")
    vectors = np.random.default_rng(1).random((50, 8), dtype=np.float32)
    elsewhere = tmp_path / "elsewhere.bin"
    inverted = faiss.IndexIVFFlat(faiss.IndexFlatIP(8), 8, 1, faiss.METRIC_INNER_PRODUCT)
    inverted.train(vectors)
    lists = faiss.OnDiskInvertedLists(1, inverted.code_size, str(elsewhere))
    inverted.replace_invlists(lists, False)
    inverted.add(vectors)
    named = faiss.serialize_index(inverted).tobytes()
    graph = GraphIndex.of(vectors)
    whole = graph.arrays()["graph"].tobytes()
    flat = faiss.serialize_index(faiss.downcast_index(graph.graph.storage)).tobytes()
    assert whole.endswith(flat)
    elsewhere.unlink()
    for content in (whole.removesuffix(flat) + named, named, whole + named):
        assert str(elsewhere).encode() in content
        with pytest.raises(DataError, match="field 'graph': is not a graph over 50 vectors"):
            GraphIndex.from_arrays({"graph": np.frombuffer(content, np.uint8)}, vectors, tmp_path)
    assert not elsewhere.exists()


@pytest.mark.parametrize("part", ["levels", "offsets", "neighbors"])
@pytest.mark.parametrize("value", [(1 << 31) - 1, 1 << 20, "highest"])
def test_a_graph_with_a_wrong_number_is_refused(part: str, value: int | str, tmp_path: Path) -> None:
    """faiss would follow it to memory that is not the graph's."""
    faiss = pytest.importorskip("faiss", reason="needs the extra retrieval")
    vectors = np.random.default_rng(1).random((200, 8), dtype=np.float32)
    index = GraphIndex.of(vectors)
    hnsw = index.graph.hnsw
    numbers = faiss.vector_to_array(getattr(hnsw, part))
    if value != "highest":
        numbers[len(numbers) // 2] = value
    elif part == "neighbors":  # a row of the upper level links to one that the level does not have
        levels, offsets = (faiss.vector_to_array(getattr(hnsw, name)) for name in ("levels", "offsets"))
        numbers[offsets[levels.argmax()] + hnsw.cum_nneighbor_per_level.at(1)] = levels.argmin()
    else:
        numbers[numbers.argmax()] += 1
    faiss.copy_array_to_vector(numbers, getattr(hnsw, part))
    with pytest.raises(DataError, match="is not a graph over 200 vectors"):
        GraphIndex.from_arrays(index.arrays(), vectors, tmp_path)


def test_wrong_parameters() -> None:
    with pytest.raises(CallError, match="negatives must be at least 1"):
        DualEncoder(encoder="any", negatives=0)
    with pytest.raises(CallError, match="learning_rate must be above 0"):
        DualEncoder(encoder="any", learning_rate=0)


def things(count: int) -> list[Dialogue]:
    """Questions whose answers cannot be found by shared words."""
    words = "tea rain chess bread music paper water stone river cloud".split()
    return [
        Dialogue(str(n), (f"Do you like {words[n % 10]} {words[n // 10]}?", f"I like {words[(3 * n + 1) % 10]} {n}."))
        for n in range(count)
    ]


@pytest.mark.slow
def test_two_rnns_learn_which_reply_belongs_to_which_context() -> None:
    dialogues = things(20)
    small = {"vocabulary": 400, "embedding": 16, "hidden": 24, "dropout": 0.0, "batch": 20}
    model = RecurrentDualEncoder(**small, epochs=120, learning_rate=0.02).fit(dialogues, seed=1)  # type: ignore[arg-type]
    contexts, true = [one.turns[:1] for one in dialogues], [one.turns[1] for one in dialogues]
    assert np.mean([said == truth for said, truth in zip(model.reply(contexts), true, strict=True)]) > 0.9
    scores = model.candidate_scores(contexts, [true] * 20)
    assert np.mean([one[row] for row, one in enumerate(scores)]) > 0.8
    assert np.mean([np.delete(one, row) for row, one in enumerate(scores)]) < 0.05
    assert recall(model, dialogues).at[1].estimate > 0.9
    untrained = RecurrentDualEncoder(**small, epochs=1, learning_rate=1e-6).fit(dialogues, seed=1)  # type: ignore[arg-type]
    assert recall(untrained, dialogues).at[1].estimate < 0.4


def test_validation_of_two_rnns_keeps_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    run = TrainingRun(quiet=False)
    model = RecurrentDualEncoder(**small_parameters("dual-encoder-rnn"), batch=2)
    model.fit(DIALOGUES, valid=things(12), run=run)
    assert "recall@1 of 10 0." in capsys.readouterr().err
    assert model.vectors_.shape == (len(model.corpus_), model.hidden)


def test_the_loss_of_two_rnns_by_hand() -> None:
    places = [TokenPlace((4,), (5, 2)), TokenPlace((6,), (7, 2)), TokenPlace((8,), (5, 2))]
    wrong = wrong_replies(places)
    assert wrong.tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    # ln 2 for each p of one half: one true and `negatives` wrong replies per place, however many there are.
    assert float(pair_loss(torch.zeros(3, 3), wrong, 9)) == pytest.approx(np.log(2))
    logits = torch.tensor([[2.0, -1.0], [-1.0, 2.0]])
    # ln(1 + e^-2) + 3 ln(1 + e^-1) over 1 + 3
    expected = (np.log1p(np.exp(-2)) + 3 * np.log1p(np.exp(-1))) / 4
    assert float(pair_loss(logits, ~torch.eye(2, dtype=torch.bool), 3)) == pytest.approx(expected, rel=1e-6)
