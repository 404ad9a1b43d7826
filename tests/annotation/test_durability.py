"""The real server in a process of its own: killed while raters answer, and used by several raters at once.

`make kills` kills it twenty times; `benchmarks/annotation_load.py` measures fifty raters.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_scripts import benchmark_script

pytest.importorskip("starlette")


def test_a_server_that_is_killed_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    count, lost = benchmark_script("annotation_kills").killed(tmp_path, kills=1)
    assert count >= 5
    assert lost == []


def test_several_raters_at_once_lose_nothing_and_see_nothing_twice(tmp_path: Path) -> None:
    script = benchmark_script("annotation_load")
    load = script.loaded(script.write_study(tmp_path, raters=6), raters=6, pause=0.0, joining=0.0)
    # Twenty items have three raters and four have all six; each rater sees one item again. Two questions.
    assert load.answers == 2 * (20 * 3 + 4 * 6 + 6)
    assert (load.lost, load.errors, load.twice, load.missing) == (0, 0, 0, 0)
