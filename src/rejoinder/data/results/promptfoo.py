"""Results of promptfoo: the file of `promptfoo eval -o results.json`.

What is compared are the columns of its table: providers, prompts where there are several, or both. Tests with equal
variables are paired. The numbers are promptfoo's `score` of a test, `pass` (1 or 0), and its named metrics. A test that
ended in an error, such as a provider that did not answer, has no scores.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rejoinder.errors import DataError, cut

_ERROR = 2
"""promptfoo's reason of a failure that is not an assertion's."""
_LONGEST_PROMPT = 60


def is_result(document: Any) -> bool:
    """Whether a JSON document is a file of results."""
    results = document.get("results") if isinstance(document, dict) else None
    return isinstance(results, dict) and results.keys() >= {"version", "results", "stats"}


def rows(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """One row per test and column of the table."""
    found = document["results"]["results"]
    if not found:
        raise DataError("is a file of promptfoo without results: expected one of a finished run", file=name)
    several_prompts = len({result["promptId"] for result in found}) > 1
    several_providers = len({_provider(result) for result in found}) > 1
    return [
        {
            "id": str(result["testIdx"]),
            "context_id": _digest(result["vars"]),
            "system": _system(result, several_prompts, several_providers),
            "scores": _scores(result),
        }
        for result in found
    ]


def _system(result: dict[str, Any], several_prompts: bool, several_providers: bool) -> str:
    """The provider; where there are several prompts, the prompt too, or instead of the only provider."""
    provider, prompt = _provider(result), " ".join(cut(str(result["prompt"]["label"]), _LONGEST_PROMPT).split())
    if not several_prompts:
        return provider
    return f"{provider}: {prompt}" if several_providers else prompt


def _provider(result: dict[str, Any]) -> str:
    provider = result["provider"]
    return str(provider.get("label") or provider["id"])


def _scores(result: dict[str, Any]) -> dict[str, Any]:
    named = dict(result.get("namedScores") or {})
    if result.get("failureReason") == _ERROR:
        return dict.fromkeys(["score", "pass", *named])
    return {"score": result["score"], "pass": float(bool(result["success"])), **named}


def _digest(variables: dict[str, Any]) -> str:
    """The same text for equal variables; those that promptfoo adds, such as the conversation so far, are left out."""
    own = {name: value for name, value in variables.items() if not name.startswith("_")}
    return hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=8).hexdigest()
