"""Replies that are unlike the training text are told from those that are like it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rejoinder
from places import DIALOGUES
from rejoinder import registry
from rejoinder.data.dialogues import DialogueSource
from rejoinder.evaluators.familiarity import FEWEST, RATE, REASONS, Familiarity, OutOfDomainCounter
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.batch import Batch
from rejoinder.types import Dialogue, Example
from small_evaluators import Familiar
from strange_replies import STRANGE

if TYPE_CHECKING:
    from running import Run, WriteLines


def corpus(name: str) -> list[Dialogue]:
    path = DIALOGUES / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"needs {path.name} of ../shared/data")
    return list(DialogueSource(path))


def replies(dialogues: list[Dialogue]) -> list[Example]:
    return [Example(str(n), d.turns[:place], d.turns[place]) for n, d in enumerate(dialogues) for place in (1, 2)]


@pytest.fixture(scope="module")
def familiarity() -> Familiarity:
    made = Familiarity.of(TrainingData.of(corpus("dailydialog.train")[:4000], ()))
    assert made is not None
    return made


def test_held_out_text_is_familiar(familiarity: Familiarity) -> None:
    reasons = familiarity.unfamiliar(Batch(replies([d for d in corpus("dailydialog.test") if len(d.turns) > 2])))
    assert np.mean([bool(found) for found in reasons]) < 3 * sum(familiarity.rates.values())
    assert familiarity.rates == pytest.approx({"language": 4 * RATE, "script": 2 * RATE, "length": 4 * RATE}, rel=0.2)


def test_other_english_text_is_mostly_familiar(familiarity: Familiarity) -> None:
    others = [d for d in corpus("personachat.test") if len(d.turns) > 2]
    assert np.mean([bool(found) for found in familiarity.unfamiliar(Batch(replies(others)))]) < 0.02


def test_rare_words_and_signs_among_common_words_are_familiar(familiarity: Familiarity) -> None:
    """English about other things, with the note's own evidence: rare words, and signs of code."""
    sentences = (
        "Whisk the yolks with the zest, then fold in the mascarpone and the ladyfingers that you have soaked.",
        "You can call `frame.groupby(keys)[columns].agg({'size': max})` and it gives you what you want.",
    )
    examples = [Example("", ("How do I do that?",), text) for text in sentences]
    assert familiarity.unfamiliar(Batch(examples)) == [(), ()]
    without = replace(familiarity, commonest=())
    assert without.unfamiliar(Batch(examples)) == [("language",), ("script",)], "the common words make the difference"


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_replies_are_told(kind: str, familiarity: Familiarity) -> None:
    texts = STRANGE[kind]
    alone = familiarity.unfamiliar(Batch([Example("", ("How are you doing today?",), text) for text in texts]))
    within = familiarity.unfamiliar(
        Batch([Example("", (before,), text) for before, text in zip(texts[1:], texts, strict=False)])
    )
    # Code has common words of English, such as "for", "in" and "is".
    assert np.mean([bool(found) for found in alone]) > (0.6 if kind == "code" else 0.75)
    assert np.mean([bool(found) for found in within]) > 0.85
    if kind in {"chinese", "japanese", "russian", "arabic"}:
        assert all("script" in found for found in alone)


def test_lengths_are_told(familiarity: Familiarity) -> None:
    long = Example("", ("hello there",), "I see what you mean . " * 60)
    far = replace(long, context=("it is nice to see you again . ",) * 2000, response="I see .")
    assert ["length" in found for found in familiarity.unfamiliar(Batch([long, far]))] == [True, True]
    assert familiarity.unfamiliar(Batch([Example("", ("hello there , how are you ?",), "I am fine .")])) == [()]


def test_hostile_and_empty_text(familiarity: Familiarity) -> None:
    texts = ["", " ", "\ud800", "a" * 5000, "\u200b", "!?", "42", "e\u0301" * 20, "\x00", "\U0010ffff"]
    found = familiarity.unfamiliar(Batch([Example("", (context,), text) for text in texts for context in texts]))
    assert len(found) == 100
    assert set().union(*found) <= set(REASONS)
    assert not any(found[:20]), "an empty reply is not out of domain"
    assert familiarity.unfamiliar(Batch([])) == []


def words(count: int) -> list[Dialogue]:
    """Dialogues over twenty words."""
    rng = np.random.default_rng(0)
    known = "tea milk bread sun rain road tree house dog cat bird day night book pen cup hat shoe song door".split()
    return [
        Dialogue(str(n), tuple(" ".join(rng.choice(known, rng.integers(4, 12))) for _ in range(3)))
        for n in range(count)
    ]


def test_little_text_says_nothing() -> None:
    assert Familiarity.of(TrainingData.of(words(FEWEST // 2 - 1), ())) is None
    assert Familiarity.of(TrainingData.of((), ())) is None
    assert Familiarity.of(TrainingData.of(words(FEWEST // 2), ())) is not None


def test_fitted_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    evaluator = Familiar().fit(words(600))
    evaluator.save(tmp_path / "model")
    loaded = Familiar.load(tmp_path / "model")
    ours, theirs = evaluator.fitted.familiarity, loaded.fitted.familiarity
    assert ours is not None
    assert theirs is not None
    assert ours.plain() == theirs.plain() == json.loads(json.dumps(ours.plain()))
    batch = Batch(
        [Example("", ("tea milk bread sun rain",), text) for text in ("cat bird day night", "unde venis hodie amice")]
    )
    assert evaluator.unfamiliar(batch) == loaded.unfamiliar(batch) == [(), ("language",)]
    assert Familiar().fit(words(10)).unfamiliar(batch) == [(), ()]  # too little text to tell
    assert loaded == evaluator


def test_only_more_than_chance_is_worth_a_note() -> None:
    familiarity = Familiar().fit(words(2000)).fitted.familiarity
    assert familiarity is not None
    usual, odd = (
        Example("", ("tea milk bread sun rain",), text) for text in ("cat bird day night", "unde venis hodie amice")
    )
    for many, strange, told in ((9, 1, True), (3000, 1, False), (3000, 40, True)):
        counter = OutOfDomainCounter(familiarity)
        counter.add(Batch([usual] * many))
        counter.add(Batch([odd] * strange))
        count = f"{strange} of {many + strange} replies are unlike the training text"
        noticed = (
            f"hardly any common words, perhaps because of another language: {strange}, the first in row {many + 1}"
        )
        expected = f"{count} ({noticed}): their scores are unreliable"
        assert counter.notes() == ([expected] if told else [])


def test_score_warns_once(run: Run, write_lines: WriteLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.EVALUATORS, "familiar", "small_evaluators:Familiar")
    Familiar().fit(words(600)).save(tmp_path / "model")
    texts = ["cat bird day night", "сегодня совсем нет времени", "нам надо купить хлеб", "song door hat cup"]
    path = write_lines(
        [{"id": str(n), "context": ["tea milk bread sun rain"], "response": text} for n, text in enumerate(texts)]
    )
    ran = run("score", path, "-m", "model", "--json")
    (note,) = ran.json["warnings"]
    assert note.startswith("model: 2 of 4 replies are unlike the training text (")
    assert "letters or signs that are rare there: 2, the first in row 2" in note
    assert f"note: {note}\n" in ran.err
    with pytest.warns(rejoinder.ScoreWarning, match="2 of 4 replies are unlike") as caught:
        rejoinder.score(path, "model")
    assert len(caught) == 1
