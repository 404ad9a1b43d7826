"""Judges and systems of one family are noticed by their names."""

from __future__ import annotations

import pytest

from rejoinder.judge.judge import family_notes, family_of


@pytest.mark.parametrize(
    ("model", "family"),
    [("meta-llama/Llama-3.1-8B", "llama"), ("gpt-4o-mini", "gpt"), ("chat-model", ""), ("o3", ""), ("Qwen2.5", "qwen")],
)
def test_the_family_is_the_first_word_of_the_name(model: str, family: str) -> None:
    assert family_of(model) == family


def test_systems_of_the_same_family_are_named() -> None:
    [note] = family_notes("gpt-4o", ["GPT2_small", "llama-3", "egpty", ""])
    assert "gpt-4o and the judged GPT2_small seem to be of one family" in note
    assert not family_notes("gpt-4o", ["llama-3"])
    assert not family_notes("my-model", ["new-model"])
