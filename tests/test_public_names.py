"""Every public name, metric and verb has its line in the docs, and the page of the command line is up to date."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator

import pytest

import rejoinder
from places import DOCS
from rejoinder.cli import VERBS, build_parser
from rejoinder.registry import ALIASES, METRICS, metric_class


def page(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")


def rows(text: str) -> set[str]:
    """What stands in backticks in the first cell of a table's row, without arguments: `read(path)` -> read."""
    cells = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    return {name.partition("(")[0] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_all_names_exist_and_are_sorted() -> None:
    assert rejoinder.__all__ == sorted(rejoinder.__all__)
    assert len(set(rejoinder.__all__)) == len(rejoinder.__all__)
    for name in rejoinder.__all__:
        assert getattr(rejoinder, name) is not None


@pytest.mark.parametrize("name", rejoinder.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert name in rows(page("api.md"))
    if name != "__version__":
        assert getattr(rejoinder, name).__doc__


@pytest.mark.parametrize("name", ["agreement", "distill", "meta_evaluate", "plan_precision", "preferences"])
def test_a_former_name_still_works_with_a_warning(name: str) -> None:
    with pytest.warns(FutureWarning, match=f"rejoinder.{name} is now rejoinder"):
        assert callable(getattr(rejoinder, name))
    assert name not in rejoinder.__all__


@pytest.mark.parametrize("name", [*METRICS, *ALIASES])
def test_every_metric_has_a_line(name: str) -> None:
    assert f"`{name}`" in page("metrics.md")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_says_what_it_is(name: str) -> None:
    cls = metric_class(name)
    assert cls.name == name
    assert cls.__doc__
    assert cls.measures
    assert cls.citation


def test_every_verb_has_its_section() -> None:
    assert re.findall(r"^## rejoinder (.*)$", page("cli.md"), re.MULTILINE) == list(VERBS)


def test_the_generated_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_cli_help", DOCS / "make_cli_help.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert page("cli.md") == maker.page(), "run: python docs/make_cli_help.py"
    assert page("api.md") == maker.api_page(), "run: python docs/make_cli_help.py"


def documented_commands() -> Iterator[tuple[str, str]]:
    """Page and command line, of every `rejoinder ...` in a code block that is fenced or indented."""
    for path in [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        found = re.findall(r"^```(\w*)\n(.*?)^```|((?:^    .+\n)+)", text, re.DOTALL | re.MULTILINE)
        blocks = [fenced + indented for language, fenced, indented in found if language in {"", "sh"}]
        for line in "".join(blocks).splitlines():
            if line.strip().startswith("rejoinder ") and "[options]" not in line:
                yield path.name, line.strip().partition("  #")[0].partition(" > ")[0]


def test_documented_commands_are_ones_that_the_parser_takes(capsys: pytest.CaptureFixture[str]) -> None:
    commands = list(documented_commands())
    assert len(commands) > 20
    for page_name, command in commands:
        try:
            build_parser().parse_args(shlex.split(command)[1:])
        except SystemExit:
            pytest.fail(f"{page_name}: {command}\n{capsys.readouterr().err}")


def test_links_between_pages_lead_somewhere() -> None:
    for path in sorted(DOCS.rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+\.md)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
