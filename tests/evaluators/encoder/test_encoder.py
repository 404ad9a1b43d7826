"""The encoder evaluator: fit, save, load, export, and scoring without what it was trained with."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from interruption import interrupted
from rejoinder.errors import CallError, DataError, NeedsError, UnknownNameError
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.base import ScoreWarning
from rejoinder.types import Example
from tiny_encoder import TOPICS, dialogues, judged, write_encoder
from tolerance import assert_same_scores

EXAMPLES = [
    Example(
        str(n), tuple(f"tell me about {topic}" for topic in TOPICS[: 1 + n % 7]), f"{TOPICS[n % 20]} is " * (1 + n % 9)
    )
    for n in range(60)
]
SETTINGS = {"max_length": 48, "max_response": 16, "in_batch_steps": 2, "steps": 4, "label_steps": 4}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(scope="module")
def fitted(tiny: Path) -> Encoder:
    return Encoder(encoder=str(tiny), **SETTINGS).fit(dialogues(), judged(), seed=3)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def exported(fitted: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "exported"
    fitted.export(folder)
    return folder


def test_scores_are_between_one_and_five_and_differ(fitted: Encoder) -> None:
    scores = fitted.score(EXAMPLES)
    assert scores.shape == (60,)
    assert 1 < scores.min() < scores.max() < 5


def test_neither_order_nor_company_matters(fitted: Encoder) -> None:
    together = fitted.score(EXAMPLES)
    assert_same_scores(fitted.score(EXAMPLES[::-1]), together[::-1])
    assert_same_scores([fitted.score([example])[0] for example in EXAMPLES], together)


def test_empty_replies_and_missing_contexts(fitted: Encoder, exported: Path) -> None:
    odd = [replace(EXAMPLES[0], response=" "), EXAMPLES[1], replace(EXAMPLES[2], context=())]
    for evaluator in (fitted, Encoder.load(exported)):
        with pytest.warns(ScoreWarning, match="1 empty replies"):
            scores = evaluator.score(odd)
        assert scores[0] == 1.0
        assert np.isnan(scores).tolist() == [False, False, True]
        assert evaluator.score([]).shape == (0,)


def test_hostile_text_never_raises(fitted: Encoder, exported: Path) -> None:
    texts = [
        "a" * 5000,
        "\u200b",
        "﷽" * 50,
        "<script>",
        "\\",
        "a\u2028b",
        "lone \ud800",
        "?!",
        "[SEP] [PAD]",
        "x " * 900,
    ]
    examples = [Example(str(n), (context,), text) for n, text in enumerate(texts) for context in texts]
    for evaluator in (fitted, Encoder.load(exported)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoreWarning)
            scores = evaluator.score(examples)
        assert ((scores >= 1) & (scores <= 5)).all()


def test_one_seed_one_evaluator(fitted: Encoder, tiny: Path) -> None:
    again, other = (Encoder(**fitted.parameters).fit(dialogues(), judged(), seed=seed) for seed in (3, 4))
    np.testing.assert_array_equal(again.score(EXAMPLES), fitted.score(EXAMPLES))
    assert again.signature == fitted.signature
    assert not np.array_equal(other.score(EXAMPLES), fitted.score(EXAMPLES))


def test_a_saved_evaluator_scores_the_same(fitted: Encoder, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = Encoder.load(tmp_path / "model")
    assert loaded == fitted
    assert loaded.signature == fitted.signature
    assert "weights:torch" in loaded.signature
    np.testing.assert_array_equal(loaded.score(EXAMPLES), fitted.score(EXAMPLES))
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "config.json",
        "contexts.safetensors",
        "encoder.json",
        "model.safetensors",
        "tokenizer.json",
    ]


def test_the_pooling_is_the_preset_s_unless_told(fitted: Encoder, tiny: Path) -> None:
    assert fitted.model_.settings.pooling == "match"
    paper = Encoder(encoder=str(tiny), preset="paper", **SETTINGS).fit(judged=judged()[:4])  # type: ignore[arg-type]
    assert paper.model_.settings.pooling == "mean"


def test_it_learns_from_either_kind_of_data_alone(tiny: Path) -> None:
    short = Encoder(encoder=str(tiny), **SETTINGS)  # type: ignore[arg-type]
    assert short.clone().fit(dialogues()).fitted.judged == 0
    assert short.clone().fit(judged=judged()).fitted.dialogues == 0
    with pytest.raises(NeedsError, match="learns from dialogues, judged examples or both"):
        short.fit()


def test_a_saved_evaluator_learns_on(fitted: Encoder, tmp_path: Path) -> None:
    ranked = Encoder(**fitted.parameters).fit(dialogues()[:10])
    ranked.save(tmp_path / "ranked")
    onward = Encoder(**{**fitted.parameters, "encoder": str(tmp_path / "ranked"), "label_steps": 1})
    onward.fit(judged=judged())
    assert len(onward.trained_contexts) > len(Encoder(**fitted.parameters).fit(judged=judged()).trained_contexts)
    assert np.abs(onward.score(EXAMPLES) - ranked.score(EXAMPLES)).max() < 0.5, "one step from where it was"
    with pytest.raises(CallError, match="trained with max_length=48"):
        Encoder(encoder=str(tmp_path / "ranked"), max_length=40, max_response=16).fit(judged=judged())


def test_an_interrupted_fit_is_resumed(fitted: Encoder, tmp_path: Path) -> None:
    from rejoinder.evaluators.encoder.stages import EncoderRegressionStage

    run = TrainingRun(checkpoints=tmp_path / "kept", save_every=1)
    with interrupted(EncoderRegressionStage, 2):
        Encoder(**fitted.parameters).fit(dialogues(), judged(), seed=3, run=run)
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert kept == ["in-batch-00000002", "ranking-00000004", "regression-00000002"]
    again = Encoder(**fitted.parameters).fit(dialogues(), judged(), seed=3, run=replace(run, resume=True))
    np.testing.assert_array_equal(again.score(EXAMPLES), fitted.score(EXAMPLES))
    with pytest.raises(CallError, match="another run"):
        Encoder(**fitted.parameters).fit(dialogues(), judged(), seed=4, run=replace(run, resume=True))


# The bounds for int8 are those that a model for use must hold as well: .03 on average, .1 at the 99th percentile.
def test_onnx_agrees_with_torch(fitted: Encoder, exported: Path) -> None:
    torch_scores = fitted.score(EXAMPLES)
    full, small = Encoder.load(exported, precision="fp32"), Encoder.load(exported)
    assert "weights:fp32" in full.signature
    assert "weights:int8" in small.signature
    assert np.abs(full.score(EXAMPLES) - torch_scores).max() < 1e-3
    off = np.abs(small.score(EXAMPLES) - torch_scores)
    assert 0 < off.mean() < 0.03
    assert np.quantile(off, 0.99) < 0.1
    assert (exported / "model.int8.onnx").stat().st_size < (exported / "model.onnx").stat().st_size


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_number_of_cores_does_not_change_a_bit_of_an_exported_one(
    exported: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.evaluators.encoder.onnx.BATCH_TOKENS", 128)  # many batches
    loaded, scores = Encoder.load(exported, precision=precision), []
    for cores in ("1", "3"):
        monkeypatch.setenv("REJOINDER_THREADS", cores)
        scores.append(loaded.score(EXAMPLES).tolist())
    assert scores[0] == scores[1]


# Without segments of its own, the encoder is not told what the pooling is.
@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["cls", "match"])
def test_an_encoder_without_segments_exports(tmp_path: Path, fitted: Encoder, pooling: str) -> None:
    encoder = write_encoder(tmp_path / "encoder", token_types=1, layers=1)
    evaluator = Encoder(encoder=str(encoder), pooling=pooling, **SETTINGS)  # type: ignore[arg-type]
    evaluator.fit(judged=judged())
    assert fitted.model_.settings.token_types
    assert evaluator.model_.settings.token_types == (pooling == "match")
    evaluator.export(tmp_path / "model", quantise=False, trainable=True)
    loaded = Encoder.load(tmp_path / "model")
    assert loaded.model_.precision == "fp32"
    np.testing.assert_allclose(loaded.score(EXAMPLES), evaluator.score(EXAMPLES), atol=1e-3)
    learned = Encoder.load(tmp_path / "model", precision="torch")
    np.testing.assert_array_equal(learned.score(EXAMPLES), evaluator.score(EXAMPLES))


def test_an_exported_folder_needs_neither_torch_nor_transformers(exported: Path, tmp_path: Path) -> None:
    expected = Encoder.load(exported).score(EXAMPLES[:5])
    shutil.copytree(exported, tmp_path / "model")
    records = [{"id": each.id, "context": each.context, "response": each.response} for each in EXAMPLES[:5]]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    script = """
