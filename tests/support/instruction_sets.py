"""Scores replies in a process that uses an older processor's instructions, as far as the libraries can be told to.

    python instruction_sets.py REPLIES.jsonl MODEL...

prints one JSON object: the instruction sets that the libraries say they use, and the scores of each model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

OLDER = {
    "AVX2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    },
    "DEFAULT": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
}
"""What torch then calls its instruction set -> environment variables of torch, oneDNN, MKL and numpy's OpenBLAS."""


def scored_with(older: str, replies: Path, models: Sequence[str]) -> dict[str, Any]:
    """What such a process printed."""
    variables = {**OLDER[older], "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, str(replies), *models],
        env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(replies: str, *models: str) -> None:
    """Score, and print."""
    import torch
    from threadpoolctl import threadpool_info

    import rejoinder

    table = rejoinder.score(replies, list(models), jobs=1)
    found = {
        "torch": torch.backends.cpu.get_cpu_capability(),
        "openblas": [pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"],
        "scores": {model: table[model].tolist() for model in models},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
