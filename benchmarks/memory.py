"""How much memory `rejoinder score` takes beyond a bare interpreter: claimed is under 500 MB for 100,000 examples.

Prints the peak resident size of fresh processes that score more and more examples, made up from the words of the
bundled ones, with two turns of context and two references each, and write every score.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rejoinder
from rejoinder.show.text import grid

DEMO = Path(rejoinder.__file__).parent / "examples" / "demo.jsonl"


def write_examples(path: Path, count: int, seed: int = 0) -> None:
    """JSON lines with replies of 5 to 25 words by four systems."""
    chosen = random.Random(seed)
    words = [word for example in rejoinder.read(DEMO) for word in example.response.split()]

    def text() -> str:
        return " ".join(chosen.choices(words, k=chosen.randint(5, 25)))

    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            record = {
                "id": str(number),
                "system": f"bot-{number % 4}",
                "context": [text(), text()],
                "response": text(),
                "references": [text(), text()],
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def peak(command: list[str]) -> tuple[float, float]:
    """Peak resident size in MB, and seconds, of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    scale = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return usage.ru_maxrss * scale / 1e6, time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[1_000, 100_000, 300_000])
    parser.add_argument("--metrics", nargs="+", default=[], help="default: what `score` takes as default")
    given = parser.parse_args()
    bare, _ = peak([sys.executable, "-c", "pass"])
    rows = [["bare interpreter", "", f"{bare:.0f} MB", "", ""]]
    chosen = [part for name in given.metrics for part in ("-m", name)]
    with tempfile.TemporaryDirectory() as folder:
        for count in given.counts:
            path = Path(folder) / "replies.jsonl"
            write_examples(path, count)
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            command = [sys.executable, "-m", "rejoinder", "score", str(path), *chosen, "--quiet"]
            used, seconds = peak([*command, "-o", str(Path(folder) / "scores.jsonl")])
            rows.append(
                [f"score, {count:,} examples", size, f"{used:.0f} MB", f"{used - bare:.0f} MB", f"{seconds:.1f} s"]
            )
    print(grid(["process", "input", "peak", "beyond bare", "time"], rows))


if __name__ == "__main__":
    main()
