"""Names to classes, imported only when asked for.

A name may carry parameters, `bleu(n=2, smooth=exp)`, which become keyword arguments. Other packages add their own
metrics through the entry-point group `rejoinder.metrics` (name -> class), and are then used like ours.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from numbers import Integral, Real
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args, get_type_hints

from rejoinder.errors import CallError, UnknownNameError

METRICS: dict[str, str] = {
    "bleu": "rejoinder.metrics.bleu:Bleu",
    "rouge-l": "rejoinder.metrics.rouge:RougeL",
    "meteor": "rejoinder.metrics.meteor.metric:Meteor",
    "cider": "rejoinder.metrics.cider:Cider",
    "chrf": "rejoinder.metrics.chrf:ChrF",
    "embedding-average": "rejoinder.metrics.embedding:EmbeddingAverage",
    "vector-extrema": "rejoinder.metrics.embedding:VectorExtrema",
    "greedy-matching": "rejoinder.metrics.embedding:GreedyMatching",
    "distinct": "rejoinder.metrics.diversity:Distinct",
    "repetition": "rejoinder.metrics.novelty:Repetition",
    "specificity": "rejoinder.metrics.novelty:Specificity",
    "pm": "rejoinder.metrics.pragmatic:Pm",
    "length": "rejoinder.metrics.length:Length",
    "ruber-pool": "rejoinder.evaluators.ruber.pooling:RuberPool",
}

EVALUATORS: dict[str, str] = {
    "encoder": "rejoinder.evaluators.encoder.encoder:Encoder",
    "ensemble": "rejoinder.evaluators.ensemble:Ensemble",
    "encoder-cosine": "rejoinder.evaluators.encoder_cosine:EncoderCosine",
    "skip-thought": "rejoinder.evaluators.skip_thought:SkipThought",
    "likelihood": "rejoinder.evaluators.likelihood:Likelihood",
    "static": "rejoinder.evaluators.static.static:Static",
    "am-fm": "rejoinder.evaluators.am_fm.am_fm:AmFm",
    "am": "rejoinder.evaluators.am_fm.parts:Am",
    "fm": "rejoinder.evaluators.am_fm.parts:Fm",
    "ruber": "rejoinder.evaluators.ruber.ruber:Ruber",
    "ruber-ref": "rejoinder.evaluators.ruber.pooling:RuberRef",
    "ruber-unref": "rejoinder.evaluators.ruber.unref:RuberUnref",
    "adem": "rejoinder.evaluators.adem.adem:Adem",
    "c-adem": "rejoinder.evaluators.adem.adem:ContextAdem",
    "r-adem": "rejoinder.evaluators.adem.adem:ReferenceAdem",
    "encoder-dot": "rejoinder.evaluators.adem.dot:EncoderDot",
    "vhred-dot": "rejoinder.evaluators.adem.dot:VhredDot",
    "t2v-dot": "rejoinder.evaluators.adem.dot:Tweet2VecDot",
    "human-likeness": "rejoinder.evaluators.adem.human_likeness:HumanLikeness",
}
"""Name -> where the class is, of metrics that are trained and then loaded from their folder."""

SHIPPED: dict[str, str] = {
    "default": "how well a reply fits its context, from 1 to 5, by a network that comes with the package",
    "default-fast": "the same by word vectors and counts: less precise, and tens of thousands of replies a second",
}
"""Name -> what it measures, of evaluators that come trained with the package."""

REPLY_MODELS: dict[str, str] = {
    "r-tfidf": "rejoinder.reply_models.retrieval.tfidf:ResponseTfidf",
    "c-tfidf": "rejoinder.reply_models.retrieval.tfidf:ContextTfidf",
    "bm25": "rejoinder.reply_models.retrieval.bm25:Bm25",
    "dual-encoder": "rejoinder.reply_models.retrieval.dual_encoder:DualEncoder",
    "dual-encoder-rnn": "rejoinder.reply_models.retrieval.dual_encoder_rnn:RecurrentDualEncoder",
    "lstm-lm": "rejoinder.reply_models.neural.recurrent:LstmLanguageModel",
    "seq2seq": "rejoinder.reply_models.neural.recurrent:Seq2SeqModel",
    "seq2seq-attention": "rejoinder.reply_models.neural.recurrent:Seq2SeqAttention",
    "hred": "rejoinder.reply_models.neural.recurrent:HredModel",
    "vhred": "rejoinder.reply_models.neural.recurrent:VhredModel",
    "causal-lm": "rejoinder.reply_models.neural.causal:CausalLanguageModel",
}
"""Name -> where the class is, of models that reply; they are trained and then loaded from their folder."""

ENCODERS: dict[str, str] = {
    "tweet2vec": "rejoinder.encoders.tweet2vec.encoder:Tweet2Vec",
    "skip-thought": "rejoinder.evaluators.skip_thought:SkipThought",
    "stored-vectors": "rejoinder.encoders.stored_vectors:StoredVectors",
    "pretrained": "rejoinder.encoders.sentence_encoders:PretrainedEncoder",
}
"""Name -> where the class is, of sentence encoders that are saved in a folder; reply models have encoders as well."""

# The papers' own names for settings of one metric.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"bleu-{n}": ("bleu", {"n": n}) for n in (1, 2, 3, 4)},
    "rouge-l-f1": ("rouge-l", {"beta": 1.0, "refs": "max"}),
    "cider-d": ("cider", {"variant": "d"}),
    "cider-plain": ("cider", {"variant": "plain"}),
    **{f"distinct-{n}": ("distinct", {"n": n}) for n in (1, 2)},
}

_SPEC = re.compile(r"\s*(?P<name>[^\s()=,]+)\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_ARGUMENT = re.compile(r"""\s*(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^,"']*?)\s*(?:,|$)""")

