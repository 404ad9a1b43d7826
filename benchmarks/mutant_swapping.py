"""A mutant in a running process: the code of functions is exchanged, so that nothing is imported again.

A change of a function's body is found by comparing the compiled module with the compiled mutant; every function made of
the old code then gets the new code. A change of what runs at import (constants, defaults, decorators) cannot be made
this way: it needs a new process.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

Key = tuple[str, str, int]
"""Where code is: file, qualified name, first line."""


def key_of(code: CodeType) -> Key:
    """The place that the code was written at."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def live_functions(folder: Path) -> dict[Key, list[FunctionType]]:
    """All functions of this process that were written in `folder`, by the place of their code."""
    functions: dict[Key, list[FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(str(folder)):
            functions[key_of(one.__code__)].append(one)
    return functions


def exchanges(module: Path, mutated: str, live: dict[Key, list[FunctionType]]) -> list[tuple[FunctionType, CodeType]]:
    """The functions that the change concerns, with their new code; empty if it concerns what runs at import."""
    old = compile(module.read_text(encoding="utf-8"), str(module), "exec", dont_inherit=True)
    new = compile(mutated, str(module), "exec", dont_inherit=True)
    found: list[tuple[FunctionType, CodeType]] = []
    for chain in _changed(old, new, ()):
        pairs = [(function, code) for before, code in chain for function in live.get(key_of(before), [])]
        if not pairs:
            return []
        found += pairs
    return found


Chain = tuple[tuple[CodeType, CodeType], ...]


def _changed(old: CodeType, new: CodeType, outer: Chain) -> Iterator[Chain]:
    """For each piece of code that differs: the code around it and itself, before and after."""
    chain = (*outer, (old, new))
    inner_old, inner_new = _inner(old), _inner(new)
    if _own(old) != _own(new) or len(inner_old) != len(inner_new):
        yield chain
    else:
        for before, after in zip(inner_old, inner_new, strict=True):
            yield from _changed(before, after, chain)


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _own(code: CodeType) -> tuple[object, ...]:
    constants = [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, constants, names, code.co_flags, code.co_exceptiontable
