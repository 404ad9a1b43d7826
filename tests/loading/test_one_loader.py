"""Files of other libraries are opened in one module, which never runs code from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rejoinder

ROOT = Path(rejoinder.__file__).parent
LOADER = ROOT / "folders" / "foreign.py"

CALLS = re.compile(
    r"(?:^|\.)(?:from_pretrained|from_config|for_model|snapshot_download|hf_hub_download|safe_open|load_file|"
    r"InferenceSession|deserialize_index|read_index|GGUFReader|SentenceTransformer|load_dataset|from_str|from_file|Unpickler|unsafe_load|"
    r"load_library|exec_module|spec_from_file_location)$|"
    r"^(?:np|numpy|torch|pickle|joblib|marshal|dill|shelve|onnx|yaml)\.(?:jit\.)?(?:load|loads|open)$|"
    r"^(?:eval|exec|input|__import__)$"
)
"""Calls that open files with another library, or that run or ask something."""
ELSEWHERE = {
    ("options.py", "eval"),  # annotations of our own functions, as their source has them
    ("folders/sources.py", "snapshot_download"),  # finds a folder in the cache, or downloads data into it
    ("scoring/processes.py", "pickle.load"),  # what a process of the same run has sent over its own pipe
}


def calls(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and name of every call."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def test_no_other_module_calls_a_loader() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted(ROOT.rglob("*.py"))
        if path != LOADER
        for line, name in calls(path)
        if CALLS.search(name) and (str(path.relative_to(ROOT)), name) not in ELSEWHERE
    ]
    assert not found


def test_the_expression_finds_the_calls() -> None:
    found = {name.rpartition(".")[2] for _, name in calls(LOADER) if CALLS.search(name)}
    assert found >= {"load", "load_file", "InferenceSession", "from_str", "from_pretrained", "from_config", "for_model"}


def test_every_call_is_told_to_run_no_code() -> None:
    wanted = {
        "np.load": "allow_pickle=False",
        "from_config": "trust_remote_code=False",
        "from_pretrained": "_DATA_ONLY",
    }
    for node in ast.walk(ast.parse(LOADER.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            for name, option in wanted.items():
                if ast.unparse(node.func).endswith(name):
                    assert option in ast.unparse(node)
    assert "trust_remote_code=True" not in "".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py"))
