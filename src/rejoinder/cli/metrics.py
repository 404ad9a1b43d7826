"""`rejoinder metrics`."""

from __future__ import annotations

import argparse
import textwrap

from rejoinder.cli.options import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """List every metric."""
    from rejoinder.registry import ALIASES, metric_class, metric_names

    classes = {name: metric_class(name) for name in metric_names()}
    presets: dict[str, list[str]] = {}
    for alias, (name, _) in ALIASES.items():
        presets.setdefault(name, []).append(alias)
    described = {
        name: {
            "needs": sorted(cls.needs),
            "measures": cls.measures,
            "citation": cls.citation,
            "range": [None if abs(end) == float("inf") else end for end in cls.range],
            "higher_is_better": cls.higher_is_better,
            "parameters": cls().parameters,
            "presets": presets.get(name, []),
        }
        for name, cls in classes.items()
    }
    if arguments.json:
        print_json({"metrics": described})
        return 0
    for name, about in described.items():
        also = f" (also {', '.join(about['presets'])})" if about["presets"] else ""
        needs = ", ".join(about["needs"]) or "nothing but the reply"
        parameters = ", ".join(f"{key}={value}" for key, value in about["parameters"].items())
        lines = (
            about["measures"],
            f"needs: {needs}",
            f"source: {about['citation']}",
            f"parameters: {parameters}",
        )
        print(name + also)
        for line in lines:
            print(textwrap.fill(line, 100, initial_indent="    ", subsequent_indent="        "))
    return 0
