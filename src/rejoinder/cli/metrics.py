"""`rejoinder metrics [NAME]`."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import math
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import print_json, put, terminal_width
from rejoinder.cli.train.names import GROUPS, RECOMMENDED, aligned

if TYPE_CHECKING:
    from rejoinder.metrics.base import Metric

_WIDEST = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="explain this one: what it needs, its parameters, its weaknesses and how well it agreed with people",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(arguments: argparse.Namespace) -> int:
    """List everything that scores or replies, or explain one of them."""
    if arguments.name is not None:
        about = _explained(arguments.name)
        if arguments.json:
            print_json(about)
        else:
            put("\n".join(_text(about)))
        return 0
    from rejoinder.registry import SHIPPED, metric_names

    described = {name: _described(name) for name in metric_names()}
    if arguments.json:
        print_json({"metrics": described, "shipped": SHIPPED, "trainable": GROUPS, "recommended": RECOMMENDED})
    else:
        put("\n".join(_list(described)))
    return 0


def _list(described: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Everything by name, with one line each."""
    from rejoinder.registry import JUDGES, SHIPPED
    from rejoinder.scoring.advice import QUESTIONS

    with_references: dict[str, str] = {}
    without: dict[str, str] = {}
    for name, about in described.items():
        group = with_references if about["needs"] and "references" in about["needs"] else without
        group[name] = about["measures"]
    groups = {
        "Which one?": QUESTIONS,
        "Evaluators that come with the package (need contexts, no references):": SHIPPED,
        "Metrics that compare a reply with references:": with_references,
        "Metrics that need no references:": without,
        "Language models as judges (need the address of a server):": {name: _measures(name) for name in JUDGES},
        **{f"To train: {group}:": purposes for group, purposes in GROUPS.items()},
    }
    for title, rows in groups.items():
        yield from (title, *aligned(rows, _width()), "")
    yield "`rejoinder metrics NAME` explains one; `rejoinder train NAME` trains one."


def _width() -> int:
    return min(_WIDEST, terminal_width())


def _measures(name: str) -> str:
    from rejoinder.registry import metric_class

    return str(metric_class(name).measures)


def _explained(name: str) -> dict[str, Any]:
    """All that is known about one name."""
    from rejoinder.errors import UnknownNameError
    from rejoinder.registry import ALIASES, EVALUATORS, JUDGES, SHIPPED, TEMPLATES, metric_names, trainable_names
    from rejoinder.scoring.advice import PAGES, RESULTS, WEAKNESSES, agreement

    base = ALIASES.get(name, (name, {}))[0]
    if name in SHIPPED or name in TEMPLATES:
        measures = SHIPPED.get(name) or f"{SHIPPED['default']}; with {' and '.join(TEMPLATES[name].values())}"
        about = {"measures": measures, "needs": ["context"], "range": [1, 5], "higher_is_better": True}
    elif base in metric_names() or base in JUDGES or base in EVALUATORS:
        about = _described(base) | ({"parameters_set": ALIASES[name][1]} if name in ALIASES else {})
    elif base in trainable_names():
        about = {"measures": next(group[base] for group in GROUPS.values() if base in group)}
    else:
        known = [*metric_names(), *JUDGES, *ALIASES, *SHIPPED, *TEMPLATES, *trainable_names()]
        raise UnknownNameError("metric or model", name, known)
    figures = agreement(base)
    page = RESULTS.get(base) or ("results/evaluator-figures.md" if figures else None)
    return {
        "name": name,
        **about,
        "weaknesses": WEAKNESSES.get(base),
        "used": _use(name, base),
        "agreement": [dataclasses.asdict(figure) for figure in figures],
        "results": page and PAGES + page,
    }


def _use(name: str, base: str) -> str:
    """The command that uses it."""
    from rejoinder.registry import EVALUATORS, JUDGES, REPLY_MODELS, TEMPLATES, trainable_names

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


def _text(about: Mapping[str, Any]) -> Iterator[str]:
    """An explanation as text."""
    from rejoinder.metrics.base import plain

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
    yield from aligned(rows, _width())
    if "needs" in about:
        yield ""
        yield from _agreement(about)


def _agreement(about: Mapping[str, Any]) -> Iterator[str]:
    """The measured agreement with people, set by set."""
    if about["agreement"]:
        yield from textwrap.wrap(
            "Agreement with people: Spearman's correlation of scores with mean ratings, reply by reply, with its 95 % "
            "interval; and the number of replies.",
            _width(),
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
    yield "Measure it on ratings of your own: rejoinder meta rated.jsonl"


def _described(name: str) -> dict[str, Any]:
    """The description of one metric, with its default parameters."""
    from rejoinder.errors import CallError
    from rejoinder.registry import ALIASES, EVALUATORS, build, metric_class, metric_names, trainable_class

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
