"""Names to classes, imported only when asked for.

A name may come with parameters, `bleu(n=2, smooth=exp)`, which become keyword arguments: see `rejoinder.specs`. Other
packages add their own metrics through the entry-point group `rejoinder.metrics` (name -> class), and are then used
like ours.
"""

from __future__ import annotations

import importlib
import inspect
import os.path
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from typing import Any

from rejoinder.arguments import checked, of_type
from rejoinder.building import instance
from rejoinder.errors import CallError, UnknownNameError, shortened
from rejoinder.loading.inside import looks_like_path
from rejoinder.loading.sources import offline
from rejoinder.model_folder import read_config
from rejoinder.specs import parse_spec

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
    "fluency": "rejoinder.metrics.fluency:Fluency",
    "ruber-pool": "rejoinder.evaluators.ruber.pooling:RuberPool",
}
"""Metrics that need no training: name -> class."""

JUDGES: dict[str, str] = {
    "judge": "rejoinder.evaluators.judge.judge:Judge",
    "jury": "rejoinder.evaluators.judge.jury:Jury",
}
"""Language models as judges: name -> class. They need an address, so that `all` does not name them."""

_FILES = frozenset({"vectors", "paraphrases"})
"""Parameters of metrics that name files, or what comes with the package."""
_BUNDLED = frozenset({"conversational-50d", "none", "default"})

EVALUATORS: dict[str, str] = {
    "encoder": "rejoinder.evaluators.encoder.encoder:Encoder",
    "ensemble": "rejoinder.evaluators.ensemble:Ensemble",
    "blend": "rejoinder.evaluators.blend.blend:Blend",
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
"""Metrics that are trained, saved in a folder and loaded from it: name -> class."""

SHIPPED: dict[str, str] = {
    "default": "how good a reply is, from 1 to 5, by a network and other signals that come with the package",
    "default-fast": "the same by word vectors and counts: less accurate, but tens of thousands of replies per second",
    "default@1": "the former default, the network alone: only to compare with earlier scores",
}
"""Trained evaluators that come with the package: name -> what each measures."""

SHIPPED_FOLDERS: dict[str, str] = {
    "default": "default-3",
    "default@3": "default-3",
    "default@1": "default",
    "default-fast": "default-fast",
}
"""The same, versions included: name -> folder. Scores of two versions must not be compared."""

TEMPLATES: dict[str, dict[str, str]] = {
    "default-large": {
        "mpnet": "sentence-transformers/all-mpnet-base-v2",
        "smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct",
    },
}
"""Evaluators of which the package has the fitted weights, but not all members: name -> models that they need."""

REPLY_MODELS: dict[str, str] = {
    "r-tfidf": "rejoinder.reply_models.retrieval.tfidf:ResponseTfidf",
    "c-tfidf": "rejoinder.reply_models.retrieval.tfidf:ContextTfidf",
    "bm25": "rejoinder.reply_models.retrieval.bm25:Bm25",
    "retrieve-rerank": "rejoinder.reply_models.retrieval.rerank:RetrieveRerank",
    "dual-encoder": "rejoinder.reply_models.retrieval.dual_encoder:DualEncoder",
    "dual-encoder-rnn": "rejoinder.reply_models.retrieval.dual_encoder_rnn:RecurrentDualEncoder",
    "lstm-lm": "rejoinder.reply_models.neural.recurrent:LstmLanguageModel",
    "seq2seq": "rejoinder.reply_models.neural.recurrent:Seq2SeqModel",
    "seq2seq-attention": "rejoinder.reply_models.neural.recurrent:Seq2SeqAttention",
    "hred": "rejoinder.reply_models.neural.recurrent:HredModel",
    "vhred": "rejoinder.reply_models.neural.recurrent:VhredModel",
    "causal-lm": "rejoinder.reply_models.neural.causal:CausalLanguageModel",
}
"""Models that write or retrieve replies: name -> class."""

ENCODERS: dict[str, str] = {
    "tweet2vec": "rejoinder.encoders.tweet2vec.encoder:Tweet2Vec",
    "skip-thought": "rejoinder.evaluators.skip_thought:SkipThought",
    "stored-vectors": "rejoinder.encoders.stored_vectors:StoredVectors",
    "pretrained": "rejoinder.encoders.sentence_encoders:PretrainedEncoder",
}
"""Sentence encoders that are saved in a folder: name -> class. The encoder of a reply model can serve as well."""

ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"bleu-{n}": ("bleu", {"n": n}) for n in (1, 2, 3, 4)},
    "rouge-l-f1": ("rouge-l", {"beta": 1.0, "refs": "max"}),
    "cider-d": ("cider", {"variant": "d"}),
    "cider-plain": ("cider", {"variant": "plain"}),
    **{f"distinct-{n}": ("distinct", {"n": n}) for n in (1, 2)},
}
"""Names that papers use for settings of one metric: name -> metric and parameters."""


@checked(name_or_folder=of_type(str, Path, called="a name or a folder"))
def load(name_or_folder: str | Path, **parameters: Any) -> Any:
    """A metric, an evaluator or a reply model, by its name or from the folder that a trained one was saved in.

    `load("bleu", n=2)` and `load("bleu(n=2)")` are the same. What has to be trained is returned untrained where it is
    given by name; an evaluator that learns nothing from data can be used at once.
    """
    with offline():
        return _loaded(str(name_or_folder), parameters)


def _loaded(text: str, parameters: Mapping[str, Any]) -> Any:
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
    if name in JUDGES or name not in {*metric_names(), *ALIASES, *SHIPPED}:
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
    return _import(table[name])


def _import(location: str) -> type[Any]:
    module, _, attribute = location.partition(":")
    try:
        found: type[Any] = attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise CallError(f"{location} cannot be imported ({error})") from error
    return found
