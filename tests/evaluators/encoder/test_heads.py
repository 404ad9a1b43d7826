"""Several heads of one network: learned at once, read in one pass, saved, exported and resumed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rejoinder
from interruption import interrupted
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.head_stage import HeadsStage, pairs_in_order, row_loss
from rejoinder.evaluators.encoder.heads import Head, HeadData, HeadRow
from rejoinder.evaluators.encoder.reading import FEATURES
from rejoinder.evaluators.encoder.torch_model import TorchModel
from rejoinder.folders.saved import WEIGHTS
from rejoinder.learning.checkpoints import plain_state
from rejoinder.learning.data import TrainingData
from rejoinder.learning.loop import train_stage
from rejoinder.learning.run import Paused, TrainingRun
from rejoinder.learning.schedules import Schedule
from rejoinder.metrics.batch import Batch
from rejoinder.types import Example
from tiny_encoder import TOPICS, write_encoder

LIMITS: dict[str, Any] = {"max_length": 48, "max_response": 16, "towers": True, "speaker_marks": False}
QUICK = Schedule(learning_rate=3e-3, batch=20, epochs=60, dropout=False)
EXAMPLES = [
    Example("", (f"tell me about {topic}", "why"), f"i like {other} so much")
    for topic, other in zip(TOPICS, [*TOPICS[3:], *TOPICS[:3]], strict=True)
]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Four files, of which each has another loss; what they teach can be seen in the words of a reply."""
    folder = tmp_path_factory.mktemp("heads")
    said = [("good", "i like {} so much"), ("bad", "well {} makes me happy all day")]
    votes: list[dict[str, Any]] = []
    binary: list[dict[str, Any]] = []
    ranking: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for topic in TOPICS:
        context = [f"tell me about {topic}"]
        texts = {kind: text.format(topic) for kind, text in said}
        for kind, text in texts.items():
            row = {"context": context, "response": text}
            votes.append({**row, "scores": {"fits": [1, 1, 0.5] if kind == "good" else [0, 0.5, 0]}})
            binary.append({**row, "scores": {"good": [int(kind == "bad")]}})
            ranking.append({**row, "scores": {"rank": [3 if kind == "good" else 1]}})
        pairs.append(
            {
                "context": context,
                "a": "x",
                "b": "y",
                "winner": "b",
                "response_a": texts["good"],
                "response_b": texts["bad"],
            }
        )
    rows = {"votes": votes, "binary": binary, "ranking": ranking, "pairs": pairs}
    return {name: write(folder / f"{name}.jsonl", given) for name, given in rows.items()}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


def heads(files: dict[str, str]) -> tuple[str, ...]:
    return (
        f"fits(loss=votes, data={files['votes']!r}, share=0.4)",
        f"other(loss=binary, data={files['binary']!r}, share=0.2)",
        f"other(loss=pairs, data={files['pairs']!r}, share=0.2)",
        f"score(loss=ranking, data={files['ranking']!r}, share=0.2)",
    )


def trained(tiny: Path, files: dict[str, str], run: TrainingRun | None = None, **given: Any) -> Encoder:
    return Encoder(encoder=str(tiny), heads=heads(files), **LIMITS, **given).fit(run=run)


@pytest.fixture(scope="module")
def evaluator(tiny: Path, files: dict[str, str]) -> Encoder:
    """Trained with larger steps than a pretrained encoder bears."""
    tasks = [HeadData.read(Head.of(each)) for each in heads(files)]
    model = TorchModel.start(str(tiny), pooling="match", seed=0, **LIMITS)
    model = model.with_heads(("fits", "other"), tuple(each.digest for each in tasks), 0, whole_replies=False)
    train_stage(HeadsStage(model, tasks, seed=0, new_rate=1.0), QUICK, 0, None, "")
    return Encoder(encoder=str(tiny), heads=heads(files), **LIMITS).with_model(model, TrainingData())


def weights(evaluator: Encoder) -> dict[str, torch.Tensor]:
    model = evaluator.model_
    assert isinstance(model, TorchModel)
    return plain_state(model.network)


def test_every_head_learns_its_data(evaluator: Encoder) -> None:
    good = [Example("", (f"tell me about {topic}",), f"i like {topic} so much") for topic in TOPICS]
    bad = [Example("", (f"tell me about {topic}",), f"well {topic} makes me happy all day") for topic in TOPICS]
    first, second = (evaluator.readings(Batch(each)) for each in (good, bad))
    assert (first["fits"] > second["fits"] + 0.2).all()
    assert (first["other"] < second["other"] - 0.2).all()
    assert (evaluator.score(good) > evaluator.score(bad)).mean() > 0.9


