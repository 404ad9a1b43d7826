"""A seeded sample of mutants: small changes of the source, by the operators of cosmic-ray.

Places in the source are drawn with equal probability, and then one of the changes that are possible there, since some
places have a dozen (`+` to each other operator) and others one. Left out are changes that say nothing about tests:

- of type annotations, which are never evaluated;
- from arithmetic to operators on bits, and from equality to identity: nearly all raise a TypeError or change nothing;
- that do not compile.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator

ARITHMETIC = {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"}
ORDER = {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"}
WITH_ARGUMENTS = {"VariableReplacer", "VariableInserter"}  # these need the names of variables

Position = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Change:
    """One change that an operator of cosmic-ray can make: its n-th of a module."""

    operator: str
    number: int


def draw(modules: list[Path], most: int, seed: int) -> Iterator[tuple[Path, str, int, str]]:
    """Up to `most` mutants in random order: (module, operator, line, the module's source with the change)."""
    operators = {name: make() for name, make in _operators()}
    sources = {module: module.read_text(encoding="utf-8") for module in modules}
    places = [
        (module, changes)
        for module, source in sources.items()
        for _, changes in sorted(_places(source, operators).items())
    ]
    chance = random.Random(seed)
    chance.shuffle(places)
    drawn = 0
    for module, changes in places:
        chance.shuffle(changes)
        for change, line in changes:
            mutated = mutate_code(sources[module], operators[change.operator], change.number)
            if mutated is not None and _matters(sources[module], mutated, line):
                yield module, change.operator, line, mutated
                drawn += 1
                break
        if drawn == most:
            return


def _operators() -> Iterator[tuple[str, type[Operator]]]:
    for name in sorted(cosmic_ray.plugins.operator_names()):
        kind = name.split("/")[-1]
        if kind in WITH_ARGUMENTS:
            continue
        before, _, after = kind.removeprefix("ReplaceBinaryOperator_").partition("_")
        if kind.startswith("ReplaceBinaryOperator_") and (before in ARITHMETIC) != (after in ARITHMETIC):
            continue
        before, _, after = kind.removeprefix("ReplaceComparisonOperator_").partition("_")
        if kind.startswith("ReplaceComparisonOperator_") and (before in ORDER) != (after in ORDER):
            continue
        yield kind, cosmic_ray.plugins.get_operator(name)


def _places(source: str, operators: dict[str, Operator]) -> dict[Position, list[tuple[Change, int]]]:
    """By place in the source, the changes that are possible there, with their line."""
    places: dict[Position, list[tuple[Change, int]]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for node in ast_nodes(get_ast(source)):
        for name, operator in operators.items():
            for start, end in operator.mutation_positions(node):
                places[start, end].append((Change(name, seen[name]), start[0]))
                seen[name] += 1
    return places


def _matters(source: str, mutated: str, line: int) -> bool:
    """Whether a change compiles and is in code that runs."""
    if "TYPE_CHECKING" in source.splitlines()[line - 1]:
        return False
    try:
        return _running_code(source) != _running_code(mutated)
    except SyntaxError:
        return False


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _running_code(source: str) -> str:
    return ast.dump(_WithoutAnnotations().visit(ast.parse(source)))
