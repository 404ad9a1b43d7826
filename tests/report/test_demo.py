"""Both lessons of the demo use the same words as the results, and write their reports."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.cli import demo_text, main
from rejoinder.cli.demo_text import REPORTS, examples_path, tell_metrics, tell_versions

VERSIONS = [examples_path("assistant-old"), examples_path("assistant-new")]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the text of `rejoinder demo`, with the metrics that it always has."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr("builtins.print", lambda *texts, **_: lines.append(" ".join(map(str, texts))))
        assert main(["demo", "-o", str(folder), "--quiet"]) == 0
    return folder, "\n".join(lines)


def test_the_first_five_lines_say_which_version_is_better_and_how_sure_that_is(printed: tuple[Path, str]) -> None:
    folder, text = printed
    first = " ".join(text.splitlines()[:5])
    assert first.startswith("Is the new version of this assistant better than the old one? Answer: new is better than")
    assert "p < 0.001" in first
    assert "with 95 % confidence, new is ahead by" in first
    assert (folder / REPORTS[0]).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not (folder / REPORTS[1]).exists()  # belongs to the lesson on metrics


def test_the_story_of_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = ["default-fast", "distinct-2", "length"]  # fast ones
    fast = functools.partial(rejoinder.compare, metrics=metrics)
    monkeypatch.setattr(demo_text, "compare", fast)
    story = tell_versions(tmp_path)
    compared = fast(*VERSIONS)
    assert story["Answer"] == compared.sentences[0]
    assert [each["what"] for each in story["Three replies"]] == [
        "Most in favour of new",
        "Typical",
        "Most in favour of old",
    ]
    gains = [each["new"]["default-fast"] - each["old"]["default-fast"] for each in story["Three replies"]]
    assert gains == sorted(gains, reverse=True)
    scores = compared.table["default-fast"].reshape(2, -1)
    assert gains[0] == pytest.approx((scores[1] - scores[0]).max())
    assert gains[2] == pytest.approx((scores[1] - scores[0]).min())
    assert compared.better is None
    assert "distinct-2" not in story["What would mislead"]  # it finds no difference either
    assert "new is higher on length, which does not say that it is better." in story["What would mislead"]
    assert story["Evasions"].startswith("in 48 contexts the old version says nothing (")
    assert "better in 111 of 180 contexts, equal in 42, worse in 27" in story["Truth"]


def test_where_no_version_is_better_the_story_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_text, "compare", functools.partial(rejoinder.compare, metrics=["distinct-2"]))
    story = tell_versions(tmp_path)
    assert story["Answer"].startswith("No significant difference between old and new on distinct-2")
    assert story["How sure"].startswith("Means on a scale from 0 to 1: old ")


def test_the_story_of_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = ["meteor", "bleu-2", "specificity", "length"]  # fast ones
    monkeypatch.setattr(demo_text, "compare", lambda path, **rest: rejoinder.compare(path, metrics=metrics, **rest))
    monkeypatch.setattr(
        demo_text, "trust", lambda path, **rest: rejoinder.trust(path, metrics=metrics, resamples=20, **rest)
    )
    story = tell_metrics(tmp_path)
    compared = rejoinder.compare(examples_path(), metrics=metrics)
    assert list(story) == ["Who wins", "How sure", "Trust", "Fooled", "Watch out", "Ratings"]
    assert story["Who wins"] == compared.sentences[0]
    assert story["Fooled"].startswith("meteor, which decides, puts garbled (")
    assert "specificity" not in story["Fooled"]  # it is no quality, so it prefers nothing
    assert story["Watch out"].startswith("55 of 64 replies of generic are stock replies (")
    assert "None was collected from people" in story["Ratings"]
    for name in REPORTS:
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("lesson", [[], ["metrics"]])
def test_json_is_the_story_and_the_reports(
    lesson: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[Any] = []

    def tell(folder: Path) -> dict[str, str]:
        told.append(folder)
        return {"Answer": "yes"}

    monkeypatch.setattr(demo_text, "tell_metrics" if lesson else "tell_versions", tell)
    assert main(["demo", *lesson, "-o", str(tmp_path), "--json", "--quiet"]) == 0
    pages = [str(tmp_path / name) for name in (REPORTS if lesson else REPORTS[:1])]
    assert json.loads(capsys.readouterr().out) == {"Answer": "yes", "reports": pages}
    assert told == [tmp_path]
