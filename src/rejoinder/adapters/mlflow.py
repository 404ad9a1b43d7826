"""An MLflow scorer for `mlflow.genai.evaluate`, and the means of a table as metrics of a run."""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from typing import Any

import mlflow

from rejoinder.adapters.single_reply import score_reply, single_reply_metric
from rejoinder.data.records import turns_of_messages
from rejoinder.scoring.table import ScoreTable


def reply_scorer(metric: str = "default") -> Any:
    """Scores `outputs` as the reply to `inputs`: their `messages`, or the text in their only field.

    The reference is `expected_response` among the expectations.
    """
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import scorer  # not part of mlflow-skinny, with which means can be logged

    loaded = single_reply_metric(metric)

    @scorer(name=re.sub(r"\W+", "_", metric).strip("_"))  # type: ignore[untyped-decorator]
    def score(inputs: dict[str, Any], outputs: Any, expectations: dict[str, Any] | None = None) -> Feedback:
        reference = (expectations or {}).get("expected_response")
        value = score_reply(loaded, _context(inputs), str(outputs), [reference] if reference else [])
        return Feedback(value=value, rationale=loaded.signature)

    return score


def _context(inputs: dict[str, Any]) -> list[str]:
    if "messages" in inputs:
        return [text for _, text in turns_of_messages(inputs["messages"], "messages")]
    return [str(value) for value in inputs.values()]


def log_scores(table: ScoreTable) -> None:
    """Log the means of a table, with the ends of their intervals, in the active run, or in a new one.

    The metrics are named "default/mean", "default/low" and "default/high"; of several systems, "good/default/mean".
    Signatures become tags.
    """
    with nullcontext() if mlflow.active_run() else mlflow.start_run():
        for label, systems in table.summary().items():
            mlflow.set_tag(f"rejoinder.{_allowed(label)}", table.signatures[label])
            for system, cell in systems.items():
                name = _allowed("/".join(part for part in (system, label) if part))
                found = {"mean": cell.mean, "low": cell.low, "high": cell.high}
                mlflow.log_metrics({f"{name}/{end}": value for end, value in found.items() if not math.isnan(value)})


def _allowed(name: str) -> str:
    """The name with the characters that MLflow accepts."""
    return re.sub(r"[^\w./ -]", "_", name)
