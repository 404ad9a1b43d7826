"""From files or objects in memory to a fitted evaluator, reply model or sentence encoder, and set-up of templates."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from rejoinder._version import __version__
from rejoinder.data.contexts import dialogues_digest, digest_of
from rejoinder.data.dialogues import CorpusReader
from rejoinder.data.records import Fields
from rejoinder.errors import CallError, NeedsError, UnknownNameError
from rejoinder.evaluators.base import Pretrained
from rejoinder.evaluators.blend.blend import Blend, load_member, member_places
from rejoinder.evaluators.simple import EncoderCosine
from rejoinder.folders.outputs import (
    START_OVER,
    Output,
    check_same_run,
    content_digest,
    named_files,
    output_path,
    paths_of,
    reserved,
    write_text,
)
from rejoinder.folders.saved import check_target, replacing_folder, write_config
from rejoinder.folders.schema import CONFIG, read_config, read_json
from rejoinder.folders.sources import downloads, find_pretrained
from rejoinder.learning.data import TrainingData, examples_digest
from rejoinder.learning.run import TrainingRun, checkpoints_in, is_main_process, remove_checkpoints, training_run
from rejoinder.metrics.base import Metric, ScoreWarning, plain
from rejoinder.options import FIELDS_OPTION, RUN_PARTS, OnError, Option, Seed, function, path, text, verb
from rejoinder.registry import TEMPLATES, build_trainable, load_folder, template_folder
from rejoinder.types import Dialogue, Example, JudgedExample

# From files or objects in memory to a fitted evaluator, reply model or sentence encoder.
#
# What a method learns, and how, is in its own package.


# The training data that were read, before training starts.


@dataclass(frozen=True, kw_only=True)
class TrainingInput:
    """What was read to learn from."""

    dialogues: list[Dialogue]
    judged: list[JudgedExample] | None = None
    """None: none were given."""
    valid: list[Any] = field(default_factory=list)
    """Judged examples for an evaluator, dialogues for the others."""
    candidates: list[Example] = field(default_factory=list)
    """Replies that a teacher scores."""
    skipped: tuple[str, ...] = ()
    """Why each record that could not be read was left out."""


def warn_of_skipped(given: TrainingInput) -> None:
    """Warn where records were left out, as `rejoinder.read` does."""
    if given.skipped:
        warnings.warn(f"left out {len(given.skipped)} unreadable records; the first: {given.skipped[0]}", stacklevel=4)


_DATA = "data"


@verb
def train(
    name: Annotated[str, Option("what to train", text)],
    dialogues: Annotated[
        Any,
        Option(
            "dialogues to learn from: .jsonl(.gz) with `turns`; may be repeated",
            name="--dialogues",
            metavar="FILE",
            many="repeat",
            group=_DATA,
            read=list,
        ),
    ] = (),
    judged: Annotated[
        Any,
        Option(
            "replies with ratings; may be repeated",
            name="--judged",
            metavar="FILE",
            many="repeat",
            group=_DATA,
            read=list,
        ),
    ] = None,
    *,
    valid: Annotated[
        Any,
        Option(
            "dialogues that decide when training stops; may be repeated",
            metavar="FILE",
            many="repeat",
            group=_DATA,
            read=list,
        ),
    ] = (),
    seed: Seed = 0,
    run: Annotated[
        TrainingRun | None,
        Option("how the run is carried out", training_run, parts=RUN_PARTS, read="learning.run:run_given"),
    ] = None,
    output: Annotated[
        str | Path | None,
        Option("folder to save the model in", path, short="-o", metavar="FOLDER", required=True),
    ] = None,
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    on_read: Annotated[
        Callable[[TrainingInput], None], Option("called with what was read", function, shown=False)
    ] = warn_of_skipped,
    on_finished: Annotated[
        Callable[[], None], Option("called where an earlier run has saved the same model", function, shown=False)
    ] = lambda: None,
    **parameters: Annotated[Any, Option("the parameters of the method", shown=False)],
) -> Any:
    """Train the named evaluator, reply model or sentence encoder, and save it where `output` names a folder.

    `dialogues` is a file, several files, or an iterable of Dialogues, of records with `turns` or of lists of turns;
    `judged` is a file, several files, a data frame, or an iterable of JudgedExamples or records. `valid` decides when
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


# The folder that a trained model is saved in, with the checkpoints of its training next to it.


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


# `default-large`: a blend whose fitted weights come with the package, but whose two largest members do not.
#
# A *template* is the folder of a blend in which the places of these members are open: `{mpnet}` and `{smollm2}` stand
# for their folders or Hugging Face names. What `setup` writes has a copy of each model.


DIGESTS = "digests"
"""The key of config.json with a hash of each model that a template was fitted with."""
OPEN = "open"
"""The key of an open place, with the name of its model."""


