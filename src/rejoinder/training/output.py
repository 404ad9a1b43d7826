"""The folder that a trained model is saved in, with the checkpoints of its training next to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rejoinder._version import __version__
from rejoinder.data.digests import dialogues_digest, digest_of
from rejoinder.errors import CallError
from rejoinder.learning.data import examples_digest
from rejoinder.learning.run import TrainingRun, checkpoints_in, is_main_process, remove_checkpoints
from rejoinder.learning.saving import check_target
from rejoinder.loading.schema import read_json
from rejoinder.metrics.base import plain
from rejoinder.model_folder import CONFIG
from rejoinder.output.named import named_files
from rejoinder.output.targets import Output, reserved
from rejoinder.output.unfinished import START_OVER, check_same_run, content_digest
from rejoinder.output.writing import write_text
from rejoinder.registry import build_trainable, load_folder
from rejoinder.training.input import TrainingInput
from rejoinder.types import Dialogue, JudgedExample

RECORD = "training.json"
"""In the folder of a model that was trained step by step: what `--resume` compares."""


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


def training_record(model: Any, given: TrainingInput, seed: int, run: TrainingRun, **more: Any) -> dict[str, Any]:
    """Everything that a trained model depends on: what `--resume` compares."""
    named = named_files(model.parameters, *more.values())
    return {
        "version": __version__,
        "model": model.name,
        "parameters": {name: plain(value) for name, value in model.parameters.items()},
        **{name: plain(value) for name, value in more.items()},
        "files": digest_of(map(content_digest, named)),
        "digest": _data_digest(given),
        "seed": seed,
        "minutes": run.minutes,
        "mixed_precision": run.mixed_precision,
    }


def finished_model(output: Path | None, run: TrainingRun, record: Mapping[str, Any], *beside: Path | None) -> Any:
    """The model that an earlier run saved, where `run` resumes it and nothing is left to do; else None.

    CallError where the model is of a run with another record. `beside` are files that only an unfinished run has.
    """
    if output is None or not run.resume or not (output / CONFIG).is_file():
        return None
    unfinished = run.checkpoints is not None and checkpoints_in(run.checkpoints)
    if unfinished or any(path is not None and path.exists() for path in beside):
        return None
    path = output / RECORD
    if not path.is_file():
        raise CallError(f"{output} cannot be compared with this run (no {RECORD} in it): {START_OVER}")
    check_same_run(read_json(path), record, output)
    return load_folder(output, {})


def save_trained(model: Any, output: Path) -> None:
    """Save the model; an encoder evaluator is exported, so that it scores without torch."""
    if model.name == "encoder":
        model.export(output, trainable=True)
    else:
        model.save(output)


def finish_run(model: Any, output: Path, run: TrainingRun, record: Mapping[str, Any]) -> None:
    """Record the run in the model's folder, then remove the checkpoints: if it is killed before, it can be resumed."""
    if model.trains_in_steps:
        write_text(output / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    if run.checkpoints is not None:
        remove_checkpoints(run.checkpoints)


def _data_digest(given: TrainingInput) -> str:
    """A hash of everything that was read to learn from."""
    judged = [*(given.judged or ()), *(one for one in given.valid if isinstance(one, JudgedExample))]
    valid = tuple(one for one in given.valid if isinstance(one, Dialogue))
    return digest_of(
        [
            dialogues_digest(tuple(given.dialogues)),
            dialogues_digest(valid),
            examples_digest(given.candidates),
            examples_digest(one.example for one in judged),
            [[one.scores, one.split] for one in judged],
            given.judged is None,
            len(given.valid),
        ]
    )
