"""How fast the command line answers `--help`: claimed is under 0.3 s, and that nothing heavy is imported.

Prints one row per verb: the median and the slowest of several fresh processes, beside a bare interpreter, and which
heavy libraries were imported.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from rejoinder.cli import VERBS
from rejoinder.show.text import grid

HEAVY = ("numpy", "onnxruntime", "pandas", "polars", "scipy", "torch")
PROBE = f"""
import contextlib, io, sys
from rejoinder.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(*sorted(set({HEAVY}) & sys.modules.keys()), sep=", ")
"""


def seconds(command: list[str], repeats: int) -> list[float]:
    """Wall-clock time of each of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return times


def imported(arguments: list[str]) -> str:
    """The heavy libraries that a command imports."""
    command = [sys.executable, "-c", PROBE, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    commands = {"(bare interpreter)": ["-c", "pass"], "--help": ["-m", "rejoinder", "--help"]}
    commands |= {f"{verb} --help": ["-m", "rejoinder", verb, "--help"] for verb in VERBS}
    rows = []
    for name, command in commands.items():
        times = seconds([sys.executable, *command], repeats)
        heavy = "" if command[0] == "-c" else imported(command[2:]) or "none"
        rows.append([name, f"{statistics.median(times):.3f} s", f"{max(times):.3f} s", heavy])
    print(grid(["command", "median", "slowest", "heavy imports"], rows))


if __name__ == "__main__":
    main()
