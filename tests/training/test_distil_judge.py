"""A judge distilled into a small evaluator, end to end."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from judge_server import Reply, asked_reply, completion, serving, token
from rejoinder.errors import RejoinderError
from rejoinder.training.distil import StudentCheck, distil, divide
from rejoinder.types import Dialogue, Example
from tiny_encoder import dialogues, write_encoder

if TYPE_CHECKING:
    from running import Run, WriteLines


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def respond(body: dict[str, Any], number: int) -> Reply:
    """Longer replies are better."""
    score = str(min(5, 1 + len(asked_reply(body).split()) // 2))
    return completion(score, [token(score, {score: 1.0})])


def many() -> list[Dialogue]:
    """60 dialogues, each with a word of its own."""
    return [
        Dialogue(f"{one.id}-{n}", tuple(f"{turn} {'so ' * n}today" for turn in one.turns))
        for one in dialogues()
        for n in range(3)
    ]


@pytest.mark.slow
def test_a_judge_becomes_an_encoder_with_a_card(run: Run, write_lines: WriteLines, tmp_path: Path) -> None:
    tiny = write_encoder(tmp_path / "tiny")
    talk = write_lines(map(asdict, many()), "mine.jsonl")
    judged = write_lines(
        [
            {"id": str(n), "context": [f"what about {n} ?"], "response": "yes " * (1 + n % 9), "scores": [n % 9]}
            for n in range(30)
        ],
        "judged.jsonl",
    )
    with serving(respond) as server:
        spec = f'judge(model=m, url="{server.url}", concurrency=4)'
        call = ["distil", spec, "--dialogues", talk, "--encoder", tiny, "--contexts", "20", "--judged", judged]
        ran = run(*call, "--steps", "2", "--max-length", "48", "-o", "mine")
        assert ran.code == 0, ran.err
        sent = len(server.requests)
    assert sent <= 20 * 9
    assert "agreement with the teacher: Spearman" in ran.err
    assert "agreement with people: Spearman" in ran.err
    card = (tmp_path / "mine" / "MODEL_CARD.md").read_text()
    assert "Teacher: `judge|model:m|" in card
    assert "agreement with people: Spearman" in card
    told = run("score", judged, "-m", "mine", "--json")  # the server is gone by now
    assert told.code == 0, told.err


def test_a_wrong_dimension_is_told_before_any_work() -> None:
    judged = [{"id": "1", "context": ["Hi"], "response": "Hello.", "scores": {"overall": 3}}]
    with pytest.raises(RejoinderError, match="fluency"):
        distil("length", dialogues(), judged=judged, dimension="fluency", contexts=5)


def test_the_student_never_sees_what_it_is_checked_on() -> None:
    parts = divide(many(), [], 30, seed=0)
    assert len(parts.dialogues) == 54
    learned = {turn for dialogue in parts.dialogues for turn in dialogue.turns}
    assert parts.held
    assert not {example.context[-1] for example in parts.held} & learned
    own = [Example(str(n), (f"context {n // 2}",), f"reply {n}") for n in range(120)]
    parts = divide(many(), own, 30, seed=0)
    assert (len(parts.dialogues), len(parts.candidates), len(parts.held)) == (60, 108, 12)
    assert not {one.context for one in parts.held} & {one.context for one in parts.candidates}


def test_few_dialogues_are_all_learned_from_and_the_card_says_so(tmp_path: Path) -> None:
    checks: list[StudentCheck] = []
    output = tmp_path / "student"
    distil("length", dialogues(), contexts=5, epochs=1, passes=1, output=output, on_check=checks.append)
    assert not checks[0].found
    assert "was not measured" in str(checks[0])
    assert "was not measured" in (output / "MODEL_CARD.md").read_text()
