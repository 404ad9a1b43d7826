"""The recipe of RoBERTa-eval, with a tiny encoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiny_encoder import TOPICS, dialogues, write_encoder

pytest.importorskip("torch", reason="needs what training needs")

from recipes import roberta_eval


def test_pieces_labels_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    ranking = [
        "rank",
        str(encoder),
        "--dialogues",
        str(spoken),
        "--judged",
        str(judged),
        "--steps",
        "2",
        "-o",
        str(work),
    ]
    roberta_eval.main([*ranking, "--pieces", "1"])
    roberta_eval.main([*ranking, "--pieces", "2"])
    last = str(work / "rank-2")
    roberta_eval.main(["label", last, "--judged", str(judged), "--minutes", "0.01", "-o", str(work)])
    capsys.readouterr()
    roberta_eval.main(["table", str(work)])
    first, second, labelled = capsys.readouterr().out.splitlines()
    assert first.startswith("piece 1; steps 2; minutes 0; judged ")
    assert second.startswith("piece 2; steps 4; "), "the first piece was not trained again"
    assert labelled.startswith("labels judged; from rank-2; ")
    assert labelled.endswith(f"replies {sum(row['split'] == 'test' for row in rows)}")
