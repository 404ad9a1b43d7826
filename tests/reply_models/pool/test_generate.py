"""`rejoinder.generate`: one model or a pool, from memory or from files."""

from __future__ import annotations

from pathlib import Path

import pytest

import rejoinder
from rejoinder.errors import CallError
from rejoinder.replies.lexical import Bm25, ResponseTfidf
from rejoinder.replies.pool import generate
from small_dialogues import CONTEXTS, DIALOGUES

MODEL = ResponseTfidf().fit(DIALOGUES)
OTHER = Bm25().fit(DIALOGUES)


def test_one_reply_per_context() -> None:
    replies = generate(MODEL, CONTEXTS)
    assert [reply.response for reply in replies] == MODEL.reply(CONTEXTS)
    assert [reply.context for reply in replies] == list(CONTEXTS)
    assert {reply.system for reply in replies} == {"r-tfidf"}
    assert rejoinder.score(replies, "length").metrics == ("length",)


def test_replies_in_memory_and_in_a_file_are_the_same(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model")
    written = generate(str(tmp_path / "model"), CONTEXTS, output=tmp_path / "replies.jsonl")
    assert list(written) == list(generate(MODEL, CONTEXTS)) == list(rejoinder.read(tmp_path / "replies.jsonl"))
    assert (tmp_path / "replies.pool.json").is_file()


def test_a_pool_of_models_and_folders(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model")
    records = [{"turns": one.turns} for one in DIALOGUES]
    pool = generate({"a": tmp_path / "model", "b": OTHER}, records, also=["true", "random"], seed=1)
    assert {"a", "true", "random"} <= {reply.system for reply in pool}
    assert pool.to_dict()["systems"]["true"]["replies"] == 4
    assert "a was trained on 3 of the 4 contexts" in pool.notes
    same = generate([f"a={tmp_path / 'model'}", f"b={tmp_path / 'model'}"], records, also="true")
    assert set(same.to_dict()["systems"]) == {"true", "a", "b"}
    assert same.to_dict()["systems"]["b"]["replies"] == 0, "the same replies as those of a"
    assert str(same).splitlines()[0].startswith("system ")
    assert not list(generate({"a": MODEL}, records, drop=["length>0"]))


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="also and drop are for a pool"):
        generate(MODEL, CONTEXTS, also="true")
    with pytest.raises(CallError, match="it takes no decoding, but 'decoding greedy' gives one"):
        generate(MODEL, CONTEXTS, decoding="greedy")
    with pytest.raises(CallError, match=r"cannot write \.csv"):
        generate(MODEL, CONTEXTS, output=tmp_path / "replies.csv")
    with pytest.raises(CallError, match="holds no reply model"):
        generate(tmp_path, CONTEXTS)