def test_votes_are_learned_as_probabilities(evaluator: Encoder) -> None:
    good = [Example("", (f"tell me about {topic}",), f"i like {topic} so much") for topic in TOPICS]
    assert evaluator.readings(Batch(good))["fits"].mean() == pytest.approx(5 / 6, abs=0.1)


def test_an_exported_network_has_the_same_columns(evaluator: Encoder, tmp_path: Path) -> None:
    evaluator.export(tmp_path / "model", trainable=True)
    assert tuple(evaluator.readings(Batch(EXAMPLES))) == (*FEATURES, "fits", "other")
    for precision, limit in (("torch", 1e-5), ("fp32", 1e-3), ("int8", 0.1)):
        loaded = Encoder.load(tmp_path / "model", precision=precision)
        np.testing.assert_allclose(loaded.score(EXAMPLES), evaluator.score(EXAMPLES), atol=4 * limit)
        expected, found = (each.readings(Batch(EXAMPLES)) for each in (evaluator, loaded))
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], atol=limit, err_msg=f"{precision} {name}")


def test_a_head_can_be_the_score(evaluator: Encoder, tmp_path: Path) -> None:
    evaluator.export(tmp_path / "model")
    one = rejoinder.load(f"{tmp_path / 'model'}(head=fits)")
    np.testing.assert_allclose(one.score(EXAMPLES), evaluator.readings(Batch(EXAMPLES))["fits"], atol=0.05)
    assert one.range == (0.0, 1.0)
    assert one.signature != rejoinder.load(str(tmp_path / "model")).signature
    assert "head:fits" in one.signature
    assert one.score_batch(Batch([Example("", ("tell me",), " ")])) == [0.0]
    with pytest.raises(UnknownNameError, match="fits"):
        Encoder.load(tmp_path / "model", head="fist")
    with pytest.raises(CallError, match="cannot be saved"):
        one.save(tmp_path / "one")


