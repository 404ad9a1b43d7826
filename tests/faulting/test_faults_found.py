"""What `faults` says of a file: verdict, shares, examples, page, JSON and data frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rejoinder
from rejoinder.cli import main
from rejoinder.errors import UnknownNameError
from rejoinder.faulting.found import percent_text
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval

TOPICS = "cats dogs tea rain trains maps shoes songs cakes boats".split()


def rows() -> list[dict[str, Any]]:
    """Ten replies of two systems; b breaks off in four of them and leaves a placeholder in one."""
    made = []
    for at, topic in enumerate(TOPICS):
        asked = f"What do you think of {topic}, honestly?"
        good = f"I like {topic} a lot, most of all on Sundays."
        bad = (
            f"I like {topic} and the" if at < 4 else good if at != 7 else f"Hi {{{{name}}}}, I like {topic} <b>too</b>."
        )
        made += [
            {"id": f"{at}", "system": name, "context": [asked], "response": said}
            for name, said in (("a", good), ("b", bad))
        ]
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "replies.jsonl"
    path.write_text("\n".join(map(json.dumps, rows())), encoding="utf-8")
    return path


def test_the_verdict_says_how_many_and_which(file: Path) -> None:
    found = rejoinder.faults(file)
    assert found.sentences[0] == "None of 11 faults was found in 10 replies of a."
    share = percent_text(mean_interval([1.0] * 5 + [0.0] * 5, limits=(0.0, 1.0)))
    assert found.sentences[1] == f"5 of 10 replies of b have a fault ({share}): most often cut-off (4) and markup (1)."
    assert found.sentences[2] == "Not looked for: repeats-itself: no reply has an earlier turn of the same speaker."
    assert 'cut-off, b 0: "the" - ends within a sentence' in found.text()
    assert [one.fault for one in found.found] == ["cut-off"] * 4 + ["markup"]


def test_one_row_of_a_data_frame_per_fault(file: Path) -> None:
    frame = rejoinder.faults(file).to_polars()
    assert frame.columns == ["id", "system", "fault", "text", "start", "end", "turn", "note", "probability"]
    assert frame.height == 5
    assert frame["text"].to_list()[-1] == "{{name}}"
    assert rejoinder.faults(file, only="offensive").to_polars().height == 0


def test_json_has_cards_counts_and_evidence(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["any"]["b"]["count"] == 5
    assert told["faults"]["cut-off"]["systems"]["b"]["share"] == pytest.approx(0.4)
    assert told["faults"]["cut-off"]["precision"]["estimate"] > 0.8
    assert told["faults"]["repeats-itself"]["systems"]["b"]["share"] is None
    assert told["found"][0] == {
        "id": "0",
        "system": "b",
        "fault": "cut-off",
        "text": "the",
        "start": 16,
        "end": 19,
        "turn": None,
        "note": "ends within a sentence",
        "probability": 1.0,
    }


def test_the_page_marks_the_evidence_in_escaped_text(file: Path, tmp_path: Path) -> None:
    found = rejoinder.faults(file)
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "I like cats and <mark>the</mark>" in page
    assert "Hi <mark>{{name}}</mark>, I like songs &lt;b&gt;too" in page
    assert "Precision: the share of findings that are right" in page
    without = found.report(tmp_path / "without.html", texts=False).read_text(encoding="utf-8")
    assert "I like" not in without


def test_faults_can_be_chosen(file: Path) -> None:
    found = rejoinder.faults(file, only=["markup", "empty"])
    assert list(found.cards) == ["markup", "empty"]
    assert "1 of 10 replies of b has a fault" in found.verdict
    with pytest.raises(UnknownNameError, match="markup"):
        rejoinder.faults(file, only="markups")


def test_a_fault_without_figures_is_looked_for_with_all_and_marked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.faulting import fault

    known = dict(fault._measured())
    del known["cut-off"]
    monkeypatch.setattr(fault, "_measured", lambda: known)
    assert "cut-off" not in rejoinder.faults(file).cards
    found = rejoinder.faults(file, everything=True)
    assert "cut-off ?" in found.text()
    assert "Its error rates were not measured." in " ".join(found.text(details=True).split())


def test_of_a_conversation_each_turn_can_be_judged() -> None:
    said = "I have two cats and a dog at home."
    turns = [("user", "Hi!"), ("assistant", said), ("user", "And where do you live?"), ("assistant", said)]
    chat = [{"messages": [{"role": role, "content": text} for role, text in turns]}]
    found = rejoinder.faults(chat, unit="turn")
    assert found.replies == {"": 2}
    assert [(one.fault, one.evidence.turn) for one in found.found] == [("repeats-itself", 1)]


def test_no_replies_with_a_fault_and_percentages() -> None:
    found = rejoinder.faults([{"response": "I like it."}])
    assert "None of 7 faults was found in 1 reply." in found.verdict
    assert "no reply has a context" in found.verdict
    assert percent_text(Interval(0.12, 0.08, 0.17)) == "12 % [8, 17]"
    assert percent_text(Interval(0.025, 0.008, 0.14)) == "2.5 % [0.8, 14.0]"
