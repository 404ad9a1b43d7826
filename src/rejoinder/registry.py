"""Names to classes, imported only when asked for.

A name may come with parameters, `bleu(n=2, smooth=exp)`, which become keyword arguments: see `rejoinder.specs`. Other
packages add their own metrics through the entry-point group `rejoinder.metrics` (name -> class), and are then used
like ours.
"""

from __future__ import annotations

import importlib
import inspect
import os.path
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from rejoinder.errors import CallError, DataError, UnknownNameError, shortened
from rejoinder.folders.schema import looks_like_path, read_config
from rejoinder.folders.sources import offline
from rejoinder.options import Option, of_type, verb
from rejoinder.registered import REGISTERED
from rejoinder.specs import instance, parse_spec


def _known(column: str, **having: Any) -> dict[str, Any]:
    """Name -> this column of its record, for the names whose record has this value."""
    ((key, value),) = having.items()
    return {name: getattr(each, column) for name, each in REGISTERED.items() if getattr(each, key) == value}


METRICS: dict[str, str] = _known("place", kind="metric")
"""Metrics that need no training: name -> class."""

JUDGES: dict[str, str] = _known("place", kind="judge")
"""Language models as judges: name -> class. They need an address, so that `all` does not name them."""

EVALUATORS: dict[str, str] = _known("place", kind="evaluator")
"""Metrics that are trained, saved in a folder and loaded from it: name -> class."""

REPLY_MODELS: dict[str, str] = _known("place", kind="reply model")
"""Models that write or retrieve replies: name -> class."""

ENCODERS: dict[str, str] = _known("place", kind="sentence encoder") | _known("place", encodes=True)
"""Sentence encoders that are saved in a folder: name -> class. The encoder of a reply model can serve as well."""

SHIPPED_EVALUATORS: dict[str, str] = _known("purpose", kind="shipped")
"""Trained evaluators that come with the package: name -> what each measures."""

SHIPPED_FOLDERS: dict[str, str] = _known("place", kind="shipped") | {"default@3": REGISTERED["default"].place}
"""The same, versions included: name -> folder. Scores of two versions must not be compared."""

TEMPLATES: dict[str, Mapping[str, str]] = _known("models", kind="template")
"""Evaluators of which the package has the fitted weights, but not all members: name -> models that they need."""

TRAINABLE: dict[str, dict[str, str]] = {
    group: _known("purpose", group=group)
    for group in dict.fromkeys(map(attrgetter("group"), REGISTERED.values()))
    if group
}
"""Heading -> name -> purpose, of all that `rejoinder train` trains."""

RECOMMENDED = "encoder"
"""What to train if in doubt: of those measured, it agrees best with people (docs/results/evaluator-figures.md)."""

_FILES = frozenset({"vectors", "paraphrases"})
"""Parameters of metrics that name files, or what comes with the package."""
_BUNDLED = frozenset({"conversational-50d", "none", "default"})

ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "bleu-1": ("bleu", {"n": 1}),
    "bleu-2": ("bleu", {"n": 2}),
    "bleu-3": ("bleu", {"n": 3}),
    "bleu-4": ("bleu", {"n": 4}),
    "rouge-l-f1": ("rouge-l", {"beta": 1.0, "refs": "max"}),
    "cider-d": ("cider", {"variant": "d"}),
    "cider-plain": ("cider", {"variant": "plain"}),
    "distinct-1": ("distinct", {"n": 1}),
    "distinct-2": ("distinct", {"n": 2}),
}
"""Names that papers use for settings of one metric: name -> metric and parameters."""


