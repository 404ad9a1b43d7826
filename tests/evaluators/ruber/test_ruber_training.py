"""Training of RUBER's network: its losses by hand, resuming an interrupted run, time limit and silence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.errors import CallError
from rejoinder.evaluators.ruber.network import PairInput, PairNetwork, PairShape, PairTable, QuadraticHead, VectorInput
from rejoinder.evaluators.ruber.ruber import Ruber
from rejoinder.evaluators.ruber.training import RuberRankingStage, RuberRegressionStage
from rejoinder.evaluators.ruber.unref import RuberUnref
from rejoinder.learning.run import TrainingRun
from rejoinder.types import Dialogue, Example, JudgedExample
from topic_replies import questions, topics_in_order

WORDS = "tea rain chess jazz bread snow tennis paint gold maps trains owls".split()
TINY = {"hidden": 6, "units": 6, "dropout": 0.3, "epochs": 3, "label_epochs": 3, "batch": 16, "vectors": "corpus"}


def dialogues() -> list[Dialogue]:
    """Enough for some to be held out."""
    rng = np.random.default_rng(0)
    return [Dialogue(str(n), tuple(" ".join(rng.choice(WORDS, 4)) for _ in range(3))) for n in range(60)]


def judged() -> list[JudgedExample]:
    """Enough contexts for some to be held out; long replies are rated higher."""
    rng = np.random.default_rng(1)
    return [
        JudgedExample(
            Example(str(n), (" ".join(rng.choice(WORDS, 5)),), " ".join(rng.choice(WORDS, 1 + n % 5))),
            {"overall": (1.0 + n % 5,)},
        )
        for n in range(80)
    ]


class Interrupted:
    """Counts the steps of both stages, and stops before one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps, self.stop_at = 0, -1
        for stage in (RuberRankingStage, RuberRegressionStage):
            monkeypatch.setattr(stage, "loss", self._counted(stage.loss))

    def _counted(self, loss: Any) -> Any:
        def counted(stage: Any, *given: Any) -> Any:
            if self.steps == self.stop_at:
                raise KeyboardInterrupt
            self.steps += 1
            return loss(stage, *given)

        return counted


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Interrupted:
    return Interrupted(monkeypatch)


