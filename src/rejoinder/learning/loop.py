"""The training loop: every network of the package is trained by `train`, stage by stage.

Everything random comes from (seed, epoch) or (seed, step), so that a run that was interrupted and resumed ends with the
weights of one that was not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
import torch
from accelerate import Accelerator  # type: ignore[import-untyped]
from accelerate.state import AcceleratorState  # type: ignore[import-untyped]
from torch import Tensor, nn

from rejoinder.errors import RejoinderError
from rejoinder.learning.checkpoints import Checkpoints, StageProgress, plain_state
from rejoinder.learning.run import Paused, StageValidation, TrainingRun
from rejoinder.learning.schedules import Schedule
from rejoinder.learning.torch_parts import frozen
from rejoinder.progress import bar
from rejoinder.show.text import one_line
from rejoinder.threads import use_thread_pools


@dataclass(frozen=True)
class StageOutcome:
    """The result of a stage."""

    stage: str
    steps: int
    figure: str
    best: float | None
    """The validation figure of the weights that were kept; None without validation data."""


class Trainable(Protocol):
    """A model with weights to train."""

    @property
    def network(self) -> nn.Module:
        """The whole network, whose weights are saved in checkpoints and restored at the end."""


@runtime_checkable
class Grouped(Protocol):
    """A stage whose parameters have different learning rates, or of which some are not trained."""

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """Lists of parameters, each with a factor on the schedule's learning rate."""


@runtime_checkable
class Reporting(Protocol):
    """A stage with more to report than its validation figure."""

    def report(self) -> str:
        """The result of the last validation in words; "" without validation data."""


class LossValidated(Protocol):
    """A stage that knows its loss on held-out rows, by which the learning rate falls if its decay is `plateau`."""

    def validation_loss(self) -> float | None:
        """The loss on held-out rows; None without any."""


def run_stage(
    model: Trainable, stage: Stage, schedule: Schedule, seed: int, run: TrainingRun, checkpoints: Checkpoints | None
) -> StageOutcome:
    """Train the model in place; it ends with its best weights, or with the last ones without validation data."""
    use_thread_pools()
    with torch.random.fork_rng(), _freezing(model.network, schedule):
        return _Loop(model, stage, schedule, seed, run, checkpoints).run_all()


def train_stage(stage: Stage, schedule: Schedule, seed: int, run: TrainingRun | None, key: str) -> StageOutcome:
    """Train the network of the only stage in place, with checkpoints if the run has a folder for them.

    `key` changes with everything that decides what is learned.
    """
    run = run or TrainingRun()
    return run_stage(stage, stage, schedule, seed, run, Checkpoints.of(run, key))


def _freezing(network: nn.Module, schedule: Schedule) -> AbstractContextManager[None]:
    return frozen(cast("nn.Module", network.encoder), schedule) if schedule.freezes else nullcontext()


