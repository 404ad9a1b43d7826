"""What is known about every name: `describe` lists all of them, or explains one."""

from __future__ import annotations

import dataclasses
import inspect
import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from rejoinder.errors import CallError, UnknownNameError
from rejoinder.metrics.base import Metric, plain
from rejoinder.options import Option, text, verb
from rejoinder.registered import REGISTERED
from rejoinder.registry import (
    ALIASES,
    EVALUATORS,
    JUDGES,
    RECOMMENDED,
    REPLY_MODELS,
    SHIPPED_EVALUATORS,
    TEMPLATES,
    TRAINABLE,
    build,
    metric_class,
    metric_names,
    trainable_class,
    trainable_names,
)
from rejoinder.scoring.advice import PAGES, QUESTIONS, measured_trust
from rejoinder.show.document import Document, Result, Say
from rejoinder.show.text import aligned

_WIDEST = 100


@dataclass(frozen=True, repr=False)
class MetricCard(Result):
    """All that is known about one metric, evaluator or reply model."""

    about: Mapping[str, Any]
    """What it measures and needs, its range, source, parameters, weaknesses, use and measured agreement with people."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.about["name"])

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return dict(self.about)

    def document(self) -> Document:
        """What is known, line by line."""
        return Document(self.name, [Say(list(_text(self.about, _WIDEST)), lines=True, fit=False)])

    def text(self, width: int = 80, *, details: bool = False) -> str:  # noqa: ARG002 - there are no more
        """An explanation as text."""
        return "\n".join(_text(self.about, min(_WIDEST, width)))


@dataclass(frozen=True, repr=False)
class MetricList(Result):
    """Everything that scores or replies, by name."""

    metrics: Mapping[str, Mapping[str, Any]]
    """Metric that needs no training -> what it measures and needs."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, with what comes with the package and what can be trained."""
        return {
            "metrics": self.metrics,
            "shipped": SHIPPED_EVALUATORS,
            "trainable": TRAINABLE,
            "recommended": RECOMMENDED,
        }

    def document(self) -> Document:
        """All names with one line each."""
        return Document("Metrics", [Say(list(_list(self.metrics, _WIDEST)), lines=True, fit=False)])

    def text(self, width: int = 80, *, details: bool = False) -> str:  # noqa: ARG002 - there are no more
        """All names with one line each."""
        return "\n".join(_list(self.metrics, min(_WIDEST, width)))


@verb
def describe(
    name: Annotated[
        str | None,
        Option(
            "explain this one: what it needs, its parameters, its weaknesses and how well it agreed with people",
            text,
            metavar="NAME",
        ),
    ] = None,
) -> MetricCard | MetricList:
    """What is known about a metric, an evaluator or a reply model; without a name, the list of all of them."""
    if name is None:
        return MetricList({name: _described(name) for name in metric_names()})
    return MetricCard(_explained(name))


def _list(described: Mapping[str, Mapping[str, Any]], width: int) -> Iterator[str]:
    """Everything by name, with one line each."""

    with_references: dict[str, str] = {}
    without: dict[str, str] = {}
    for name, about in described.items():
        group = with_references if about["needs"] and "references" in about["needs"] else without
        group[name] = about["measures"]
    groups = {
        "Which one?": QUESTIONS,
        "Evaluators that come with the package (need contexts, no references):": SHIPPED_EVALUATORS,
        "Metrics that compare a reply with references:": with_references,
        "Metrics that need no references:": without,
        "Language models as judges (need the address of a server):": {name: _measures(name) for name in JUDGES},
        **{f"To train: {group}:": purposes for group, purposes in TRAINABLE.items()},
    }
    for title, rows in groups.items():
        yield from (title, *aligned(rows, width), "")
    yield "`rejoinder metrics NAME` explains one; `rejoinder train NAME` trains one."


def _measures(name: str) -> str:

    return str(metric_class(name).measures)


def _explained(name: str) -> dict[str, Any]:
    """All that is known about one name."""

    base = ALIASES.get(name, (name, {}))[0]
    known = REGISTERED.get(base)
    if known is not None and known.kind in {"shipped", "template"}:
        about = {"measures": known.purpose, "needs": ["context"], "range": [1, 5], "higher_is_better": True}
    elif base in metric_names() or base in JUDGES or base in EVALUATORS:
        about = _described(base) | ({"parameters_set": ALIASES[name][1]} if name in ALIASES else {})
    elif known is not None and base in trainable_names():
        about = {"measures": known.purpose}
    else:
        names = [*metric_names(), *JUDGES, *ALIASES, *SHIPPED_EVALUATORS, *TEMPLATES, *trainable_names()]
        raise UnknownNameError("metric or model", name, names)
    figures = measured_trust(base)
    page = (known.page if known else "") or ("results/evaluator-figures.md" if figures else None)
    return {
        "name": name,
        **about,
        "weaknesses": (known.weakness or None) if known else None,
        "used": _use(name, base),
        "agreement": [dataclasses.asdict(figure) for figure in figures],
        "results": page and PAGES + page,
    }


