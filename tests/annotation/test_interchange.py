"""Label Studio, Potato and CSV batches: items out, answers back into the study."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from annotation_server import SCALES, write_study
from rejoinder.people.queue import Assigner
from rejoinder.people.store import RaterAnswer, open_store
from running import Run


@pytest.fixture
def items(tmp_path: Path) -> list[str]:
    """The items of a study in this folder, in which one rater has answered the first two."""
    study = write_study(tmp_path, SCALES)
    with closing(open_store(tmp_path / "study.db")) as store:
        found = sorted(item.id for item in Assigner(study, store).items.values() if item.role == "real")
        store.add_rater("ann", "token", "platform:secret-name")
        store.add_answers([RaterAnswer("ann", item, "overall", "4", 2.0, 1_700_000_000.0) for item in found[:2]])
    return found


def stored(folder: Path) -> set[tuple[str, str, str, str]]:
    with closing(open_store(folder / "study.db")) as store:
        named = {rater.id: rater.source for rater in store.raters()}
        return {(named[one.rater], one.item, one.question, one.value) for one in store.answers()}


def test_label_studio_there_and_back(run: Run, tmp_path: Path, items: list[str]) -> None:
    done = run("annotate", "export", "study.toml", "--to", "label-studio", "-o", "tasks.json")
    assert done.code == 0, done.err
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["item"] for task in tasks] == items
    assert "second" not in json.dumps([task["data"]["item"] for task in tasks])
    assert "secret-name" not in json.dumps(tasks)
    tree = ET.parse(tmp_path / "tasks.xml").getroot()
    assert {tag.get("name") for tag in tree.iter("Choices")} == {"overall", "relevance", "grammar"}
    assert [tag.get("hint") for tag in tree.iter("Choice")][:2] == ["very bad", "bad"]
    assert tasks[0]["annotations"][0]["result"][0]["value"] == {"choices": ["4"]}
    tasks[2]["annotations"] = [
        {"completed_by": {"id": 7, "email": "bo@example.org"}, "lead_time": 3.5, "created_at": "2026-01-02T03:04:05Z"}
        | {"result": [{"from_name": "relevance", "to_name": "reply", "type": "choices", "value": {"choices": ["2"]}}]},
        {"completed_by": 8, "was_cancelled": True, "result": []},
    ]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    # The answers of our own rater were there before.
    assert "1 new answers of 3" in run("annotate", "import", "study.toml", "export.json", "--from", "label-studio").err
    assert "0 new answers of 3" in run("annotate", "import", "study.toml", "export.json", "--from", "label-studio").err
    assert ("label-studio:bo@example.org", items[2], "relevance", "2") in stored(tmp_path)
    assert sum(one[1:] == (items[0], "overall", "4") for one in stored(tmp_path)) == 1


def test_potato_there_and_back(run: Run, tmp_path: Path, items: list[str]) -> None:
    assert run("annotate", "export", "study.toml", "--to", "potato", "-o", "items.jsonl").code == 0
    records = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert [record["id"] for record in records] == items
    assert "<script" not in "".join(record["text"] for record in records), "Potato shows the text as HTML"
    settings = json.loads((tmp_path / "items.yaml").read_text())
    assert settings["data_files"] == ["items.jsonl"]
    assert [len(scheme["labels"]) for scheme in settings["annotation_schemes"]] == [5, 3, 5]
    user = tmp_path / "annotation_output" / "cy"
    user.mkdir(parents=True)
    labels = [[{"schema": "overall", "name": "5"}, "5"], [{"schema": "other", "name": "x"}, "true"]]
    state = {"user_id": "cy", "instance_id_to_label_to_value": {items[0]: labels}}
    (user / "user_state.json").write_text(json.dumps(state))
    assert run("annotate", "import", "study.toml", "annotation_output", "--from", "potato").code == 0
    assert ("potato:cy", items[0], "overall", "5") in stored(tmp_path)


def test_batch_there_and_back(run: Run, tmp_path: Path, items: list[str]) -> None:
    assert run("annotate", "export", "study.toml", "--to", "batch", "-o", "batch.csv").code == 0
    with (tmp_path / "batch.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == items
    assert all(row["reply"].startswith("Replier: Reply ") for row in rows)
    head = (
        "HITId,WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.item,Answer.overall,Answer.grammar.1,Answer.grammar.2"
    )
    results = [f"h1,W1,Approved,31,{items[0]},3,false,true", f"h2,W2,Rejected,2,{items[0]},1,true,false"]
    (tmp_path / "results.csv").write_text("\n".join([head, *results]))
    assert run("annotate", "import", "study.toml", "results.csv", "--from", "batch").code == 0
    found = {one for one in stored(tmp_path) if one[0].startswith("batch:")}
    assert found == {("batch:W1", items[0], "overall", "3"), ("batch:W1", items[0], "grammar", "2")}
    (tmp_path / "form.csv").write_text(f"item,Participant id,overall\n{items[1]},P1,2.0\n")
    assert run("annotate", "import", "study.toml", "form.csv", "--from", "batch").code == 0
    assert ("batch:P1", items[1], "overall", "2") in stored(tmp_path)


@pytest.mark.parametrize(
    ("tool", "name", "text", "told"),
    [
        ("label-studio", "r.json", "{}", "is not an export of this study from Label Studio"),
        ("label-studio", "r.json", '[{"data": {}, "annotations": [{}]}]', "is not an export of this study"),
        ("label-studio", "r.json", '[{"data": {"a": 1, "a": 2}}]', "r.json: names the key 'a' twice"),
        ("label-studio", "r.json", "[" * 100_000, "is not an export of this study"),
        ("potato", "r.json", "[]", "expected the output folder of Potato"),
        ("batch", "r.csv", "item,rater,overall\nnone,ann,3\n", "which this study does not have"),
        ("batch", "r.csv", "item,rater,overall\nITEM,ann,9\n", "has the answer '9' to overall"),
        ("batch", "r.csv", "item,overall\nITEM,3\n", "row 2 has no WorkerId or PROLIFIC_PID"),
        ("batch", "r.csv", "", "0 new answers of 0"),
    ],
)
def test_wrong_results_are_one_line_and_store_nothing(
    run: Run, tmp_path: Path, items: list[str], tool: str, name: str, text: str, told: str
) -> None:
    before = stored(tmp_path)
    (tmp_path / name).write_text(text.replace("ITEM", items[0]))
    done = run("annotate", "import", "study.toml", name, "--from", tool)
    assert told in done.err
    assert done.code == (0 if told.startswith("0 new") else 2)
    assert done.err.count("\n") == 1
    assert stored(tmp_path) == before


def test_the_datasheet_has_what_the_study_says(run: Run, tmp_path: Path, items: list[str]) -> None:
    done = run("annotate", "datasheet", "study.toml", "-o", "sheet.md")
    assert done.code == 0, done.err
    sheet = (tmp_path / "sheet.md").read_text()
    for part in (
        "| 3.1.1 | outputs per system | 24 items of 12 contexts; first: 12, second: 12 |",
        "| 4.3.3 | size of the scale | 3 |",
        "| 4.3.12.2 |",
        "1 (very bad), 2 (bad)",
        "Quality criterion: grammar",
        "Your answers are stored without your name.",
        "1 joined, 0 finished",
        "| 5.4 | impact assessments |",
    ):
        assert part in sheet
