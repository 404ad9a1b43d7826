"""The demo tells its story with the same words as the results, and writes both reports."""

from __future__ import annotations

from pathlib import Path

import pytest

import rejoinder
from rejoinder.cli import demo_text
from rejoinder.cli.demo_text import REPORTS, examples_path, tell_demo


def test_the_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = ["meteor", "bleu-2", "specificity", "length"]  # fast ones
    monkeypatch.setattr(demo_text, "compare", lambda path, **rest: rejoinder.compare(path, metrics=metrics, **rest))
    monkeypatch.setattr(
        demo_text, "meta_evaluate", lambda path, **rest: rejoinder.meta_evaluate(path, metrics, resamples=20, **rest)
    )
    story = tell_demo(tmp_path)
    compared = rejoinder.compare(examples_path(), metrics=metrics)
    assert list(story) == ["Who wins", "How sure", "Trust", "Fooled", "Watch out", "Ratings"]
    assert story["Who wins"] == compared.sentences[0]
    assert "specificity prefers off-topic, although good has the best ratings." in story["Fooled"]
    assert story["Watch out"].startswith("55 of 64 replies of generic are stock replies (")
    assert "not collected from people" in story["Ratings"]
    for name in REPORTS:
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
