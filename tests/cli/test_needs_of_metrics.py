"""Data without references or contexts: `score`, `compare` and `trust` run what can run, and name what cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rejoinder.scoring.score import DEFAULT_METRICS, choose_metrics

if TYPE_CHECKING:
    from running import Run, WriteLines

WORDS = "tea rain chess jazz bread snow tennis paint gold maps trains owls".split()
MISSING = {"references": ["references"], "context": ["context"], "both": ["references", "context"]}
VERBS = ("score", "compare", "trust")


def records(missing: list[str]) -> list[dict[str, Any]]:
    """Two systems' judged replies, so that every verb can read them."""
    found = []
    for n, word in enumerate(WORDS):
        for system, reply in (("old", f"i do not know much of {word}"), ("new", f"i like {word} very " + "much " * n)):
            record = {
                "id": f"{n}",
                "system": system,
                "context_id": word,
                "context": [f"do you like {word}"],
                "response": reply,
                "references": [f"yes i like {word}" if n % 2 else f"no i do not like {word}"],
                "scores": {"overall": [n % 5 + 1, (n + len(reply)) % 5 + 1]},
            }
            found.append({key: value for key, value in record.items() if key not in missing})
    return found


@pytest.fixture(params=MISSING)
def missing(request: pytest.FixtureRequest) -> list[str]:
    return MISSING[request.param]


@pytest.fixture
def replies(missing: list[str], write_lines: WriteLines) -> Path:
    return write_lines(records(missing))


def served(metrics: Any, missing: list[str]) -> list[str]:
    return [label for label, metric in choose_metrics(metrics).metrics.items() if not metric.needs & set(missing)]


def metrics_of(verb: str, told: dict[str, Any]) -> list[str]:
    if verb == "compare":
        return list(dict.fromkeys(row["metric"] for row in told["comparisons"]))
    return list(told["summary"] if verb == "score" else told["signatures"])


@pytest.mark.parametrize("named", ["all", None])
@pytest.mark.parametrize("verb", VERBS)
def test_a_set_runs_as_far_as_the_data_serve_it(
    verb: str, named: str | None, run: Run, replies: Path, missing: list[str]
) -> None:
    ran = run(verb, replies, *(["-m", named] if named else []), "--json", "--resamples", 20)
    assert ran.code == 0, ran.err
    assert metrics_of(verb, ran.json) == served(named, missing)
    notes = [line for line in ran.err.splitlines() if line.startswith("note: left out ")]
    assert sorted(line.rpartition("no example has ")[2] for line in notes) == sorted(missing)
    if named is None:
        listed = {label for label in DEFAULT_METRICS if any(f" {label}" in note for note in notes)}
        assert listed == set(DEFAULT_METRICS) - set(served(None, missing))


@pytest.mark.parametrize("beside", [[], ["-m", "all"]])
@pytest.mark.parametrize("verb", VERBS)
def test_a_metric_that_was_named_and_cannot_run_is_an_error(
    verb: str, beside: list[str], run: Run, replies: Path, missing: list[str]
) -> None:
    asked = "bleu(n=3, smooth=none)" if "references" in missing else "ruber-pool(turns=2)"
    ran = run(verb, replies, *beside, "-m", asked)
    message = f"{asked} needs {missing[0]}, but none of the 24 examples of {replies} has any"
    assert (ran.code, ran.out, ran.err) == (2, "", f"rejoinder: {message}\n")


@pytest.mark.parametrize("verb", VERBS)
def test_a_metric_of_a_configuration_counts_as_named(
    verb: str, run: Run, replies: Path, missing: list[str], tmp_path: Path
) -> None:
    name = "rouge-l" if "references" in missing else "ruber-pool"
    (tmp_path / "m.toml").write_text(f"[metrics.{name}]\n")
    ran = run(verb, replies, "-m", "all", "--config", "m.toml")
    assert ran.code == 2
    assert ran.err.startswith(f"rejoinder: {name} needs {missing[0]}, but none of the 24 examples")
