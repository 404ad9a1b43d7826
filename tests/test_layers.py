"""Imports point one way: a part of the package uses only those that come before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rejoinder

ORDER = (
    "types errors _version progress registry config arrays data text stats metrics learning language_models encoders "
    "reply_models evaluators training scoring annotation meta report reproduction integrations service cli"
).split()

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


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} <= set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    place = ORDER.index(part_of(path))
    wrong = [
        f"line {line}: {part_of(path)} imports {part}"
        for line, part in imported_parts(path)
        if ORDER.index(part) > place
    ]
    assert not wrong
