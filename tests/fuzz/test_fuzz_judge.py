"""Whatever a judge's endpoint answers: a score or none, plausible tokens, and no key in what is kept."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import strategies as st

from fuzzing import VALUES, damaged, fuzz, mutated
from judge_server import completion, echo, token
from rejoinder.judge.prompt import TokenUsage, has_logprobs, letter_masses, token_usage, verdict_of
from rejoinder.judge.wire import KeyCleaner

pytestmark = pytest.mark.slow

KEY = "sk-Very/secret+1234567890"
NAMES = "choices message content logprobs token logprob top_logprobs usage prompt_tokens completion_tokens".split()
TOKENS = [KEY.encode(), b'"usage": ', b'"prompt_tokens": ', b'"completion_tokens": ', b'"logprob": ', b"null", b"1e999"]

ANSWERS = [
    completion("4", [token("4", {"4": 0.9, "5": 0.1})]),
    completion('{"score": 4, "reason": "Why."}', [token('"score":', {'"score":': 1.0}), token("4", {"4": 0.9})]),
    completion("A", [token("A", {"A": 0.9, "B": 0.1})]),
]
DOCUMENTS = [json.loads(answer.body) for one in ANSWERS for answer in (one, echo(one, KEY, f"Bearer {KEY}"))]
NUMBERS = (
    st.integers() | VALUES | st.sampled_from([0, 1, 2**63, -(2**63), math.inf, -math.inf, math.nan, True, 10**400, KEY])
)
USAGES = VALUES | st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens"]), NUMBERS)
CHOICES: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict, token=st.sampled_from(["4", "5", "A", " B", KEY]), logprob=NUMBERS
)
ALTERNATIVES: st.SearchStrategy[list[dict[str, Any]]] = st.lists(CHOICES, max_size=4)


def check(content: bytes) -> None:
    """Read an answer as a judge does."""
    try:
        answer = KeyCleaner(KEY).parsed(content)
    except ValueError:
        return
    kept = json.dumps(answer)
    assert KEY not in kept
    if not isinstance(answer, dict):
        return
    for reason in (False, True):
        score = verdict_of(answer, reason=reason).score
        assert math.isnan(score) or 1 <= score <= 5
    masses = letter_masses(answer, "ABC")
    assert masses is None or sum(masses) == pytest.approx(1)
    has_logprobs(answer)
    used = token_usage(answer, 100, 4)
    assert 1 <= used.read <= 10**7
    assert 0 <= used.written <= 10**7
    estimated = (used.read_estimated, used.written_estimated)
    assert estimated in {(0, 0), (100, 0), (0, 4), (100, 4)}
    assert used.estimates == int(any(estimated))
    assert used + TokenUsage() == used


def as_bytes(answer: Any) -> bytes:
    return json.dumps(answer).encode()


def test_answers() -> None:
    plain = [as_bytes(document) for document in DOCUMENTS]
    usages = st.builds(lambda document, usage: document | {"usage": usage}, st.sampled_from(DOCUMENTS), USAGES)
    whole = damaged(DOCUMENTS, [*NAMES, KEY]) | usages | ALTERNATIVES.map(with_alternatives)
    fuzz(whole.map(as_bytes) | mutated(plain, TOKENS), check, times=2)


def with_alternatives(alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    """An answer of one token."""
    entry = {"token": "4", "logprob": -0.1, "top_logprobs": alternatives}
    return {"choices": [{"message": {"content": "4"}, "logprobs": {"content": [entry]}}]}
