"""R as an oracle: a script's numbers, or a skipped test where R or a package is absent."""

from __future__ import annotations

import shutil
import subprocess

import pytest

ABSENT = 77
"""The exit code of a script whose package is not installed."""


def r_numbers(script: str, *packages: str) -> list[float]:
    """What the R script prints with `cat`, as numbers."""
    if shutil.which("Rscript") is None:
        pytest.skip("needs Rscript (Debian: r-base-core)")
    needed = "".join(
        f"if (!requireNamespace('{package}', quietly = TRUE)) quit(status = {ABSENT})\n" for package in packages
    )
    loaded = "".join(f"suppressMessages(library({package}))\n" for package in packages)
    ran = subprocess.run(["Rscript", "-"], input=needed + loaded + script, capture_output=True, text=True, check=False)
    if ran.returncode == ABSENT:
        pytest.skip(f"needs the R package {' or '.join(packages)} (Debian: r-cran-...)")
    assert ran.returncode == 0, ran.stderr
    return [float(number) for number in ran.stdout.split()]


def r_vector(values: object) -> str:
    """Numbers as an R vector: 'c(1.0, 2.5)'."""
    return f"c({', '.join(repr(float(value)) for value in values)})"  # type: ignore[attr-defined]