@verb
def load(
    name_or_folder: Annotated[
        str | Path, Option("the name or the folder", of_type(str, Path, called="a name or a folder"))
    ],
    **parameters: Any,
) -> Any:
    """A metric, an evaluator or a reply model, by its name or from the folder that a trained one was saved in.

    `load("bleu", n=2)` and `load("bleu(n=2)")` are the same. What has to be trained is returned untrained where it is
    given by name; an evaluator that learns nothing from data can be used at once.
    """
    text = str(name_or_folder)
    with offline():
        if _is_folder(text):
            return load_folder(text, parameters)
        name, given = parse_spec(text)
        given |= parameters
        if name in TEMPLATES:
            options = " ".join(f"--{model} MODEL" for model in TEMPLATES[name])
            raise CallError(
                f"{name} needs models that do not come with the package: rejoinder setup {name} {options} -o FOLDER, "
                "and then the name of that folder"
            )
        if name in SHIPPED_FOLDERS:
            return load_evaluator(shipped_folder(name), given)
        if _is_folder(name):
            return load_folder(name, given)
        built = build(name, given)
        if name in EVALUATORS.keys() - metric_names() and built.labels == built.dialogues == "unused":
            return built.fit()
        return built


def build(name: str, parameters: Mapping[str, Any]) -> Any:
    """A metric, or something to train that is not trained yet; an unknown parameter is an error."""
    if name in trainable_names().keys() - metric_names():
        return build_trainable(name, parameters)
    base, preset = ALIASES.get(name, (name, {}))
    return instance(name, metric_class(base), preset, parameters)


@cache
def metric_names() -> dict[str, str]:
    """Every metric name -> where its class is, plug-ins included (our own names take precedence)."""
    plugged = {point.name: f"{point.module}:{point.attr}" for point in entry_points(group="rejoinder.metrics")}
    return plugged | METRICS


def metric_class(name: str) -> type[Any]:
    """The class behind a metric's name."""
    known = metric_names() | JUDGES
    return _class("metric", name, known, [*known, *ALIASES, *SHIPPED_FOLDERS, *TEMPLATES])


def reply_model_class(name: str) -> type[Any]:
    """The class behind a reply model's name."""
    return _class("reply model", name, REPLY_MODELS)


def build_reply_model(name: str, parameters: Mapping[str, Any]) -> Any:
    """A reply model that is not trained; the error for an unknown parameter suggests similar names."""
    return instance(name, reply_model_class(name), {}, parameters)


def shipped_folder(name: str) -> Path:
    """The folder of an evaluator that comes with the package."""
    return Path(__file__).parent / "resources" / SHIPPED_FOLDERS[name]


def template_folder(name: str) -> Path:
    """The folder of an evaluator that has to be set up."""
    return Path(__file__).parent / "resources" / name


def load_folder(folder: str | Path, parameters: Mapping[str, Any], kind: str = "model") -> Any:
    """The object saved in a folder; `parameters` are passed to its class's `load`."""
    known = _SAVED[kind]()
    name = read_config(Path(folder), kind)["name"]
    loader = _class(f"{kind} in {folder}:", name, known).load
    accepted = set(inspect.signature(loader).parameters) - {"folder"}
    for key in parameters:
        if key not in accepted:
            raise UnknownNameError(f"parameter of {folder}:", key, accepted)
    return loader(folder, **parameters)


_SAVED = {
    "evaluator": lambda: EVALUATORS,
    "reply model": lambda: REPLY_MODELS,
    "sentence encoder": lambda: REPLY_MODELS | ENCODERS,
    "model": lambda: EVALUATORS | REPLY_MODELS | ENCODERS,
}
"""Kind of object in a folder -> the names that it may have."""


def load_evaluator(folder: str | Path, parameters: Mapping[str, Any]) -> Any:
    """The trained evaluator of a folder."""
    return load_folder(folder, parameters, "evaluator")


def trainable_names() -> dict[str, str]:
    """All that `fit` trains, evaluators, reply models and a sentence encoder: name -> class."""
    return {**EVALUATORS, **REPLY_MODELS, "tweet2vec": ENCODERS["tweet2vec"]}


def trainable_class(name: str) -> type[Any]:
    """The class behind the name of an evaluator, a reply model or a sentence encoder that is trained."""
    return _class("evaluator, encoder or reply model", name, trainable_names())


