"""The Inspect scorer, in a run of Inspect with its mock model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rejoinder
from peers import peer
from rejoinder import Example

pytestmark = pytest.mark.filterwarnings("default")  # those of the peer are not ours

REPLY, REFERENCE = "Yes, tea please.", "Yes, please."


@pytest.fixture
def run(tmp_path: Path) -> Any:
    inspect_ai = peer("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        ModelOutput,
        ModelUsage,
        get_model,
    )
    from inspect_ai.solver import generate

    from rejoinder.adapters.inspect import reply_score

    def evaluate(metric: str, targets: list[Any]) -> Any:
        messages = [
            ChatMessageSystem(content="Be brief."),
            ChatMessageUser(content="Hello."),
            ChatMessageAssistant(content="Hello!"),
            ChatMessageUser(content="Tea?"),
        ]
        output = ModelOutput.from_content("mockllm/model", REPLY)
        output.usage = ModelUsage()  # Inspect would download a tokeniser to count the tokens
        (log,) = inspect_ai.eval(
            inspect_ai.Task(
                dataset=[Sample(input=messages, target=target) for target in targets],
                solver=generate(),
                scorer=reply_score(metric),
            ),
            model=get_model("mockllm/model", custom_outputs=[output] * len(targets)),
            log_dir=str(tmp_path),
            display="none",
        )
        assert log.status == "success", log.error
        return log

    return evaluate


def test_the_scores_are_those_of_the_metric(run: Any) -> None:
    log = run("rouge-l", [REFERENCE, [REFERENCE, "Yes, tea."], ""])
    replies = [Example("1", (), REPLY, (REFERENCE,)), Example("2", (), REPLY, (REFERENCE, "Yes, tea."))]
    expected = rejoinder.load("rouge-l").score(replies).tolist()
    scores = [sample.scores["reply_score"] for sample in log.samples]
    assert [score.value for score in scores[:2]] == expected
    assert "cannot score this reply" in scores[2].reason
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(sum(expected) / 2)


def test_the_context_is_the_conversation_before_the_reply(run: Any) -> None:
    log = run("default", [""])
    expected = rejoinder.load("default").score([Example("1", ("Hello.", "Hello!", "Tea?"), REPLY)])[0]
    assert log.samples[0].scores["reply_score"].value == pytest.approx(expected)