_PLAIN: dict[Any, tuple[type[Any], str]] = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "text"),
    type(None): (type(None), "nothing"),
}
"""Types of parameters -> what is taken for one, and what to call it."""


@cache
def metric_names() -> dict[str, str]:
    """Every metric name -> where its class is, plug-ins included (ours win a clash)."""
    plugged = {point.name: f"{point.module}:{point.attr}" for point in entry_points(group="rejoinder.metrics")}
    return plugged | METRICS


def metric_class(name: str) -> type[Any]:
    """The class behind a metric's name."""
    known = metric_names()
    if name not in known:
        raise UnknownNameError("metric", name, [*known, *ALIASES, *SHIPPED])
    return _import(known[name])


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """'bleu(n=2, smooth=exp)' -> ('bleu', {'n': 2, 'smooth': 'exp'})."""
    matched = _SPEC.fullmatch(spec)
    if not matched:
        raise CallError(f"cannot read {spec!r}: expected a name, or a name with parameters such as bleu(n=2)")
    parameters: dict[str, Any] = {}
    arguments, position = (matched["arguments"] or "").strip(), 0
    while position < len(arguments):
        argument = _ARGUMENT.match(arguments, position)
        if not argument:
            raise CallError(f"cannot read the parameters of {spec!r}: expected key=value, separated by commas")
        if argument["key"] in parameters:
            raise CallError(f"{spec!r} gives {argument['key']!r} twice")
        parameters[argument["key"]] = _literal(argument["value"])
        position = argument.end()
    return matched["name"], parameters


def load(name_or_folder: str | Path, **parameters: Any) -> Any:
    """A metric by name, `load("bleu", n=2)` or `load("bleu(n=2)")`; or a trained evaluator, reply model or sentence
    encoder from its folder."""
    text = str(name_or_folder)
    known = {"", *metric_names(), *ALIASES, *SHIPPED}
    if text not in known and Path(text).is_dir():
        return load_folder(Path(text), parameters)
    name, given = parse_spec(text)
    if name not in known and Path(name).is_dir():
        return load_folder(Path(name), given | parameters)
    if name in SHIPPED:
        return load_evaluator(shipped_folder(name), given | parameters)
    return build(name, given | parameters)


def load_folder(folder: Path, parameters: Mapping[str, Any]) -> Any:
    """What was saved in a folder, whatever its kind."""
    name = _import("rejoinder.learning.saving:read_config")(folder)["name"]
    if name in EVALUATORS or parameters or name not in REPLY_MODELS | ENCODERS:
        return load_evaluator(folder, parameters)
    return load_sentence_encoder(folder)


def shipped_folder(name: str) -> Path:
    """Where an evaluator that comes with the package is."""
    return Path(__file__).parent / "resources" / name


def load_evaluator(folder: Path, parameters: Mapping[str, Any]) -> Any:
    """The trained evaluator of a folder; `parameters` are those of its class's `load`."""
    # By name: the registry stands before all that it names, so nothing of it is imported here.
    name = _import("rejoinder.learning.saving:read_config")(folder)["name"]
    if name not in EVALUATORS:
        raise UnknownNameError(f"evaluator in {folder}:", name, EVALUATORS)
    loader = _import(EVALUATORS[name]).load
    taken = set(inspect.signature(loader).parameters) - {"folder"}
    for key in parameters:
        if key not in taken:
            raise UnknownNameError(f"parameter of {folder}:", key, taken)
    return loader(folder, **parameters)


