"""Training: it can learn by heart, resumes an interrupted run, and gives the same for the same seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rejoinder.data.dialogues import ReplyInContext
from rejoinder.data.negatives import NegativeMixture, Negatives, places_of
from rejoinder.errors import CallError, DataError, RejoinderError
from rejoinder.evaluators.calibration import observed_scale, on_our_scale
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.model import PRESETS
from rejoinder.evaluators.encoder.onnx_export import to_int8, to_onnx
from rejoinder.evaluators.encoder.stages import EncoderRankingStage, EncoderRegressionStage, InBatchStage
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.evaluators.encoder.training import ranking_stage, regression_stage
from rejoinder.learning.checkpoints import Checkpoints, plain_state
from rejoinder.learning.data import TrainingData
from rejoinder.learning.loop import run_stage
from rejoinder.learning.run import TrainingRun, remove_checkpoints
from rejoinder.learning.schedules import Schedule
from rejoinder.learning.torch_parts import in_batch_loss, negatives_of
from rejoinder.types import Dialogue
from tiny_encoder import dialogues, judged, write_encoder

QUICK = Schedule(learning_rate=3e-3, batch=20, epochs=200, validate_every=20, patience=100)
LONG = "and that is said at such length that it is no formula"
TOPIC_ONLY = NegativeMixture(random=1, same_dialogue=0, echo=0, generic=0, shuffled=0, truncated=0, neighbour=0)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture
def model(tiny: Path) -> TorchModel:
    return start(tiny)


def start(tiny: Path, seed: int = 0) -> TorchModel:
    return TorchModel.start(str(tiny), max_length=48, max_response=16, speaker_marks=True, pooling="mean", seed=seed)


def ranking(model: TorchModel) -> EncoderRankingStage:
    places = places_of(replace(dialogue, turns=dialogue.turns[:2]) for dialogue in dialogues())
    every = np.arange(len(places))
    return EncoderRankingStage(model, Negatives(places, TOPIC_ONLY), every, every, seed=0, negatives=2)


def regression(model: TorchModel, seed: int = 0) -> EncoderRegressionStage:
    pairs = [ReplyInContext(item.example.context, (), item.example.response) for item in judged()]
    human = np.array([item.scores["overall"][0] for item in judged()])
    return EncoderRegressionStage(model, pairs, human, [[number] for number in range(len(pairs))], [], seed)


def same(first: TorchModel, second: TorchModel) -> bool:
    ours, theirs = plain_state(first.network), plain_state(second.network)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_regression_loss_is_the_mean_squared_error(model: TorchModel) -> None:
    stage = regression(model)
    rows = [0, 3, 4]
    network = model.network.eval()
    with torch.no_grad():
        off = model.score([stage.pairs[row] for row in rows]) - stage.wanted[rows]
        assert np.ptp(np.abs(off)) > 0.1, "so that the squared and the absolute error differ"
        assert float(stage.loss(network, rows, 0)) == pytest.approx(float((off**2).mean()), rel=1e-4)
        weights = np.zeros(len(stage.pairs))
        weights[rows] = [1.0, 0.0, 2.0]
        weighted = replace(stage, weights=weights)
        expected = float((np.array([1.0, 0.0, 2.0]) * off**2).mean())
        assert float(weighted.loss(network, rows, 0)) == pytest.approx(expected, rel=1e-4)


def test_losses_on_held_out_rows(model: TorchModel) -> None:
    labelled = regression(model)
    assert labelled.validation_loss() is None
    off = model.score([labelled.pairs[row] for row in (1, 4)]) - labelled.wanted[[1, 4]]
    assert replace(labelled, held_out=[1, 4]).validation_loss() == pytest.approx(float((off**2).mean()), rel=1e-6)

    ranked = ranking(model)
    assert replace(ranked, held_out=np.empty(0, np.int64)).validation_loss() is None
    with torch.no_grad():
        expected = ranked.loss(model.network.eval(), range(len(ranked)), -1)
    assert ranked.validation_loss() == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.slow
def test_ranking_learns_twenty_dialogues(model: TorchModel) -> None:
    stage = ranking(model)
    before = stage.validate()
    # Four seeds of four learn all pairs in so many epochs, in half of them some do not.
    outcome = run_stage(model, stage, replace(QUICK, epochs=400), 0, TrainingRun(), None)
    assert before is not None
    assert outcome.best is not None
    assert outcome.best == stage.validate()
    assert outcome.best >= 0.9 > before


def test_regression_learns_twenty_labels_by_heart(model: TorchModel) -> None:
    stage = regression(model)
    outcome = run_stage(model, stage, replace(QUICK, epochs=150), 0, TrainingRun(), None)
    assert outcome.best is None, "nothing was kept aside"
    assert np.mean((model.score(stage.pairs) - stage.wanted) ** 2) < 0.05


def test_mixed_precision_is_for_training_alone(tiny: Path) -> None:
    mixed, full = start(tiny), start(tiny)
    for model, precision in ((mixed, "bf16"), (full, "no")):  # one process trains in both
        run = TrainingRun(mixed_precision=precision)
        outcome = run_stage(model, ranking(model), replace(QUICK, most_steps=6), 0, run, None)
        assert outcome.best == ranking(model).validate()
    assert not same(mixed, full), "it did train in another precision"
    pairs = regression(mixed).pairs
    loaded = start(tiny, seed=7)
    loaded.network.load_state_dict(mixed.network.state_dict())
    assert np.array_equal(loaded.score(pairs), mixed.score(pairs)), "the same weights give the same scores"


def test_one_seed_one_result(tiny: Path) -> None:
    short = replace(QUICK, most_steps=6)
    models = [start(tiny), start(tiny), start(tiny, seed=1)]
    for number, each in enumerate(models):
        run_stage(each, ranking(each), short, number // 2, TrainingRun(), None)
    assert same(models[0], models[1])
    assert not same(models[0], models[2])


@pytest.mark.parametrize("decay", ["linear", "plateau"])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(tiny: Path, tmp_path: Path, decay: str) -> None:
    schedule = replace(QUICK, most_steps=9, validate_every=4, decay=decay)  # type: ignore[arg-type]
    whole = start(tiny)
    run_stage(whole, ranking(whole), schedule, 0, TrainingRun(), None)

    broken, checkpoints = start(tiny), Checkpoints(tmp_path / "kept", "key")
    stage = Interrupted(**vars(ranking(broken)))
    with pytest.raises(KeyboardInterrupt):
        run_stage(broken, stage, schedule, 0, TrainingRun(save_every=3), checkpoints)
    assert [folder.name for folder in (tmp_path / "kept").iterdir()] == ["ranking-00000006"]

    resumed = start(tiny, seed=5)  # its own weights must not matter
    outcome = run_stage(resumed, ranking(resumed), schedule, 0, TrainingRun(resume=True), checkpoints)
    assert outcome.steps == 9
    assert same(whole, resumed)

    done = start(tiny, seed=6)
    assert run_stage(done, ranking(done), schedule, 0, TrainingRun(resume=True), checkpoints) == outcome
    assert same(whole, done), "a finished stage is only read"


class Interrupted(EncoderRankingStage):
    """Stops in the middle of its eighth step."""

    calls = 0

    def loss(self, forward, rows, epoch):  # type: ignore[no-untyped-def]
        type(self).calls += 1
        if type(self).calls % 8 == 0:
            raise KeyboardInterrupt
        return super().loss(forward, rows, epoch)


def test_checkpoints_of_another_run_are_refused(model: TorchModel, tmp_path: Path) -> None:
    short = replace(QUICK, most_steps=2)
    run_stage(model, ranking(model), short, 0, TrainingRun(), Checkpoints(tmp_path, "one"))
    with pytest.raises(CallError, match="another run"):
        run_stage(model, ranking(model), short, 0, TrainingRun(resume=True), Checkpoints(tmp_path, "two"))
    (tmp_path / "ranking-00000002" / "optimiser.safetensors").write_bytes(b"broken")
    with pytest.raises(DataError, match="is not a complete checkpoint"):
        run_stage(model, ranking(model), short, 0, TrainingRun(resume=True), Checkpoints(tmp_path, "one"))


def test_early_stopping_keeps_the_best_weights(model: TorchModel) -> None:
    stage = Worsening(**vars(ranking(model)))
    outcome = run_stage(model, stage, replace(QUICK, validate_every=1, patience=3), 0, TrainingRun(), None)
    assert (outcome.steps, outcome.best) == (5, 0.9)
    states = Worsening.states
    kept = plain_state(model.network)
    assert all(torch.equal(kept[name], states[1][name]) for name in kept), "those of the second look"


class Worsening(EncoderRankingStage):
    """Gets better once and then worse."""

    states: list[dict[str, torch.Tensor]] = []  # noqa: RUF012 - read by the test

    def validate(self) -> float:
        self.states.append(plain_state(self.model.network))
        return [0.5, 0.9, 0.8, 0.7, 0.9, 0.6][len(self.states) - 1]


def in_batch(model: TorchModel) -> InBatchStage:
    places = places_of(dialogues())
    every = np.arange(len(places))
    return InBatchStage(model, places, every, every, 0)


@pytest.mark.slow
def test_in_batch_ranking_learns_and_leaves_the_head_alone(model: TorchModel) -> None:
    stage, head = in_batch(model), plain_state(model.network.head)
    before = stage.validate()
    outcome = run_stage(model, stage, replace(QUICK, most_steps=200), 0, TrainingRun(), None)
    assert before is not None
    assert outcome.best is not None
    assert outcome.best > before
    assert outcome.best > 5 / 32, "by chance 1 of 32"
    assert all(torch.equal(head[name], now) for name, now in plain_state(model.network.head).items())


def test_in_batch_validation_counts_true_replies_that_are_nearest(model: TorchModel) -> None:
    held_out = np.arange(40)  # a batch of 32 and one of 8

    class Half(InBatchStage):
        """Its network finds the true reply of every other place."""

        class Fixed(torch.nn.Module):
            def forward(self, *, rows: int) -> tuple[torch.Tensor, ...]:
                own = torch.eye(rows)
                return own, own, torch.where(torch.arange(rows)[:, None] % 2 == 0, own, -own)

        network = Fixed()

        def _tensors(self, places):  # type: ignore[no-untyped-def]
            return {"rows": len(places)}

    different, equal = (
        places_of(Dialogue(str(row), ("hi", reply.format(row))) for row in range(40)) for reply in ("reply {}", "yes")
    )
    stage = Half(model, different, held_out, held_out, 0)
    stage.network.train()
    assert stage.validate() == 20 / 40
    assert stage.network.training, "as it was before"
    assert Half(model, equal, held_out, held_out, 0).validate() == 1, "equal replies are not compared"
    assert Half(model, different, held_out, held_out[:1], 0).validate() is None


def test_in_batch_ranking_goes_on_where_it_stopped(tiny: Path, tmp_path: Path) -> None:
    schedule, run = replace(QUICK, most_steps=4), TrainingRun(save_every=2)
    whole, broken, resumed = (start(tiny) for _ in range(3))
    run_stage(whole, in_batch(whole), schedule, 0, TrainingRun(), None)
    checkpoints = Checkpoints(tmp_path / "kept", "key")
    with pytest.raises(KeyboardInterrupt):
        run_stage(broken, BrokenOff(**vars(in_batch(broken))), schedule, 0, run, checkpoints)
    assert [folder.name for folder in (tmp_path / "kept").iterdir()] == ["in-batch-00000002"]
    run_stage(resumed, in_batch(resumed), schedule, 0, replace(run, resume=True), checkpoints)
    assert same(whole, resumed)
    (tmp_path / "kept" / "notes.txt").write_text("mine")
    remove_checkpoints(tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["notes.txt"], "nothing but checkpoints"


class BrokenOff(InBatchStage):
    """Stops in its fourth step."""

    calls = 0

    def loss(self, forward, rows, epoch):  # type: ignore[no-untyped-def]
        type(self).calls += 1
        if type(self).calls == 4:
            raise KeyboardInterrupt
        return super().loss(forward, rows, epoch)


def test_the_in_batch_loss_by_hand() -> None:
    # Three places, of which the first and the last have the same reply: they are no negatives of one another.
    allowed = negatives_of(["Yes.", "no", " yes."])
    assert allowed.int().tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    contexts = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    replies = torch.tensor([[1.0, 0.0], [0.8, 0.6], [1.0, 0.0]])
    cosines = 20 * np.array([[1.0, 0.8, -np.inf], [0.0, 0.6, 0.0], [-np.inf, 0.96, 0.6]])
    rows = np.log(np.exp(cosines).sum(1)) - np.diag(cosines)
    columns = np.log(np.exp(cosines).sum(0)) - np.diag(cosines)
    expected = (rows.mean() + columns.mean()) / 2
    assert in_batch_loss(contexts, replies, allowed).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("frozen", "still"),
    [
        ({}, 0),
        ({"frozen_embeddings": True}, 1),  # the word vectors
        ({"frozen_layers": 1}, 20),  # and those of positions and segments, a norm of two; 15 arrays of a layer
    ],
)
def test_frozen_weights_stay_as_they_are(model: TorchModel, frozen: dict[str, Any], still: int) -> None:
    before = plain_state(model.network)
    run_stage(model, regression(model), replace(QUICK, most_steps=2, **frozen), 0, TrainingRun(), None)
    after = plain_state(model.network)
    same_now = [name for name in before if torch.equal(before[name], after[name])]
    # Attention does not change with the bias of its keys, which has no gradient but rounding.
    learnable = {name for name, _ in model.network.named_parameters() if not name.endswith("key.bias")}
    assert len(learnable.intersection(same_now)) == still
    assert all(weight.requires_grad for weight in model.network.parameters()), "afterwards all can learn again"


def test_more_layers_than_there_are_cannot_be_frozen(model: TorchModel) -> None:
    with pytest.raises(CallError, match="frozen_layers cannot be 3: the encoder has 2 layers"):
        run_stage(model, regression(model), replace(QUICK, frozen_layers=3), 0, TrainingRun(), None)


def test_training_without_dropout(tiny: Path) -> None:
    seen: list[bool] = []
    for dropout in (True, False):
        model = start(tiny)
        model.network.head[2].register_forward_hook(lambda layer, *_: seen.append(layer.training))
        run_stage(model, regression(model), replace(QUICK, most_steps=1, dropout=dropout), 0, TrainingRun(), None)
    assert seen == [True, False]


# What a model must hold as well before it ships (docs/reference/encoder-evaluator.md); 200 steps spread its scores.
@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["match", "mean"])
def test_int8_weights_of_a_trained_model(tiny: Path, pooling: str) -> None:
    model = TorchModel.start(str(tiny), max_length=48, max_response=16, speaker_marks=True, pooling=pooling, seed=0)
    places = places_of(dialogues())
    stage = EncoderRankingStage(model, Negatives(places), np.arange(len(places)), np.empty(0, np.int64), seed=0)
    run_stage(model, stage, replace(QUICK, most_steps=200, dropout=False), 0, TrainingRun(), None)
    pairs = [ReplyInContext(place.context, (), other.response) for place in places for other in places[::9]]
    scores, full = model.score(pairs), to_onnx(model)
    assert scores.std() > 0.5
    assert np.abs(full.score(pairs) - scores).max() < 1e-3
    off = np.abs(to_int8(full).score(pairs) - scores)
    assert 0 < off.mean() <= 0.03
    assert np.quantile(off, 0.99) <= 0.1


def test_a_loss_that_is_not_finite_stops_training(model: TorchModel) -> None:
    with torch.no_grad():
        next(model.network.head.parameters()).fill_(float("nan"))
    with pytest.raises(RejoinderError, match="the loss is nan at step 0"):
        run_stage(model, ranking(model), QUICK, 0, TrainingRun(), None)


def test_a_part_is_kept_aside_of_what_is_large_enough(model: TorchModel, tiny: Path) -> None:
    few, many = dialogues(), [replace(item, id=f"{item.id}{n}") for n in range(3) for item in dialogues()]
    assert len(ranking_stage(model, PRESETS["cpu"], TrainingData(tuple(few))).held_out) == 0
    stage = ranking_stage(model, PRESETS["cpu"], TrainingData(tuple(many)))
    inside = {stage.source.places[row].dialogue.id for row in stage.rows}
    aside = {stage.source.places[row].dialogue.id for row in stage.held_out}
    assert (len(inside), len(aside)) == (54, 6)
    assert not inside & aside
    evaluator = Encoder(encoder=str(tiny))
    items = [
        replace(item, example=replace(item.example, context=(f"{n} {item.example.context[0]}",)))
        for n in range(4)
        for item in judged()
    ]
    split = regression_stage(model, evaluator, TrainingData(judged=tuple(items)))
    assert (len(split.contexts), len(split.held_out)) == (72, 8)
    learned, validated = contexts_of(split)
    assert not learned & validated
    given = regression_stage(model, evaluator, TrainingData(judged=tuple(items), valid=tuple(judged())))
    assert (len(given.contexts), len(given.held_out)) == (80, 20)
    longer = [replace(item, example=replace(item.example, context=(*item.example.context, LONG))) for item in items]
    with_more = [
        replace(item, example=replace(item.example, context=("before", *item.example.context))) for item in longer
    ]
    both = regression_stage(model, evaluator, TrainingData(judged=(*longer, *with_more)))
    assert (len(both.contexts), len(both.held_out)) == (144, 16)
    learned, validated = contexts_of(both)
    assert not {context[-2:] for context in learned} & {context[-2:] for context in validated}


def contexts_of(stage: EncoderRegressionStage) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """Those that are learned from, and those that are validated on."""
    learned = {stage.pairs[number].context for numbers in stage.contexts for number in numbers}
    return learned, {stage.pairs[number].context for number in stage.held_out}


def test_scores_of_people_on_our_scale() -> None:
    assert observed_scale(judged(), "overall") == (2.0, 5.0)
    np.testing.assert_allclose(on_our_scale(np.array([0.0, 0.5, 1.0]), (0.0, 1.0)), [1.0, 3.0, 5.0])
    with pytest.raises(CallError, match="score 7: expected 1 to 5"):
        on_our_scale(np.array([7.0]), (1.0, 5.0))
    alike = [replace(item, scores={"overall": (3.0,)}) for item in judged()]
    with pytest.raises(CallError, match="every judged example has the score 3"):
        observed_scale(alike, None)