class _Loop:
    """One stage, step by step."""

    def __init__(
        self,
        model: Trainable,
        stage: Stage,
        schedule: Schedule,
        seed: int,
        run: TrainingRun,
        checkpoints: Checkpoints | None,
    ) -> None:
        if run.minutes is not None:
            schedule = replace(schedule, minutes=run.minutes)
        self.model, self.stage, self.schedule, self.seed, self.run = model, stage, schedule, seed, run
        self.checkpoints = checkpoints
        AcceleratorState._reset_state()  # it keeps the precision of the first training in this process
        self.accelerator = Accelerator(mixed_precision=run.mixed_precision)
        optimiser = torch.optim.AdamW(
            _groups(stage),
            lr=schedule.learning_rate,
            weight_decay=schedule.weight_decay,
            fused=schedule.fused or None,
        )
        self.forward, self.optimiser = self.accelerator.prepare(
            stage.network, optimiser, device_placement=[not schedule.cpu] * 2
        )
        # accelerate makes the network's own `forward` compute in mixed precision for good. Only training should: scores
        # of a model that was just trained are those of the same model when it has been saved and loaded.
        self.network = self.accelerator.unwrap_model(self.forward)
        self.mixed_forward = self.network.__dict__.pop("forward", None)
        self.network.__dict__.pop("_original_forward", None)
        self.progress, self.best = StageProgress(), _nothing()
        if checkpoints is not None and run.resume:
            found = checkpoints.read(stage.name, model.network, self.optimiser)
            if found is not None:
                self.progress, self.best = found
        self.steps_per_epoch = -(-len(stage) // schedule.batch)
        self.total = schedule.total(self.steps_per_epoch)
        self.since, self.seconds_before = monotonic(), self.progress.seconds

    def run_all(self) -> StageOutcome:
        """Take every remaining step."""
        progress = self.progress
        batches: list[list[int]] = []
        with self._bar() as moving:
            if self.schedule.validate_first and not progress.step:
                self._report(self._validate(moving))
            while not progress.finished:
                epoch, place = divmod(progress.step, self.steps_per_epoch)
                if not batches or not place:
                    batches = self.stage.batches(epoch, self.schedule.batch)
                loss = self._step(batches[place], epoch)
                progress.step += 1
                moving.update(1)
                if not self._quiet:
                    moving.set_postfix(loss=f"{loss:.3f}", best=_shown(progress.best), refresh=False)
                self._after_step(loss, moving)
        if self.best is not None:
            self.model.network.load_state_dict(self.best)
        self.model.network.eval()
        return StageOutcome(self.stage.name, progress.step, self.stage.figure, progress.best)

    def _bar(self) -> Any:
        """Progress over all steps."""
        limit, run = self.schedule.minutes, self.run
        left = math.inf if limit is None else 60 * limit - self.seconds_before
        return bar(
            f"training, {self.stage.name}",
            total=self.total,
            unit="steps",
            quiet=self._quiet,
            done=self.progress.step,
            faster=run.faster or (("a shorter" if limit else "a") + " time limit (minutes)",),
            limit=left,
        )

    def _step(self, rows: list[int], epoch: int) -> float:
        # One seed per step: dropout and a stage's random choices are then the same in a resumed run.
        drawn = np.random.SeedSequence([self.seed, self.progress.step, self.accelerator.process_index])
        torch.manual_seed(int(drawn.generate_state(1)[0]))
        self.model.network.train(self.schedule.dropout)  # nothing but dropout depends on it
        rate = self.schedule.rate(self.progress.step, self.total, self.progress.plateaus, self.progress.seconds)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        mine = rows[self.accelerator.process_index :: self.accelerator.num_processes] or rows
        with self.accelerator.autocast(), self._mixed_precision():
            loss: Tensor = self.stage.loss(self.forward, mine, epoch)
        value = float(loss.detach())
        if not np.isfinite(value):
            raise RejoinderError(f"the loss is {value} at step {self.progress.step}: a smaller learning rate may help")
        self.optimiser.zero_grad()
        self.accelerator.backward(loss)
        if self.schedule.clip < math.inf:
            self.accelerator.clip_grad_norm_(self.forward.parameters(), self.schedule.clip)
        self.optimiser.step()
        return value

    @contextmanager
    def _mixed_precision(self) -> Iterator[None]:
        """Where asked for, the network computes in mixed precision."""
        if self.mixed_forward is None:
            yield
            return
        self.network.__dict__["forward"] = self.mixed_forward
        try:
            yield
        finally:
            del self.network.__dict__["forward"]

    def _after_step(self, loss: float, moving: Any) -> None:
        progress = self.progress
        progress.seconds = self.seconds_before + monotonic() - self.since
        ended = progress.step >= self.total or self.schedule.out_of_time(progress.seconds)
        validates = ended or progress.step % (self.schedule.validate_every or self.steps_per_epoch) == 0
        found = self._validate(moving, loss) if validates else None
        progress.finished = ended or self.schedule.is_over(progress.since_best, progress.plateaus)
        if found is not None:
            self._report(replace(found, finished=progress.finished))
        if progress.finished and self.best is not None:
            self.model.network.load_state_dict(self.best)
        paused = self.run.pause_after is not None and monotonic() - self.since >= 60 * self.run.pause_after
        due = validates or progress.finished or paused or progress.step % self.run.save_every == 0
        if due and self.checkpoints is not None and self.accelerator.is_main_process:
            self.checkpoints.write(self.stage.name, progress, self.model.network, self.optimiser, self.best)
        if paused and not progress.finished:
            raise Paused(f"paused at step {progress.step} of {self.total}: resume the run to go on")

    def _validate(self, moving: Any, loss: float | None = None) -> StageValidation:
        """Validate, and keep the weights if they are the best so far."""
        progress, found = self.progress, self.stage.validate()
        if found is not None and (progress.best is None or found > progress.best):
            progress.best, progress.since_best, self.best = found, 0, plain_state(self.model.network)
        elif found is not None:
            progress.since_best += 1
        held_out_loss = self._validation_loss()
        if held_out_loss is not None:
            improved = progress.lowest_loss is None or held_out_loss < progress.lowest_loss
            progress.lowest_loss = held_out_loss if improved else progress.lowest_loss
            progress.plateaus += not improved
        if not self._quiet and (loss is not None or found is not None):
            said = "" if found is None else f", {self.stage.figure} {found:.3f}"
            if isinstance(self.stage, Reporting) and self.stage.report():
                said += f", {self.stage.report()}"
            lost = "" if loss is None else f", loss {loss:.3f}"
            line = f"{self.stage.name}: step {progress.step} of {self.total}{lost}{said}"
            moving.write(one_line(line), file=sys.stderr)
        return StageValidation(self.stage.name, progress.step, found, held_out_loss)

    def _validation_loss(self) -> float | None:
        """The loss on held-out rows, where the learning rate depends on it."""
        return cast("LossValidated", self.stage).validation_loss() if self.schedule.decay == "plateau" else None

    def _report(self, found: StageValidation) -> None:
        if self.run.on_validation is not None and self.accelerator.is_main_process:
            self.run.on_validation(found)

    @property
    def _quiet(self) -> bool:
        return self.run.quiet or not self.accelerator.is_main_process


def _groups(stage: Stage) -> list[dict[str, Any]]:
    """The optimiser's parameter groups, each with its factor on the learning rate; frozen parameters are left out."""
    groups = stage.groups() if isinstance(stage, Grouped) else [(list(stage.network.parameters()), 1.0)]
    learning = [([weight for weight in weights if weight.requires_grad], factor) for weights, factor in groups]
    return [{"params": weights, "factor": factor} for weights, factor in learning if weights]


def _nothing() -> dict[str, Tensor] | None:
    return None


def _shown(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.3f}"


# A stage: the training loop's interface to a model and its training data.


class Forward(Protocol):
    """The stage's network, as `accelerate` wraps it."""

    def __call__(self, **inputs: Tensor) -> Tensor:
        """The network's output."""


class Stage(Protocol):
    """A network, rows to train it on, and a loss."""

    name: ClassVar[str]
    """In progress bars and in the names of checkpoints."""
    figure: ClassVar[str]
    """The name of the figure that `validate` returns."""

    @property
    def network(self) -> nn.Module:
        """What `loss` calls: the network, or a part of it."""

    def __len__(self) -> int:
        """The number of rows to learn from."""

    def batches(self, epoch: int, size: int) -> list[list[int]]:
        """The row numbers of each batch of an epoch, ceil(rows / size) batches; the same for the same epoch."""

    def loss(self, forward: Forward, rows: Sequence[int], epoch: int) -> Tensor:
        """The loss of a batch. torch's random generator is seeded for each step, so that drawing from it is safe."""

    def validate(self) -> float | None:
        """A figure of merit on held-out rows, higher being better; None without held-out rows."""
