"""The character encoder: what it learns, what it reads of a text, and its folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from rejoinder.errors import CallError, DataError, NeedsError
from rejoinder.learning.run import TrainingRun
from rejoinder.models.sentence_encoders import sentence_encoder
from rejoinder.models.tweet2vec import UNKNOWN, Alphabet, Tweet2Vec
from rejoinder.models.tweet2vec_network import CharacterNetwork
from rejoinder.types import Dialogue

torch.set_num_threads(1)

WORDS = "tea rain chess jazz bread snow tennis paint gold maps trains owls soup dance moons ships".split()
DIALOGUES = [Dialogue(word, (f"tell me about {word}", f"well {word} is what i like")) for word in WORDS]


def small(**given: float) -> Tweet2Vec:
    sizes = {"embedding": 8, "hidden": 16, "width": 16, "longest": 40, "steps": 2, "batch": 8}
    return Tweet2Vec(**{**sizes, **given})  # type: ignore[arg-type]


SHORT = [Dialogue(word, (f"and {word}", f"{word} is ok")) for word in WORDS]


def share_nearest(encoder: Tweet2Vec) -> float:
    """How often the second turn of a short dialogue is the nearest to the first, of 16."""
    first, second = (encoder.encode([dialogue.turns[turn] for dialogue in SHORT]) for turn in (0, 1))
    return float(np.mean(np.argmax(first @ second.T, axis=1) == np.arange(len(SHORT))))


def test_it_learns_few_dialogues_by_heart() -> None:
    before = share_nearest(small().fit(SHORT))
    after = share_nearest(small(steps=40, batch=16, learning_rate=0.03).fit(SHORT))
    assert before < 0.5 < 0.8 < after


def test_validation_dialogues_show_how_often_the_next_turn_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    encoder = small(steps=60, batch=16, learning_rate=0.03)
    encoder.fit(SHORT, valid=SHORT, run=TrainingRun(quiet=False))
    found = [float(line.split("recall@1 of 32 ")[1]) for line in capsys.readouterr().err.splitlines()]
    assert max(found) == pytest.approx(share_nearest(encoder), abs=1e-3), "the best weights are kept"
    assert encoder.fitted.valid == len(SHORT)


def test_characters_have_numbers() -> None:
    alphabet = Alphabet.of([Dialogue("0", ("aab", "Aab", "bc \ud800\ud800\ud800"))])
    assert alphabet.characters == ("a", "\n", "b"), "most frequent first, none that occurs less than three times"
    assert alphabet.codes(["cab", ("a", "b"), ""], longest=2) == [[2, 4], [3, 4], [UNKNOWN]]
    assert len(Alphabet.of([Dialogue("0", ("", ""))]).characters) == 0


def test_one_gru_reads_forwards_and_the_other_backwards() -> None:
    torch.manual_seed(0)
    network = CharacterNetwork(characters=9, embedding=4, hidden=3, width=6).eval()
    torch.nn.init.eye_(network.joined.weight)
    torch.nn.init.zeros_(network.joined.bias)
    rows = [[3, 4, 5], [6, 7]]
    with torch.no_grad():
        found = network(*network.tensors(rows))
        for vector, row in zip(found, rows, strict=True):
            forwards, backwards = (
                each(network.embedding(torch.tensor([order])))[0][0, -1]
                for each, order in ((network.forwards, row), (network.backwards, row[::-1]))
            )
            expected = torch.nn.functional.normalize(torch.cat([forwards, backwards]), dim=0)
            torch.testing.assert_close(vector, expected)


def test_vectors_have_length_1_in_batches_of_any_size() -> None:
    encoder = small().fit(DIALOGUES)
    texts = [turn for dialogue in DIALOGUES for turn in dialogue.turns] + ["a", "", "\ud800 lone", "tell " * 50] * 20
    together = encoder.encode(texts)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose([encoder.encode([text])[0] for text in texts], together, atol=1e-6, rtol=0)


def test_what_is_read_of_a_text() -> None:
    encoder = small(longest=10).fit(DIALOGUES)
    same = encoder.encode(["the last ten characters", "TEN CHARACTERS", ("ten characters",)])
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], same[2])
    forth, back = encoder.encode(["chess", "ssehc"])
    assert not np.allclose(forth, back)
    one, two = encoder.encode([("tea", "rain"), "tearain"])
    assert not np.allclose(one, two)


def test_a_folder_that_has_changed_is_read_again(tmp_path: Path) -> None:
    for seed in (3, 4):
        encoder = small().fit(DIALOGUES, seed=seed)
        encoder.save(tmp_path / "t2v")
        np.testing.assert_array_equal(sentence_encoder(str(tmp_path / "t2v")).encode(["a"]), encoder.encode(["a"]))


def test_folders_of_the_earlier_layout_are_read(tmp_path: Path) -> None:
    encoder = small().fit(DIALOGUES, seed=3)
    encoder.save(tmp_path / "t2v")
    path = tmp_path / "t2v" / "config.json"
    config = json.loads(path.read_text())
    del config["version"], config["fit"]["valid"]
    path.write_text(json.dumps(config))
    assert Tweet2Vec.load(tmp_path / "t2v") == encoder


def test_what_cannot_be_done_says_why(tmp_path: Path) -> None:
    with pytest.raises(NeedsError, match="expected at least two replies"):
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
