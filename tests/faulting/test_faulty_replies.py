"""The replies that faults are measured on have not changed since they were written."""

from __future__ import annotations

import json

import pytest

from benchmark_scripts import benchmark_script

faulty_replies = benchmark_script("faulty_replies")

FROZEN = json.loads((faulty_replies.FOLDER / "frozen.json").read_text(encoding="utf-8"))


def test_written_texts_have_not_changed() -> None:
    lists = {"good": faulty_replies.good_replies()}
    for half in faulty_replies.HALVES:
        lists[f"negatives {half}"] = [made.example for made in faulty_replies.negatives(half)]
    assert len(lists["good"]) == 100
    for name, rows in lists.items():
        assert faulty_replies.digest(rows) == FROZEN[name], name


@pytest.mark.skipif(not faulty_replies.SHARED.exists(), reason="needs judged data beside the checkout (../shared/data)")
def test_no_list_has_changed() -> None:
    assert faulty_replies.digests() == FROZEN