def _use(name: str, base: str) -> str:
    """The command that uses it."""

    if base in TEMPLATES:
        return f"rejoinder setup {base} -o FOLDER; then rejoinder score replies.jsonl -m FOLDER"
    if base in JUDGES:
        return "see docs/guide/llm-judge.md"
    if base not in trainable_names():
        return f"rejoinder score replies.jsonl -m {name}"
    if base in EVALUATORS:
        after = "score replies.jsonl -m FOLDER"
    elif base in REPLY_MODELS:
        after = "generate --help"
    else:
        after = "train t2v-dot --encoder FOLDER"
    return f"rejoinder train {base} --help; then rejoinder {after}"


def _text(about: Mapping[str, Any], width: int) -> Iterator[str]:
    """An explanation as text."""

    yield about["name"]
    rows = {"measures" if "needs" in about else "purpose": about["measures"]}
    if "needs" in about:
        needs = "depends on the parameters" if about["needs"] is None else ", ".join(about["needs"])
        rows["needs"] = needs or "nothing but the reply"
    if about.get("range"):
        low, high = ("no limit" if end is None else f"{end:g}" for end in about["range"])
        better = f"; {'higher' if about['higher_is_better'] else 'lower'} is better"
        rows["range"] = f"{low} to {high}{better if None not in about['range'] else ''}"
    if "citation" in about:
        rows["source"] = about["citation"]
    if about.get("presets"):
        rows["also as"] = ", ".join(about["presets"])
    if "parameters" in about:
        given = (about["parameters"] | about.get("parameters_set", {})).items()
        rows["parameters"] = ", ".join(key if value is None else f"{key}={plain(value)}" for key, value in given)
    if about["weaknesses"]:
        rows["weaknesses"] = about["weaknesses"]
    rows["use"] = about["used"]
    yield from aligned(rows, width)
    if "needs" in about:
        yield ""
        yield from _agreement(about, width)


def _agreement(about: Mapping[str, Any], width: int) -> Iterator[str]:
    """The measured agreement with people, set by set."""
    if about["agreement"]:
        yield from textwrap.wrap(
            "Agreement with people: Spearman's correlation of scores with mean ratings, reply by reply, with its 95 % "
            "interval; and the number of replies.",
            width,
        )
    elif about["results"]:
        yield "Agreement with people depends on what it was trained on."
    else:
        yield "Agreement with people was not measured."
    measured = ""
    for figure in about["agreement"]:
        if figure["measured"] != measured:
            measured = figure["measured"]
            yield f"  {measured}:"
        estimate, low, high = figure["spearman"]
        interval = f"{estimate:5.2f} [{low:.2f}, {high:.2f}]"
        rated = f"{figure['judged']}, {figure['dimension'].partition(' (')[0]}"
        yield f"    {rated:<46}{interval:<21}{figure['replies']:>6,}"
    if about["results"]:
        yield f"Figures: {about['results']}"
    yield "Measure it on ratings of your own: rejoinder trust rated.jsonl"


def _described(name: str) -> dict[str, Any]:
    """The description of one metric, with its default parameters."""

    cls = trainable_class(name) if name in EVALUATORS.keys() - metric_names() else metric_class(name)
    try:
        metric = build(name, {})
    except CallError:  # a parameter has no default: only what its class says is known
        metric = cls
    needs, ends = (None if isinstance(value, property) else value for value in (metric.needs, metric.range))
    return {
        "needs": needs if needs is None else sorted(needs),
        "measures": cls.measures,
        "citation": cls.citation,
        "range": ends if ends is None else [None if math.isinf(end) else end for end in ends],
        "higher_is_better": cls.higher_is_better,
        "parameters": {field.name: _default(field) for field in _own_first(cls)},
        "presets": [alias for alias, (base, _) in ALIASES.items() if base == name],
    }


def _own_first(metric: type[Metric]) -> list[dataclasses.Field[Any]]:
    """The parameters, those first that only this metric has."""
    own = inspect.get_annotations(metric)
    return sorted(
        (field for field in dataclasses.fields(metric) if field.init), key=lambda field: field.name not in own
    )


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default value; None where there is none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default