import sys
for name in ("torch", "transformers", "accelerate", "onnx", "onnxscript"):
    sys.modules[name] = None
import rejoinder
table = rejoinder.score("replies.jsonl", ["model/", "model(precision=fp32)"])
print([float(score) for score in table["model/"]])
try:
    rejoinder.load("model", precision="torch")
except rejoinder.errors.CallError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scores, refusal = done.stdout.splitlines()
    np.testing.assert_allclose(json.loads(scores), expected, atol=1e-6)
    needed = "a model that was not exported to ONNX needs an optional part"
    assert refusal == f"{needed}: pip install '.[train]' in a checkout of rejoinder"


def test_a_folder_loads_by_its_path(exported: Path) -> None:
    loaded = rejoinder.load(exported)
    assert isinstance(loaded, Encoder)
    with pytest.raises(UnknownNameError, match="precise"):
        rejoinder.load(exported, precise="fp32")
    with pytest.raises(CallError, match="precision must be one of torch, fp32, int8"):
        rejoinder.load(exported, precision="int4")
    with pytest.raises(CallError, match="exported already"):
        loaded.export(exported)


def test_an_exported_evaluator_is_saved_again_as_it_is(exported: Path, tmp_path: Path) -> None:
    loaded = Encoder.load(exported)
    loaded.save(tmp_path / "again")
    again = Encoder.load(tmp_path / "again")
    assert again.signature == loaded.signature
    np.testing.assert_array_equal(again.score(EXAMPLES), loaded.score(EXAMPLES))


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("model.int8.onnx", b"no", "not an ONNX model"),
        ("tokenizer.json", b"{}", "not a tokeniser's definition"),
        ("tokenizer.json", b"\xff", "not UTF-8"),
        ("tokenizer.json", None, "is missing"),
    ],
)
def test_broken_folders(exported: Path, tmp_path: Path, file: str, content: bytes | None, problem: str) -> None:
    shutil.copytree(exported, tmp_path / "model")
    (tmp_path / "model" / file).unlink()
    if content is not None:
        (tmp_path / "model" / file).write_bytes(content)
    with pytest.raises(DataError, match=problem):
        Encoder.load(tmp_path / "model").score(EXAMPLES[:1])