def build_trainable(name: str, parameters: Mapping[str, Any]) -> Any:
    """One of these, not trained yet; the error for an unknown parameter suggests similar names."""
    return instance(name, trainable_class(name), {}, parameters)


def load_reply_model(folder: str | Path) -> Any:
    """The trained reply model of a folder."""
    return load_folder(folder, {}, "reply model")


def load_sentence_encoder(folder: str | Path) -> Any:
    """The sentence encoder of a folder, or the reply model, whose encoder can serve as one."""
    return load_folder(folder, {}, "sentence encoder")


def check_portable(name: str, parameters: Mapping[str, Any]) -> None:
    """CallError for a metric that a saved folder must not name: one that reads other files or asks a judge."""
    if name in JUDGES or name not in {*metric_names(), *ALIASES, *SHIPPED_EVALUATORS}:
        wanted = "expected a metric that needs no files or addresses"
        raise CallError(f"{shortened(name)} cannot be part of a model folder: {wanted}")
    for key, value in parameters.items():
        if key == "by" and isinstance(value, str) and value != "none":
            check_portable(*parse_spec(value))
        elif isinstance(value, str) and (looks_like_path(value) or (key in _FILES and value not in _BUNDLED)):
            named = f"{name} reads {shortened(value)}"
            raise CallError(f"{named}: a metric that reads other files cannot be part of a model folder")


def _is_folder(text: str) -> bool:
    """Whether a folder has this name, and no metric, which would take precedence."""
    return text not in {"", *metric_names(), *JUDGES, *ALIASES, *SHIPPED_FOLDERS, *TEMPLATES} and os.path.isdir(
        text
    )  # Path fails on long names


def _class(kind: str, name: str, table: Mapping[str, str], known: Iterable[str] | None = None) -> type[Any]:
    if name not in table:
        raise UnknownNameError(kind, name, table if known is None else known)
    module, _, attribute = table[name].partition(":")
    try:
        found: type[Any] = attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise CallError(f"{table[name]} cannot be imported ({error})") from error
    return found


# Metrics and their parameters from a TOML file.
#
# [metrics.bleu]           # the label is the metric's name,
# n = 2
#
# [metrics.strict-bleu]    # unless `metric` names another one, or the folder of a trained evaluator
# metric = "bleu"
# smooth = "none"
#
# [metrics.both]           # a metric within a metric: its name, or a table
# metric = "ensemble"
# members = ["default", "bleu(n=2)", { metric = "bleu", smooth = "none" }]


def metrics_of_file(path: str) -> dict[str, Any]:
    """The metrics that a file names: label -> metric."""
    tables = _tables(path)
    for key in tables:
        if key != "metrics":
            raise UnknownNameError(f"table in {path}:", key, ["metrics"])
    metrics = tables.get("metrics", {})
    if not isinstance(metrics, dict) or not all(isinstance(table, dict) for table in metrics.values()):
        raise CallError(f"{path}: expected one table per metric, such as [metrics.bleu]")
    if not metrics:
        raise CallError(f"{path} names no metric: expected one table per metric, such as [metrics.bleu]")
    return {label: _metric(label, table, path) for label, table in metrics.items()}


def _metric(label: str, table: dict[str, Any], path: str) -> Any:
    if label in {"id", "system"}:  # columns of every score file
        raise CallError(f"{path}: a metric cannot be labelled {label!r}")
    name = table.get("metric", label)
    if not isinstance(name, str):
        raise CallError(f"{path}: [metrics.{label}]: metric must be a name, not {name!r}")
    try:
        return load(name, **{key: value for key, value in table.items() if key != "metric"})
    except CallError as error:
        raise CallError(f"{path}: [metrics.{label}]: {error}") from None


def _tables(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", file=path) from None
    except (ValueError, RecursionError) as error:  # also a number of too many digits, or lists nested too deeply
        raise DataError(f"is not valid TOML ({error})", file=path) from None
