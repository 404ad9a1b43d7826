"""The character encoder: what it learns, and that a text's vector is its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from rejoinder.encoders.sentence_encoders import sentence_encoder
from rejoinder.encoders.tweet2vec.encoder import Tweet2Vec
from rejoinder.encoders.tweet2vec.training import nearest_of
from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.types import Dialogue

torch.set_num_threads(1)

WORDS = "tea rain chess jazz bread snow tennis paint gold maps trains owls soup dance moons ships".split()
DIALOGUES = [Dialogue(word, (f"tell me about {word}", f"well {word} is what i like")) for word in WORDS]


def small(**given: float) -> Tweet2Vec:
    sizes = {"embedding": 8, "hidden": 16, "width": 16, "longest": 40, "steps": 2, "batch": 8}
    return Tweet2Vec(**{**sizes, **given})  # type: ignore[arg-type]


def test_it_learns_few_dialogues_by_heart() -> None:
    short = [Dialogue(word, (f"and {word}", f"{word} is ok")) for word in WORDS]
    before = nearest_of(small().fit(short), short, at_once=16)
    after = nearest_of(small(steps=40, batch=16, learning_rate=0.03).fit(short), short, at_once=16)
    assert before < 0.5 < 0.8 < after


def test_vectors_do_not_depend_on_company() -> None:
    encoder = small().fit(DIALOGUES)
    texts = [turn for dialogue in DIALOGUES for turn in dialogue.turns] + ["a", "", "\ud800 lone", "tell " * 50] * 20
    together = encoder.encode(texts)
    assert together.shape == (len(texts), 16)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal([encoder.encode([text])[0] for text in texts], together)


def test_what_is_read_of_a_text() -> None:
    encoder = small(longest=10).fit(DIALOGUES)
    same = encoder.encode(["the last ten characters", "TEN CHARACTERS", ("ten characters",)])
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], same[2])
    forth, back = encoder.encode(["chess", "ssehc"])
    assert not np.allclose(forth, back)
    one, two = encoder.encode([("tea", "rain"), "tearain"])
    assert not np.allclose(one, two)


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    encoder = small().fit(DIALOGUES, seed=3)
    encoder.save(tmp_path / "t2v")
    loaded = Tweet2Vec.load(tmp_path / "t2v")
    np.testing.assert_array_equal(loaded.encode(["tell me"]), encoder.encode(["tell me"]))
    assert (loaded, loaded.signature) == (encoder, encoder.signature)
    assert {path.suffix for path in (tmp_path / "t2v").iterdir()} == {".json", ".safetensors"}
    np.testing.assert_array_equal(sentence_encoder(str(tmp_path / "t2v")).encode(["a"]), encoder.encode(["a"]))
    other = small().fit(DIALOGUES, seed=4)
    assert not np.array_equal(other.encode(["tell me"]), encoder.encode(["tell me"]))
    other.save(tmp_path / "t2v")  # a folder that has changed is read again
    np.testing.assert_array_equal(sentence_encoder(str(tmp_path / "t2v")).encode(["a"]), other.encode(["a"]))


def test_what_cannot_be_done_says_why(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="tweet2vec is not trained"):
        small().encode(["a"])
    with pytest.raises(NeedsError, match="expected some with text"):
        small().fit([])
    with pytest.raises(NeedsError, match="at least two that follow another"):
        small().fit([Dialogue("0", ("one", "two"))])
    with pytest.raises(CallError, match="batch must be at least 2"):
        small(batch=1)
    small().fit(DIALOGUES).save(tmp_path / "t2v")
    (tmp_path / "t2v" / "model.safetensors").unlink()
    with pytest.raises(DataError, match="is missing"):
        Tweet2Vec.load(tmp_path / "t2v")


def test_an_encoder_of_another_name_is_refused(tmp_path: Path) -> None:
    small().fit(DIALOGUES).save(tmp_path / "t2v")
    path = tmp_path / "t2v" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "name": "tweet3vec"}))
    with pytest.raises(CallError, match="did you mean tweet2vec"):
        sentence_encoder(str(tmp_path / "t2v"))