def test_the_folder_records_heads_shares_and_data(evaluator: Encoder, files: dict[str, str], tmp_path: Path) -> None:
    evaluator.export(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["learned"]["heads"] == ["fits", "other"]
    assert config["parameters"]["heads"] == list(heads(files))
    assert config["learned"]["head_data"] == [HeadData.read(Head.of(each)).digest for each in heads(files)]
    known = Encoder.load(tmp_path / "model").trained_contexts
    assert known.holds([Example("", ("tell me about tea",), "x"), Example("", ("not seen",), "x")]).tolist() == [
        True,
        False,
    ]


def test_an_exported_network_is_trained_further_and_keeps_its_heads(
    evaluator: Encoder, files: dict[str, str], tmp_path: Path
) -> None:
    evaluator.export(tmp_path / "model", trainable=True)
    (tmp_path / "model" / WEIGHTS["torch"]).unlink()
    more = (f"third(loss=binary, data={files['binary']!r})",)
    further = Encoder(encoder=str(tmp_path / "model"), heads=more, head_steps=1, **LIMITS).fit()
    assert further.model_.settings.heads == ("fits", "other", "third")
    before, after = (each.readings(Batch(EXAMPLES)) for each in (evaluator, further))
    np.testing.assert_allclose(after["fits"], before["fits"], atol=0.1)


@pytest.mark.parametrize("at", [3, 11])
def test_a_resumed_run_ends_with_the_same_weights(tiny: Path, files: dict[str, str], tmp_path: Path, at: int) -> None:
    whole = weights(trained(tiny, files))
    run = TrainingRun(checkpoints=tmp_path / "checkpoints", save_every=2)
    with interrupted(HeadsStage, at):
        trained(tiny, files, run)
    resumed = TrainingRun(checkpoints=tmp_path / "checkpoints", save_every=2, resume=True)
    found = weights(trained(tiny, files, resumed))
    assert whole.keys() == found.keys()
    assert all(torch.equal(whole[name], found[name]) for name in whole)


def test_batches_mix_the_files_by_their_shares(tiny: Path, files: dict[str, str]) -> None:
    stage = stage_of(tiny, files)
    counts = np.zeros(4)
    for epoch in range(5):
        batches = stage.batches(epoch, 8)
        assert len(batches) == -(-len(stage) // 8)
        for batch in batches:
            for row in batch:
                counts[stage._rows[row][0]] += 1
        assert any(len({stage._rows[row][0] for row in batch}) > 1 for batch in batches)
    np.testing.assert_allclose(counts / counts.sum(), [0.4, 0.2, 0.2, 0.2], atol=0.02)
    assert stage.batches(3, 8) == stage_of(tiny, files).batches(3, 8)
    assert stage.batches(3, 8) != stage.batches(4, 8)


def test_a_file_is_gone_through_as_a_whole_before_a_row_comes_again(tiny: Path, files: dict[str, str]) -> None:
    stage = stage_of(tiny, files)
    drawn = np.concatenate([stage._drawn(0, epoch) for epoch in range(20)])
    whole = drawn[: len(drawn) // len(TOPICS) * len(TOPICS)].reshape(-1, len(TOPICS))
    assert all(len(set(rows)) == len(TOPICS) for rows in whole.tolist())


def stage_of(tiny: Path, files: dict[str, str]) -> HeadsStage:
    model = TorchModel.start(str(tiny), pooling="match", seed=0, heads=("fits", "other"), **LIMITS)
    return HeadsStage(model, [HeadData.read(Head.of(each)) for each in heads(files)], seed=0)


def test_losses_by_hand() -> None:
    logits = torch.tensor([2.0, 0.0, 1.0])
    softplus = np.log1p(np.exp([-2.0, -1.0, 1.0]))
    ranked = row_loss("ranking", logits, torch.tensor([3.0, 1.0, 1.0]))
    assert float(ranked) == pytest.approx(softplus[:2].mean())
    pair = row_loss("pairs", logits[[1, 2]], torch.tensor([0.75, 0.25]))
    assert float(pair) == pytest.approx(0.75 * softplus[2] + 0.25 * softplus[1])
    single = row_loss("votes", logits[:1], torch.tensor([0.25]))
    assert float(single) == pytest.approx(0.25 * softplus[0] + 0.75 * np.log1p(np.exp(2.0)))


def test_pairs_in_order_by_hand() -> None:
    wanted, scores = [(1.0, 0.0), (0.0, 1.0)], [np.array([2.0, 1.0]), np.array([5.0, 3.0])]
    assert pairs_in_order(wanted, scores, across=False) == 0.5
    assert pairs_in_order(wanted, scores, across=True) == 0.5
    assert pairs_in_order([(1.0, 0.0, 0.0)], [np.array([1.0, 1.0, 0.0])], across=False) == 0.75


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fits(loss=vote, data=x.jsonl)", "votes"),
        ("fits(data=x.jsonl)", "needs loss"),
        ("fits(loss=votes)", "needs data"),
        ("fits(loss=votes, data=x.jsonl, shares=2)", "share"),
        ("fits(loss=votes, data=x.jsonl, share=0)", "above 0"),
    ],
)
def test_a_wrong_head_is_an_error(spec: str, message: str) -> None:
    with pytest.raises(CallError, match=message):
        Encoder(encoder="x", towers=True, heads=(spec,))


def test_heads_need_towers_and_names_of_their_own() -> None:
    with pytest.raises(CallError, match="towers"):
        Encoder(encoder="x", heads=("fits(loss=votes, data=x.jsonl)",))
    with pytest.raises(CallError, match="copied"):
        Encoder(encoder="x", towers=True, heads=("copied(loss=votes, data=x.jsonl)",))


@pytest.mark.parametrize(
    ("loss", "rows", "message"),
    [
        ("votes", [{"context": ["a"], "response": "b", "scores": 3}], "from 0 to 1"),
        ("binary", [{"context": ["a"], "response": "b", "scores": 0.5}], "0 or 1"),
        ("votes", [{"context": [], "response": "b", "scores": 1}], "no context"),
        ("ranking", [{"context": ["a"], "response": "b", "scores": 1}], "nothing"),
        ("pairs", [{"context": ["a"], "a": "x", "b": "y", "winner": "a"}], "response_a"),
    ],
)
def test_data_that_do_not_fit_the_loss_are_an_error(
    tmp_path: Path, loss: str, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(CallError, match=message):
        HeadData.read(Head("fits", loss, write(tmp_path / "rows.jsonl", rows)))


def test_a_pair_that_several_people_judged_is_one_row(tmp_path: Path) -> None:
    base = {"context": ["a"], "a": "x", "b": "y", "response_a": "one", "response_b": "two"}
    rows = [{**base, "winner": winner} for winner in ("a", "b", "a", "tie")]
    data = HeadData.read(Head("fits", "pairs", write(tmp_path / "pairs.jsonl", rows)))
    assert data.rows == (HeadRow(("a",), ("one", "two"), (0.625, 0.375)),)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="no such file"):
        HeadData.read(Head("fits", "votes", str(tmp_path / "none.jsonl")))


def test_a_run_in_pieces_ends_with_the_same_weights(tiny: Path, files: dict[str, str], tmp_path: Path) -> None:
    whole = weights(trained(tiny, files))
    pieces = 0
    while True:
        run = TrainingRun(checkpoints=tmp_path / "checkpoints", resume=pieces > 0, pause_after=1e-9)
        try:
            found = weights(trained(tiny, files, run))
            break
        except Paused:
            pieces += 1
    assert pieces > 5
    assert all(torch.equal(whole[name], found[name]) for name in whole)
