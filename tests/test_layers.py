"""Imports point one way: a part of the package uses only those that come before it, and names no other in a string."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rejoinder
from rejoinder import registered, registry

ORDER = (
    "_version types errors arrays progress options threads specs stats folders registered registry show data text "
    "metrics learning models replies evaluators faulting judge scoring comparing trusting people training service "
    "adapters cli"
).split()

MODULE = re.compile(r"rejoinder\.\w+\.[.\w]*")
LOCATION = re.compile(r"rejoinder[.\w]*:\w+")

ROOT = Path(rejoinder.__file__).parent
MODULES = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in {"__init__.py", "__main__.py"}
)


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and part of every import of ours, those within functions and for type checks too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            names = [
                f"{node.module}.{alias.name}" if node.module == "rejoinder" else str(node.module)
                for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == "rejoinder" and rest:
                yield node.lineno, rest.partition(".")[0]


def parts_in_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and part of every string that names a module of ours, such as "rejoinder.cli.train"."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            yield node.lineno, node.value.split(".")[1]


def test_the_package_does_not_import_what_makes_the_papers() -> None:
    """`papers/` may import all of the package; it is not installed with it."""
    named = re.compile(r"(?:from|import) papers\b|[\"']papers\.")
    assert not [path for path in ROOT.rglob("*.py") if named.search(path.read_text(encoding="utf-8"))]


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} <= set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    place = ORDER.index(part_of(path))
    wrong = [
        f"line {line}: {part_of(path)} imports {part}"
        for line, part in (*imported_parts(path), *parts_in_strings(path))
        if ORDER.index(part) > place
    ]
    assert not wrong


TABLES = (
    *(registry.METRICS, registry.JUDGES, registry.EVALUATORS, registry.REPLY_MODELS, registry.ENCODERS),
    registered.FAULTS,
)


def locations(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and text of every string that names something of ours, such as "rejoinder.metrics.bleu:Bleu"."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and LOCATION.fullmatch(node.value):
            yield node.lineno, node.value


def test_strings_that_name_code_stand_in_tables_of_the_registry() -> None:
    tabled = {location for table in TABLES for location in table.values()}
    found = [(path, *place) for path in MODULES for place in locations(path)]
    assert {text for _, _, text in found} == tabled
    elsewhere = [f"{path.relative_to(ROOT)}:{line}" for path, line, _ in found if path != ROOT / "registered.py"]
    assert not elsewhere


@pytest.mark.parametrize("location", sorted({location for table in TABLES for location in table.values()}))
def test_tables_of_the_registry_name_classes(location: str) -> None:
    """By the source: some of the classes need optional packages to be imported."""
    module, _, name = location.partition(":")
    source = ROOT.parent.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    assert name in {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
