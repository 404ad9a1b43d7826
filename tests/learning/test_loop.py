"""The training loop on a network of one weight, whose steps can be computed by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from rejoinder.errors import RejoinderError
from rejoinder.learning.loop import StageOutcome, train_stage
from rejoinder.learning.run import StageValidation, TrainingRun
from rejoinder.learning.schedules import Schedule

SCHEDULE = Schedule(learning_rate=0.1, batch=1, epochs=4, warm_up=0.0, weight_decay=0.0)


class Line(nn.Module):
    """slope * x + level, both 0 at the start."""

    def __init__(self) -> None:
        super().__init__()
        self.slope, self.level = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.slope * x + self.level


@dataclass(eq=False)
class LineStage:
    """A gradient of 100 for the slope, and of -1 for the level, whatever they are."""

    name: ClassVar[str] = "line"
    figure: ClassVar[str] = "goodness"

    network: Line = field(default_factory=Line)
    figures: Sequence[float] = ()
    """The results of validation, in order."""
    seen: list[tuple[int, float]] = field(default_factory=list)
    """The epoch and a random number of each step."""
    gradient: float = 100.0

    def __len__(self) -> int:
        return 2

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        return [[0], [1]]

    def loss(self, forward: Callable[..., Any], rows: Sequence[int], epoch: int) -> Tensor:
        self.seen.append((epoch, float(torch.rand(1))))
        level, raised = forward(torch.zeros(1)), forward(torch.ones(1))
        loss: Tensor = (self.gradient * (raised - level) - level).sum()
        return loss

    def validate(self) -> float | None:
        looks = len(self.seen) // 2
        return self.figures[looks] if self.figures else None


@dataclass(eq=False)
class LossStage(LineStage):
    """Knows its loss on held-out rows as well."""

    losses: Sequence[float] = ()
    """The losses of validation, in order."""

    def validation_loss(self) -> float | None:
        return self.losses[len(self.seen) // 2] if self.losses else None


@dataclass(eq=False)
class GroupedStage(LineStage):
    """The slope learns at half the rate, the level not at all."""

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        return [([self.network.slope], 0.5)]


def trained(stage: LineStage, schedule: Schedule = SCHEDULE, run: TrainingRun | None = None) -> StageOutcome:
    return train_stage(stage, schedule, seed=0, run=run, key="key")


def values(stage: LineStage) -> tuple[float, float]:
    return float(stage.network.slope.detach()), float(stage.network.level.detach())


@pytest.mark.parametrize("fused", [True, False])
def test_adam_by_hand(fused: bool) -> None:
    # With a constant gradient Adam's step is the learning rate: 0.1, 0.1 * 7/7, 0.1 * 6/7, ... 0.1 * 1/7.
    stage = LineStage()
    assert trained(stage, replace(SCHEDULE, fused=fused, cpu=True)) == StageOutcome("line", 8, "goodness", None)
    assert values(stage) == pytest.approx((-0.5, 0.5), rel=1e-4)
    assert [epoch for epoch, _ in stage.seen] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_groups_have_their_own_rates() -> None:
    stage = GroupedStage()
    trained(stage)
    assert values(stage) == pytest.approx((-0.25, 0.0), rel=1e-4)


def test_clipping_and_its_absence() -> None:
    # The norm of the gradient (100, -1) is cut to 1e-9, which is below Adam's epsilon of 1e-8: the steps get shorter.
    clipped, free = LineStage(), LineStage()
    trained(clipped, replace(SCHEDULE, clip=1e-9))
    trained(free, replace(SCHEDULE, clip=math.inf))
    assert abs(values(clipped)[0]) < 0.06
    assert values(free)[0] == pytest.approx(-0.5, rel=1e-4)


def test_the_first_look_may_be_the_best() -> None:
    stage = LineStage(figures=[0.9, 0.1, 0.2, 0.3, 0.4])
    outcome = trained(stage, replace(SCHEDULE, validate_first=True))
    assert (outcome.best, values(stage)) == (0.9, (0.0, 0.0))
    later = LineStage(figures=[0.9, 0.1, 0.2, 0.3, 0.4])
    assert trained(later).best == 0.4  # without it the start is not validated


def test_patience_counts_validations() -> None:
    stage = LineStage(figures=[0.0, 0.5, 0.4, 0.5, 0.9])
    outcome = trained(stage, replace(SCHEDULE, patience=2))
    assert (outcome.steps, outcome.best) == (6, 0.5)  # an equal figure is not an improvement


def test_plateaus_are_those_of_the_loss() -> None:
    plateau = replace(SCHEDULE, decay="plateau", learning_rate=3e-6, epochs=6)
    # An equal loss is a plateau, and so is one that is lower than the last but not than the lowest.
    stage = LossStage(figures=[0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4], losses=[9, 5, 4, 4, 3, 8, 7])
    found: list[StageValidation] = []
    outcome = trained(stage, plateau, TrainingRun(on_validation=found.append))
    assert (outcome.steps, outcome.best) == (10, 0.9), "the best figure is kept, whatever the loss"
    assert found == [
        StageValidation("line", 2, 0.9, 5),
        StageValidation("line", 4, 0.8, 4),
        StageValidation("line", 6, 0.7, 4),
        StageValidation("line", 8, 0.6, 3),
        StageValidation("line", 10, 0.5, 8, finished=True),
    ]


def test_without_held_out_rows_the_rate_stays() -> None:
    stage = LossStage()
    found: list[StageValidation] = []
    trained(stage, replace(SCHEDULE, decay="plateau"), TrainingRun(on_validation=found.append))
    assert values(stage)[1] == pytest.approx(0.8, rel=1e-4)
    assert [(one.figure, one.loss, one.finished) for one in found] == [(None, None, step == 3) for step in range(4)]


def test_the_first_look_is_reported() -> None:
    found: list[StageValidation] = []
    schedule = replace(SCHEDULE, epochs=1, validate_first=True)
    trained(LineStage(figures=[0.5, 0.75]), schedule, TrainingRun(on_validation=found.append))
    assert found == [StageValidation("line", 0, 0.5, None), StageValidation("line", 2, 0.75, None, finished=True)]


def test_every_step_has_its_own_seed(tmp_path: Path) -> None:
    whole, broken = LineStage(), LineStage(seen=[])
    trained(whole)
    assert len({drawn for _, drawn in whole.seen}) == 8
    run = TrainingRun(checkpoints=tmp_path, save_every=3)
    trained(broken, replace(SCHEDULE, most_steps=3), run)
    assert [folder.name for folder in tmp_path.iterdir()] == ["line-00000003"]
    assert broken.seen == whole.seen[:3]


def test_a_loss_that_is_not_finite() -> None:
    with pytest.raises(RejoinderError, match="the loss is nan at step 0: a smaller learning rate may help"):
        trained(LineStage(gradient=math.nan))


def test_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = replace(SCHEDULE, epochs=1, validate_first=True)
    trained(LineStage(figures=[0.5, 0.75]), schedule)
    trained(LineStage(), schedule, TrainingRun(quiet=False))
    trained(LineStage(figures=[0.5, 0.75]), schedule, TrainingRun(quiet=False))
    assert capsys.readouterr().err.splitlines() == [
        "line: step 2 of 2, loss -10.100",
        "line: step 0 of 2, goodness 0.500",
        "line: step 2 of 2, loss -10.100, goodness 0.750",
    ]


@pytest.mark.parametrize(
    ("run", "ways"),
    [
        (TrainingRun(quiet=False), "a time limit (minutes)"),
        (TrainingRun(quiet=False, minutes=9), "a shorter time limit (minutes)"),
        (TrainingRun(quiet=False, faster=("fewer --epochs", "--minutes N")), "fewer --epochs, --minutes N"),
    ],
)
def test_long_training_says_what_would_be_faster(
    run: TrainingRun, ways: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rejoinder.progress.FIRST_LINE", 0.0)
    monkeypatch.setattr("rejoinder.progress.LONG", 0.0)
    train_stage(LineStage(), SCHEDULE, 0, run, "key")
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "faster" in line]
    assert said.startswith("note: training, line will take about ")
    assert said.endswith(f"; faster: {ways}")