@verb
def setup(
    name: Annotated[str, Option("the evaluator, such as default-large", text)],
    output: Annotated[
        str | Path, Option("folder to save the evaluator in", path, name="--output", short="-o", metavar="FOLDER")
    ],
    *,
    mpnet: Annotated[str, Option("folder or Hugging Face name of this model", text, metavar="MODEL")] = (
        "sentence-transformers/all-mpnet-base-v2"
    ),
    smollm2: Annotated[str, Option("folder or Hugging Face name of this model", text, metavar="MODEL")] = (
        "HuggingFaceTB/SmolLM2-135M-Instruct"
    ),
    template: Annotated[Path | None, Option("the folder to fill in instead of the package's", shown=False)] = None,
) -> Blend:
    """Write the named evaluator into a folder with these models as members, and return it."""
    if template is None and name not in TEMPLATES:
        raise UnknownNameError("evaluator that is set up", name, TEMPLATES)
    places = {"mpnet": mpnet, "smollm2": smollm2}
    folder, target = template or template_folder(name), Path(output)
    check_target(target)
    config = _filled(read_config(folder), places)
    listed = config["learned"]["members"]
    _check_found(name, places)
    still_open = [number for number, place in enumerate(listed) if OPEN in place]
    names = [config["parameters"]["members"][number] for number in still_open]
    members = [_checked(load_member(member), config[DIGESTS], places) for member in names]
    with replacing_folder(target) as fresh:
        shutil.copytree(folder, fresh, dirs_exist_ok=True)
        for number, place in zip(still_open, member_places(names, members, fresh), strict=True):
            listed[number] = place
        write_config(fresh, {key: value for key, value in config.items() if key not in {"format", DIGESTS}})
    return Blend.load(target)


def _check_found(name: str, places: Mapping[str, str]) -> None:
    """CallError that names all models that are missing; those of the hub are downloaded if it can be reached."""
    missing: dict[str, CallError] = {}
    with downloads():
        for source in places.values():
            try:
                find_pretrained(source, "model")
            except CallError as error:
                missing[source] = error
    if len(missing) == 1:
        raise next(iter(missing.values()))
    if missing:
        options = " ".join(f"--{key} FOLDER" for key, source in places.items() if source in missing)
        raise CallError(
            f"{name} needs {' and '.join(missing)}, which are neither folders nor in the Hugging Face cache, and the "
            f"hub cannot be reached: expected {options}"
        )


def opened(folder: str | Path, output: str | Path, models: Mapping[str, str]) -> None:
    """Write a fitted blend as a template: what names one of the models becomes an open place."""
    text = json.dumps(read_config(Path(folder)))
    for key, source in models.items():
        text = text.replace(json.dumps(source)[1:-1], f"{{{key}}}")
    config: Any = json.loads(text)
    listed, digests = config["learned"]["members"], {}
    for number, member in enumerate(Blend.load(folder).members_):
        if isinstance(member, Pretrained):
            source, digest = member.model_key
            [key] = [key for key, given in models.items() if given == source]
            digests[key] = digest
            listed[number] = {OPEN: key}
        elif "folder" in listed[number]:
            raise CallError(f"{folder} has {member.name} in a folder of its own, which a template cannot have")
    with replacing_folder(Path(output)) as fresh:
        for path in Path(folder).iterdir():
            if path.is_file():
                shutil.copyfile(path, fresh / path.name)
        write_config(fresh, {**{key: value for key, value in config.items() if key != "format"}, DIGESTS: digests})


def _filled(value: Any, places: Mapping[str, str]) -> Any:
    """The value with the open places of all texts in it filled in."""
    if isinstance(value, str):
        for key, source in places.items():
            value = value.replace(f"{{{key}}}", source)
        return value
    if isinstance(value, dict):
        return {key: _filled(each, places) for key, each in value.items()}
    return [_filled(each, places) for each in value] if isinstance(value, list) else value


def _checked(member: Metric, digests: Mapping[str, str], places: Mapping[str, str]) -> Metric:
    """The member; another encoder is refused, and another form of the language model, of which there are many, is
    told."""
    if not isinstance(member, Pretrained):
        return member
    source, digest = member.model_key
    [key] = [key for key, place in places.items() if place == source]
    expected = TEMPLATES["default-large"][key]
    if digest != digests[key] and isinstance(member, EncoderCosine):
        raise CallError(f"{source} is not the encoder that this blend was fitted with: expected {expected}")
    if digest != digests[key]:
        warnings.warn(
            f"{source} has other weights than the language model that this blend was fitted with (a 4-bit file of "
            f"{expected}): scores may differ slightly",
            ScoreWarning,
            stacklevel=3,
        )
    return member
