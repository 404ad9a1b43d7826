"""The MLflow scorer and the logging of means, with a store of MLflow in a temporary folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rejoinder
from peers import peer
from rejoinder import Example
from scored_replies import table_of

if TYPE_CHECKING:
    from running import Run, WriteLines

pytestmark = pytest.mark.filterwarnings("default")  # those of the peer are not ours

REPLY, REFERENCE = "Yes, tea please.", "Yes, please."


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    module = peer("mlflow", "mlflow.genai")
    module.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    return module


def test_the_scorer(mlflow: Any) -> None:
    from rejoinder.adapters.mlflow import reply_scorer

    scorer = reply_scorer("rouge-l")
    assert scorer.name == "rouge_l"
    inputs = {"messages": [{"role": "user", "content": "Tea?"}]}
    found = scorer(inputs=inputs, outputs=REPLY, expectations={"expected_response": REFERENCE})
    assert found.value == rejoinder.load("rouge-l").score([Example("1", ("Tea?",), REPLY, (REFERENCE,))])[0]
    evaluator = reply_scorer("default")(inputs={"question": "Tea?"}, outputs=REPLY)
    assert evaluator.value == pytest.approx(rejoinder.load("default").score([Example("1", ("Tea?",), REPLY)])[0])


def test_means_are_logged(mlflow: Any) -> None:
    from rejoinder.adapters.mlflow import log_scores

    table = table_of({"judge": [0.1, 0.2, 0.3, 0.6]}, ["a", "a", "b (new)", "b (new)"])
    with mlflow.start_run() as run:
        log_scores(table)
    data = mlflow.get_run(run.info.run_id).data
    assert data.metrics["a/judge/mean"] == pytest.approx(0.15)
    assert data.metrics["b _new_/judge/mean"] == pytest.approx(0.45)
    assert data.tags["rejoinder.judge"] == "judge|v:0"


def test_score_logs_its_means(mlflow: Any, run: Run, write_lines: WriteLines) -> None:
    replies = write_lines([{"response": "tea " * count} for count in (1, 3)])
    ran = run("score", replies, "-m", "length", "--log", "mlflow", "--quiet")
    assert ran.code == 0, ran.err
    (found,) = mlflow.search_runs(output_format="list")
    assert found.data.metrics["length/mean"] == 2
