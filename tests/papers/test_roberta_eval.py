"""The recipe of RoBERTa-eval, with a tiny encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tiny_encoder import TOPICS, dialogues, write_encoder

pytest.importorskip("torch", reason="needs what training needs")

from papers.roberta_eval import CURVE
from papers.zhao2020 import train_roberta_eval
from rejoinder.learning.run import checkpoints_in


def test_ranking_and_labels(tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "encoder", layers=1, positions=128)
    spoken = tmp_path / "dialogues.jsonl"
    spoken.write_text("".join(json.dumps({"id": one.id, "turns": one.turns}) + "\n" for one in dialogues()))
    judged = tmp_path / "judged.jsonl"
    rows = [
        {
            "id": f"{topic} {fits}",
            "context": [f"tell me about {topic}"],
            "response": f"i like {topic if fits else 'no such thing'} so much",
            "scores": {"overall": [5 if fits else 1]},
            "split": ("train", "train", "valid", "test")[number % 4],
        }
        for number, topic in enumerate(TOPICS)
        for fits in (0, 1)
    ]
    judged.write_text("".join(json.dumps(row) + "\n" for row in rows))
    work = tmp_path / "work"
    ranking = ["rank", str(encoder), "--dialogues", str(spoken), "--judged", str(judged), "--every", "2"]
    train_roberta_eval.main([*ranking, "--steps", "4", "-o", str(work)])
    assert {folder.name for folder in work.glob("rank-*")} == {"rank-2", "rank-4"}
    assert len(checkpoints_in(work / "checkpoints-rank")) == 1
    labelling = ["label", str(work / "rank-4"), "--judged", str(judged), "--tested", str(judged)]
    train_roberta_eval.main([*labelling, "--steps", "1", "-o", str(work)])
    curve = [json.loads(line) for line in (work / CURVE).read_text().splitlines()]
    assert [(row["stage"], row["steps"]) for row in curve] == [
        ("rank", 2),
        ("rank", 4),
        ("label", 1),
        ("test", 1),
        ("test", 1),
    ]
    assert set(curve[0]["judged"]) == {"r", "rho"}
    learned, tested, again = curve[2:]
    assert (learned["start"], learned["judged"], learned["labels"]) == ("rank-4", "judged", 20)
    assert list(tested["scores"]) == [row["id"] for row in rows if row["split"] == "test"]
    assert again == tested, "the same set, tested twice"


def test_interrupted_ranking_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = write_encoder(tmp_path / "encoder", layers=1, positions=128)
    spoken = tmp_path / "dialogues.jsonl"
    spoken.write_text("".join(json.dumps({"id": one.id, "turns": one.turns}) + "\n" for one in dialogues()))
    work = tmp_path / "work"
    command = ["rank", str(encoder), "--dialogues", str(spoken), "--every", "2", "--steps", "6", "-o", str(work)]
    record = train_roberta_eval._record

    def interrupted(folder: Path, row: dict[str, Any]) -> None:
        if row["steps"] == 4:
            raise KeyboardInterrupt
        record(folder, row)

    monkeypatch.setattr(train_roberta_eval, "_record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_roberta_eval.main(command)
    monkeypatch.setattr(train_roberta_eval, "_record", record)
    train_roberta_eval.main(command)
    curve = [json.loads(line) for line in (work / CURVE).read_text().splitlines()]
    assert [row["steps"] for row in curve] == [2, 4, 6]
    minutes = [row["minutes"] for row in curve]
    assert minutes == sorted(minutes)