def test_a_folder_without_weights(exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported, tmp_path / "model", ignore=shutil.ignore_patterns("*.onnx"))
    with pytest.raises(DataError, match="holds no weights"):
        Encoder.load(tmp_path / "model")


@pytest.mark.parametrize(
    "wrong",
    [
        {"preset": "gpu"},
        {"pooling": "max"},
        {"in_batch_steps": -1},
        {"steps": -1},
        {"replay": -1},
        {"label_share": 1.5},
        {"scale": (5.0, 1.0)},
        {"max_length": 0},
    ],
)
def test_wrong_parameters(wrong: dict[str, object]) -> None:
    with pytest.raises(CallError, match=next(iter(wrong))):
        Encoder(encoder="any", **wrong)  # type: ignore[arg-type]


def test_encoders_that_will_not_do(tiny: Path, exported: Path, tmp_path: Path) -> None:
    with pytest.raises(CallError, match="it scores, but cannot be trained further"):
        Encoder(encoder=str(exported)).fit(dialogues())
    with pytest.raises(CallError, match="no encoder"):
        Encoder(encoder=str(tmp_path / "nowhere")).fit(dialogues())
    with pytest.raises(CallError, match="reads at most 64 tokens"):
        Encoder(encoder=str(tiny), max_length=65, max_response=8).fit(dialogues())
    with pytest.raises(CallError, match="max_length must have room"):
        Encoder(encoder=str(tiny), max_length=20, max_response=20).fit(dialogues())
