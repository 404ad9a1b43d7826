"""Settings of a page from KEY=VALUE, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from papers.settings import settings_of, shown_settings
from rejoinder.errors import CallError, UnknownNameError


@dataclass(frozen=True)
class Settings:
    sets: tuple[str, ...] = ("a", "b")
    contexts: int | None = None
    share: float = 0.5
    cached: bool = False
    glove: str = ""


def test_values_have_the_types_of_their_fields() -> None:
    given = ["sets=b, c", "contexts=600", "share=.25", "cached=true", "glove=x=y"]
    assert settings_of(Settings, given) == Settings(("b", "c"), 600, 0.25, True, "x=y")
    assert settings_of(Settings, []) == Settings()


def test_what_was_given_is_shown_again() -> None:
    assert shown_settings(Settings()) == []
    given = ["sets=b,c", "contexts=600", "cached=True"]
    assert shown_settings(settings_of(Settings, given)) == given


def test_paths_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").touch()
    assert shown_settings(Settings(glove=str(tmp_path / "vectors.txt"))) == ["glove=FILE"]
    assert shown_settings(Settings(glove=str(tmp_path))) == ["glove=FOLDER"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [("contexts", "expected KEY=VALUE"), ("contexts=many", "cannot read 'many' as int"), ("cached=1", "as bool")],
)
def test_what_cannot_be_read(given: str, problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        settings_of(Settings, [given])


def test_an_unknown_setting() -> None:
    with pytest.raises(UnknownNameError, match="did you mean contexts"):
        settings_of(Settings, ["context=3"])
