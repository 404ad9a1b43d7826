"""The same four replies as other tools export them: two questions, each answered by two models.

The field names and the nesting are those that the tools document; the texts are ours.
"""

from __future__ import annotations

from typing import Any

from rejoinder.types import Example

Record = dict[str, Any]

QUESTIONS = ("Is the bakery open on Sundays?", "Can I bring my dog?")
REPLIES = {
    "small": ("Yes, from eight until noon.", "No, sorry."),
    "large": ("It is: come by between eight and twelve.", "Dogs are welcome on the terrace."),
}
TURNS = [(system, QUESTIONS[at], REPLIES[system][at], f"{system}-{at}") for system in REPLIES for at in (0, 1)]
EXPECTED = {(system, question, reply) for system, question, reply, _ in TURNS}


def summary(examples: list[Example]) -> set[tuple[str, str, str]]:
    """System, context and response of each."""
    return {(example.system, "\n".join(example.context), example.response) for example in examples}


def said(role: str, content: Any) -> Record:
    return {"role": role, "content": content}


def openai_chats() -> list[Record]:
    return [
        {"model": system, "messages": [said("system", "Be brief."), said("user", asked), said("assistant", reply)]}
        for system, asked, reply, _ in TURNS
    ]


def openai_request_logs() -> list[Record]:
    return [
        {
            "request": {"model": system, "messages": [said("system", "Be brief."), said("user", asked)]},
            "response": {
                "id": f"chatcmpl-{name}",
                "object": "chat.completion",
                "model": f"{system}-2026-01-01",
                "choices": [{"index": 0, "message": said("assistant", reply), "finish_reason": "stop"}],
                "usage": {"total_tokens": 9},
            },
        }
        for system, asked, reply, name in TURNS
    ]


def openai_responses() -> list[Record]:
    """Requests and results of OpenAI's newer Responses interface."""
    return [
        {
            "request": {"model": system, "instructions": "Be brief.", "input": asked},
            "response": {
                "id": f"resp_{name}",
                "object": "response",
                "output": [
                    {"type": "reasoning", "summary": []},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": reply}]},
                ],
            },
        }
        for system, asked, reply, name in TURNS
    ]


def openai_batch() -> list[Record]:
    """The output file of a batch, which does not contain the requests."""
    return [
        {
            "id": f"batch_req_{name}",
            "custom_id": name,
            "response": {
                "status_code": 200,
                "request_id": name,
                "body": {"model": system, "choices": [{"index": 0, "message": said("assistant", reply)}]},
            },
            "error": None,
        }
        for system, _, reply, name in TURNS
    ]


def sharegpt() -> list[Record]:
    return [
        {
            "id": name,
            "model": system,
            "conversations": [{"from": "human", "value": asked}, {"from": "gpt", "value": reply}],
        }
        for system, asked, reply, name in TURNS
    ]


def _langchain(kind: str, text: str) -> Record:
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", kind],
        "kwargs": {"content": text, "additional_kwargs": {}},
    }


def langsmith_runs() -> list[Record]:
    """Traces: a root run, and below it a call of a model."""
    runs: list[Record] = []
    for system, asked, reply, name in TURNS:
        shared = {"trace_id": name, "session_name": "bakery", "extra": {"metadata": {"ls_model_name": system}}}
        runs.append(
            {
                "id": name,
                "name": "chain",
                "run_type": "chain",
                "parent_run_id": None,
                "inputs": {"question": asked},
                "outputs": {"answer": reply},
                "error": None,
                **shared,
            }
        )
        runs.append(
            {
                "id": f"{name}-call",
                "name": "model",
                "run_type": "llm",
                "parent_run_id": name,
                "inputs": {"messages": [[_langchain("SystemMessage", "Be brief."), _langchain("HumanMessage", asked)]]},
                "outputs": {"generations": [[{"text": reply, "message": _langchain("AIMessage", reply)}]]},
                **shared,
            }
        )
    return runs


def langsmith_calls() -> list[Record]:
    """Only the calls of models."""
    return [run for run in langsmith_runs() if run["parent_run_id"]]


def langfuse_traces() -> list[Record]:
    return [
        {
            "id": name,
            "timestamp": "2026-01-01T08:00:00.000Z",
            "name": "chat",
            "sessionId": f"s-{name}",
            "userId": "u1",
            "version": system,
            "input": {"messages": [said("user", asked)]},
            "output": said("assistant", reply),
            "metadata": {},
            "tags": [],
        }
        for system, asked, reply, name in TURNS
    ]


def langfuse_observations() -> list[Record]:
    """Observations as a table exports them: spans and generations of each trace."""
    found: list[Record] = []
    for system, asked, reply, name in TURNS:
        found.append(
            {"id": f"{name}-s", "traceId": name, "type": "SPAN", "parentObservationId": "p", "input": {"k": 3}}
            | {"output": ["page"]}
        )
        found.append(
            {
                "id": f"{name}-g",
                "traceId": name,
                "type": "GENERATION",
                "parentObservationId": f"{name}-s",
                "model": system,
                "input": [said("system", "Be brief."), said("user", asked)],
                "output": reply,
            }
        )
    return found


def flat(context: str, response: str, system: str) -> list[Record]:
    """Rows of a table with these column names."""
    return [{context: asked, response: reply, system: name} for name, asked, reply, _ in TURNS]


RECORDS = {
    "OpenAI chats": openai_chats,
    "OpenAI requests and responses": openai_request_logs,
    "OpenAI Responses": openai_responses,
    "ShareGPT": sharegpt,
    "LangSmith runs": langsmith_runs,
    "LangSmith calls": langsmith_calls,
    "Langfuse traces": langfuse_traces,
    "Langfuse observations": langfuse_observations,
}
"""Shapes that contain all of EXPECTED."""
