"""The Python interface in a few lines, as docs/reference/api.md shows it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from places import DOCS
from rejoinder import Example

EXAMPLES = [
    Example("1", ("How are you?",), "I am fine, thanks.", ("Fine, thanks.",)),
    Example("2", ("Tea?",), "Yes, please.", ("Yes, please!", "No.")),
]


def test_read_gives_examples(demo: Path) -> None:
    examples = list(rejoinder.read(demo))
    assert len(examples) == 256
    assert isinstance(examples[0], Example)
    assert (examples[0].id, examples[0].system, examples[0].context_id) == ("demo-01-good", "good", "demo-01")
    assert len(examples[0].context) == 3


def test_load_gives_a_metric_and_its_scores() -> None:
    metric = rejoinder.load("bleu", n=2)
    scores = metric.score(EXAMPLES)
    assert scores.dtype == np.float64
    assert scores.shape == (2,)
    assert metric.signature.startswith("bleu|n:2|")


def test_score_gives_a_table() -> None:
    table = rejoinder.score(EXAMPLES, ["bleu", "rouge-l"])
    assert isinstance(table, rejoinder.ScoreTable)
    np.testing.assert_array_equal(table["bleu"], rejoinder.load("bleu").score(EXAMPLES))
    assert table.to_polars().columns == table.to_pandas().columns.to_list() == ["id", "system", "bleu", "rouge-l"]
    assert table.summary()["bleu"][""].n == 2
    assert table.to_dict()["summary"]["rouge-l"][""]["mean"] == table["rouge-l"].mean()
    assert str(table).startswith("metric ")


def test_compare_gives_a_comparison() -> None:
    worse = [{"context": e.context, "response": "No.", "references": e.references} for e in EXAMPLES]
    comparison = rejoinder.compare(worse, EXAMPLES, metrics=["bleu-2"])
    assert isinstance(comparison, rejoinder.Comparison)
    assert str(comparison).startswith("2 contexts are too few to show any difference between A and B on bleu-2")


def test_errors_are_one_tree() -> None:
    for name in ("CallError", "DataError", "NeedsError", "LeakageError"):
        assert issubclass(getattr(rejoinder, name), rejoinder.RejoinderError)
    with pytest.raises(rejoinder.DataError) as caught:
        rejoinder.score([{"response": 1}], "length")
    assert (caught.value.line, caught.value.field) == (1, "response")


def test_an_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match=r"^module 'rejoinder' has no attribute 'scroe'$"):
        rejoinder.scroe  # noqa: B018


def python_blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("ignore:only \\d+ different replies")  # of the demo, which says so
@pytest.mark.parametrize(
    "page",
    [
        *("reference/api.md", "reference/data-format.md", "reference/am-fm.md", "reference/ruber.md"),
        "guide/score-a-chatbot.md",
    ],
)
def test_the_code_of_the_docs_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every block, one after the other; what a comment after `# ->` says is what the line's value shows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "replies.jsonl").write_bytes(demo.read_bytes())
    blocks = python_blocks(page)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
        for line in block.splitlines():
            code, arrow, expected = line.partition("  # -> ")
            if arrow:
                assert repr(eval(code, names)) == expected, line
    assert capsys.readouterr().err == ""