RANKING_STEPS = 3 * -(-108 // 16)  # three epochs over two turns of 54 dialogues
REGRESSION_STEPS = 3 * -(-72 // 30)


@pytest.mark.parametrize("encoder", ["gru", "hierarchical"])
@pytest.mark.parametrize("stop_at", [pytest.param(5, marks=pytest.mark.slow), RANKING_STEPS + 4])
def test_a_resumed_run_gives_the_weights_of_an_uninterrupted_one(
    encoder: str, stop_at: int, interrupted: Interrupted, tmp_path: Path
) -> None:
    evaluator = RuberUnref(encoder=encoder, **TINY)  # type: ignore[arg-type]
    whole = evaluator.clone().fit(dialogues(), judged(), seed=7)
    assert interrupted.steps == RANKING_STEPS + REGRESSION_STEPS
    run = TrainingRun(checkpoints=tmp_path / "checkpoints", save_every=2)
    interrupted.steps, interrupted.stop_at = 0, stop_at
    with pytest.raises(KeyboardInterrupt):
        evaluator.fit(dialogues(), judged(), seed=7, run=run)
    interrupted.steps, interrupted.stop_at = 0, -1
    evaluator.fit(dialogues(), judged(), seed=7, run=replace(run, resume=True))
    # Checkpoints are written every two steps, so that at most one step is repeated.
    assert interrupted.steps <= RANKING_STEPS + REGRESSION_STEPS - stop_at + 1
    found, expected = (each.scorer_.network.state_dict() for each in (evaluator, whole))
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_checkpoints_belong_to_one_run(interrupted: Interrupted, tmp_path: Path) -> None:
    evaluator = RuberUnref(**TINY)  # type: ignore[arg-type]
    run = TrainingRun(checkpoints=tmp_path / "checkpoints")
    evaluator.fit(dialogues(), seed=1, run=run)
    with pytest.raises(CallError, match="checkpoints of another run"):
        evaluator.fit(dialogues(), seed=2, run=replace(run, resume=True))
    interrupted.steps = 0
    evaluator.fit(dialogues(), seed=2, run=run)  # without resuming, it starts anew
    assert interrupted.steps == RANKING_STEPS


def test_tuning_can_be_resumed(interrupted: Interrupted, tmp_path: Path) -> None:
    model = Ruber(**TINY).fit(dialogues())  # type: ignore[arg-type]
    whole = model.tuned(judged())
    run = TrainingRun(checkpoints=tmp_path / "checkpoints", save_every=1)
    interrupted.steps, interrupted.stop_at = 0, 4
    with pytest.raises(KeyboardInterrupt):
        model.tuned(judged(), run=run)
    interrupted.stop_at = -1
    resumed = model.tuned(judged(), run=replace(run, resume=True))
    np.testing.assert_array_equal(resumed.unref.score(topics_in_order()), whole.unref.score(topics_in_order()))


def test_quiet_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    evaluator = RuberUnref(**TINY)  # type: ignore[arg-type]
    evaluator.fit(dialogues(), judged())
    assert capsys.readouterr() == ("", "")
    evaluator.fit(dialogues(), judged(), run=TrainingRun(quiet=False))
    out, err = capsys.readouterr()
    assert not out
    assert f"ranking: step {RANKING_STEPS} of {RANKING_STEPS}, loss" in err
    assert "regression: step 0 of 9, correlation" in err


def test_the_time_limit_ends_training(interrupted: Interrupted) -> None:
    evaluator = RuberUnref(**TINY | {"epochs": 100_000})  # type: ignore[arg-type]
    evaluator.fit(questions(), run=TrainingRun(minutes=1e-9))
    assert interrupted.steps == 1


def three_pairs() -> PairInput:
    """Four texts as unit vectors: a and c are contexts, b and d replies."""
    pairs = [ReplyInContext(("a",), (), "b"), ReplyInContext(("c",), (), "d"), ReplyInContext(("a",), (), "d")]
    table = PairTable.of(pairs, 1, hierarchical=False)
    assert table.texts == ("a", "c", "b", "d")
    return PairInput(table, VectorInput(np.eye(4, dtype=np.float32)))


def vector_network() -> PairNetwork:
    """A network over given vectors of size 4."""
    return PairNetwork(PairShape(dims=4, hidden=1, context_hidden=1, speaker=1, units=3, dropout=0.0))


def test_the_score_of_one_unit_by_hand() -> None:
    head = QuadraticHead(context_width=1, reply_width=1, units=1)
    weights = {"matrix": [[2.0]], "of_context.weight": [[0.5]], "of_context.bias": [0.1], "of_reply.weight": [[-0.3]]}
    weights |= {"of_product.weight": [[0.25]], "out.weight": [[2.0]], "out.bias": [-1.0]}
    head.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    # c = 1 and r = 0.4: 0.5 * 1 + 0.1 - 0.3 * 0.4 + 0.25 * (1 * 2 * 0.4) = 0.68, and 2 * tanh(0.68) - 1 = 0.18304
    assert head(torch.tensor([[1.0]]), torch.tensor([[[0.4]]])).item() == pytest.approx(0.18304, abs=1e-5)
    network = PairNetwork(PairShape(dims=1, hidden=1, context_hidden=1, speaker=1, units=1, dropout=0.0))
    network.head = head
    assert network.scores(torch.tensor([[1.0]]), torch.tensor([[[0.4]]])).item() == pytest.approx(0.54563, abs=1e-5)


def test_the_context_is_its_last_turn() -> None:
    turns = torch.tensor([[[1.0] * 4, [2.0] * 4, [0.0] * 4], [[3.0] * 4, [4.0] * 4, [5.0] * 4]])  # (rows, turns, width)
    found = vector_network().contexts(turns, torch.zeros(2, 3, dtype=torch.long), torch.tensor([2, 3]))
    assert found[:, 0].tolist() == [2, 5]


def test_losses_by_hand() -> None:
    torch.manual_seed(0)
    network, pairs, rows = vector_network(), three_pairs(), np.arange(3)
    human = np.array([0.0, 1.0, 0.5])
    regression = RuberRegressionStage(network, pairs, rows, rows, 0, human=human)
    vectors = torch.eye(4)
    with torch.no_grad():
        scores = network.scores(vectors[[0, 1, 0]], vectors[[2, 3, 3]][:, None])[:, 0]
        assert regression.loss(network, [0, 1, 2], 0) == pytest.approx(float(((scores.numpy() - human) ** 2).mean()))
        ranking = RuberRankingStage(network, pairs, rows, rows, 0, negatives=50, margin=2.0)
        # Pairs 1 and 2 have the same reply, d, which is no negative of either.
        wrong = network.scores(vectors[[0, 1, 0]], vectors[[3, 2, 2]][:, None])[:, 0]
        each = 2.0 - scores + wrong
        torch.manual_seed(0)
        drawn = torch.randint(1, 3, (3, 50))
        counts = np.array([50, int((drawn[1] == 2).sum()), int((drawn[2] == 1).sum())])
        torch.manual_seed(0)
        assert ranking.loss(network, [0, 1, 2], 0) == pytest.approx(float((each.numpy() * counts).sum() / counts.sum()))


def test_a_true_reply_that_leads_by_the_margin_costs_nothing() -> None:
    stage = RuberRankingStage(vector_network(), three_pairs(), np.arange(3), np.arange(0), 0, negatives=2, margin=0.5)

    def leads(by: float) -> Any:
        """A network whose scores of the true replies lead by this much."""
        return lambda candidates, **_: torch.tensor([0.1 + by, 0.1, 0.1]).expand(len(candidates), 3)

    assert stage.loss(leads(by=0.2), [0, 1], 0) == pytest.approx(0.3)
    assert stage.loss(leads(by=0.8), [0, 1], 0) == 0, "not a reward that other pairs would have to pay for"


def test_nothing_is_validated_without_held_out_pairs() -> None:
    network, pairs, rows, none = vector_network(), three_pairs(), np.arange(3), np.arange(0)
    assert RuberRankingStage(network, pairs, rows, none, 0).validate() is None
    assert RuberRegressionStage(network, pairs, rows, none, 0, human=np.ones(3)).validate() is None
    assert RuberRegressionStage(network, pairs, rows, rows, 0, human=np.ones(3)).validate() is None
