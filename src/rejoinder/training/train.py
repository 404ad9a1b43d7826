"""From files or objects in memory to a fitted evaluator, reply model or sentence encoder.

What a method learns, and how, is in its own package.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rejoinder.arguments import checked, text
from rejoinder.data.corpora import CorpusReader
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError
from rejoinder.errors import NeedsError
from rejoinder.learning.data import TrainingData
from rejoinder.learning.run import TrainingRun, is_main_process, training_run
from rejoinder.output.named import named_files, paths_of
from rejoinder.output.targets import output_path
from rejoinder.training.input import TrainingInput, warn_of_skipped
from rejoinder.training.output import (
    build_model,
    finish_run,
    finished_model,
    reserved_folder,
    run_into,
    save_trained,
    training_record,
)


@checked(name=text, run=training_run)
def train(
    name: str,
    dialogues: Any = (),
    judged: Any = None,
    *,
    valid: Any = (),
    seed: int = 0,
    run: TrainingRun | None = None,
    output: str | Path | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    on_read: Callable[[TrainingInput], None] = warn_of_skipped,
    on_finished: Callable[[], None] = lambda: None,
    **parameters: Any,
) -> Any:
    """Train the named evaluator, reply model or sentence encoder, and save it where `output` names a folder.

    `dialogues` is a file, several files, or an iterable of Dialogues, of records with `turns` or of lists of turns;
    `judged` is a file, several files, a frame, or an iterable of JudgedExamples or records. `valid` decides when
    training stops: judged examples for an evaluator, dialogues for the others. `parameters` are those of the method,
    and `fields` maps our field names to the data's: {"turns": "utterances"}.

    With an `output`, checkpoints are kept next to it unless `run` names another place; they are removed once the model
    is saved, and `run=TrainingRun(resume=True)` continues from them. `on_read` is called with what was read, before
    training starts; `on_finished` in its place if an earlier run has saved the same model in `output` and the run is
    resumed: it is then loaded, and an error if it is of other data or settings.
    """
    model = build_model(name, parameters)
    target = None if output is None else output_path(output)
    training = run_into(target, run)
    reads = [*paths_of(dialogues), *paths_of(judged), *paths_of(valid), *named_files(parameters)]
    with reserved_folder(target, model.kind, reads=reads):
        model.find_pretrained()
        given = _read(model, dialogues, judged, valid, CorpusReader(on_error, fields))
        record = training_record(model, given, seed, training) if model.trains_in_steps else {}
        if record and (saved := finished_model(target, training, record)) is not None:
            on_finished()
            return saved
        on_read(given)
        model.fit(given.dialogues, given.judged, valid=given.valid, seed=seed, run=training)
        if target is not None and is_main_process():
            save_trained(model, target)
            finish_run(model, target, training, record)
    return model


def _read(model: Any, dialogues: Any, judged: Any, valid: Any, reader: CorpusReader) -> TrainingInput:
    """Read everything; an error where judged examples are given that nothing can be learned from."""
    scored = not model.learns_systems
    read_valid = reader.judged if model.kind == "evaluator" else reader.dialogues
    given = TrainingInput(
        dialogues=reader.dialogues(dialogues, sentences=model.reads_sentences),
        judged=None if judged is None else reader.judged(judged, scored=scored),
        valid=list(read_valid(valid)),
        skipped=tuple(reader.skipped),
    )
    if given.judged is not None and model.kind == "evaluator" and not TrainingData.of((), given.judged).judged:
        # Training on the dialogues alone would look as if the judged examples had been used.
        raise NeedsError(
            f"{model.name} learns from judged examples: expected at least one to fit it on "
            "(those of the splits valid and test do not count)"
        )
    return given
