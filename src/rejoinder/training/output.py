"""The folder that a trained model is saved in, with the checkpoints of its training next to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rejoinder.learning.run import TrainingRun, is_main_process, remove_checkpoints
from rejoinder.learning.saving import check_target
from rejoinder.output.targets import Output, reserved
from rejoinder.registry import build_trainable


def build_model(name: str, parameters: Mapping[str, Any]) -> Any:
    """The named model, not fitted; parameters that follow from others are filled in."""
    given = dict(parameters)
    if name == "encoder" and "max_length" in given and "max_response" not in given:
        from rejoinder.evaluators.encoder.encoder import Encoder

        # A reply must leave room for its context.
        given["max_response"] = min(Encoder.max_response, max(1, given["max_length"] // 2))
    if name == "encoder" and given.get("encoder") in ("default", "default@1"):
        # The network of the package reads context and reply apart as well, without marks of who speaks.
        given = {"towers": True, "speaker_marks": False, **given}
    return build_trainable(name, given)


def run_into(output: Path | None, run: TrainingRun | None) -> TrainingRun:
    """The run, with checkpoints next to `output` unless it names another folder."""
    training = run or TrainingRun()
    if output is None:
        return training
    return replace(training, checkpoints=training.checkpoints or checkpoints_beside(output))


@contextmanager
def reserved_folder(
    output: Path | None, kind: str = "evaluator", *, beside: Sequence[Path] = (), reads: Iterable[str | Path] = ()
) -> Iterator[None]:
    """Reserve the folder of a model during the block; nothing to reserve without a folder, or in another process of a
    training run that several processes share."""
    if output is None or not is_main_process():
        yield
        return
    with reserved(
        Output(output, beside=tuple(beside), check=partial(check_target, output, kind), is_folder=True), reads=reads
    ):
        yield


def checkpoints_beside(output: Path) -> Path:
    """Where the checkpoints of a model go that will be saved in `output`."""
    return output.parent / f"{output.name}.checkpoints"


def save_trained(model: Any, output: Path, run: TrainingRun) -> None:
    """Save the model and remove the checkpoints; an encoder evaluator is exported, so that it scores without torch."""
    if model.name == "encoder":
        model.export(output, trainable=True)
    else:
        model.save(output)
    if run.checkpoints is not None:
        remove_checkpoints(run.checkpoints)