def evaluator_class(name: str) -> type[Any]:
    """The class behind the name of an evaluator that is trained."""
    if name not in EVALUATORS:
        raise UnknownNameError("evaluator", name, EVALUATORS)
    return _import(EVALUATORS[name])


def reply_model_class(name: str) -> type[Any]:
    """The class behind a reply model's name."""
    if name not in REPLY_MODELS:
        raise UnknownNameError("reply model", name, REPLY_MODELS)
    return _import(REPLY_MODELS[name])


def build_reply_model(name: str, parameters: Mapping[str, Any]) -> Any:
    """A reply model that is not fitted; a parameter that it does not have is an error with the near names."""
    return _built(name, reply_model_class(name), {}, parameters)


def trainable_names() -> dict[str, str]:
    """Name -> where the class is, of all that `fit` trains: evaluators, reply models and a sentence encoder."""
    return {**EVALUATORS, **REPLY_MODELS, "tweet2vec": ENCODERS["tweet2vec"]}


def trainable_class(name: str) -> type[Any]:
    """The class behind the name of an evaluator, a reply model or a sentence encoder that is trained."""
    known = trainable_names()
    if name not in known:
        raise UnknownNameError("evaluator, encoder or reply model", name, known)
    return _import(known[name])


def build_trainable(name: str, parameters: Mapping[str, Any]) -> Any:
    """One that is not fitted; a parameter that it does not have is an error with the near names."""
    return _built(name, trainable_class(name), {}, parameters)


def load_reply_model(folder: str | Path) -> Any:
    """The reply model that was saved in a folder, fitted."""
    name = _import("rejoinder.learning.saving:read_config")(Path(folder), "reply model")["name"]
    if name not in REPLY_MODELS:
        raise UnknownNameError(f"reply model in {folder}:", name, REPLY_MODELS)
    return _import(REPLY_MODELS[name]).load(folder)


def load_sentence_encoder(folder: str | Path) -> Any:
    """The sentence encoder that was saved in a folder, or the reply model, whose encoder may serve as one."""
    name = _import("rejoinder.learning.saving:read_config")(Path(folder), "sentence encoder")["name"]
    known = REPLY_MODELS | ENCODERS
    if name not in known:
        raise UnknownNameError(f"sentence encoder in {folder}:", name, known)
    return _import(known[name]).load(folder)


def build(name: str, parameters: Mapping[str, Any]) -> Any:
    """An instance of the named metric; a parameter that it does not have is an error with the near names."""
    base, preset = ALIASES.get(name, (name, {}))
    return _built(name, metric_class(base), preset, parameters)


def _built(name: str, cls: type[Any], preset: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise CallError(f"{name} is not a metric: {cls!r} is no dataclass")
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    hints = _hints(cls)
    for key, value in parameters.items():
        if key not in fields:
            raise UnknownNameError(f"parameter of {name}:", key, fields)
        _check_type(f"{name}: {key}", value, hints.get(key, Any))
    given = {**preset, **parameters}
    for key, field in fields.items():
        if key not in given and field.default is field.default_factory is dataclasses.MISSING:
            raise CallError(f"{name} needs a value for {key}: {name}({key}=...)")
    return cls(**given)


def _hints(cls: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(cls)
    except NameError:  # a type that is imported only while types are checked
        return {}


def _check_type(what: str, value: Any, hint: Any) -> None:
    """Raise a CallError where a parameter has a plain type and the value is of another."""
    kinds = get_args(hint) or (hint,)
    if not all(kind in _PLAIN for kind in kinds):
        return
    if isinstance(value, bool):
        fits = bool in kinds
    else:
        fits = any(isinstance(value, _PLAIN[kind][0]) for kind in kinds if kind is not bool)
    if not fits:
        expected = " or ".join(_PLAIN[kind][1] for kind in kinds if kind is not type(None))
        raise CallError(f"{what} must be {expected}, not {value!r}")


def _import(location: str) -> type[Any]:
    module, _, attribute = location.partition(":")
    try:
        found: type[Any] = attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise CallError(f"{location} cannot be imported ({error})") from error
    return found


def _literal(text: str) -> Any:
    if text[:1] in {'"', "'"}:
        return text[1:-1]
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
