"""Scores with an older processor's instructions differ by no more than docs/reference/determinism.md says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import rejoinder
from instruction_sets import OLDER, scored_with
from large_hred import write_large_hred
from registered_evaluators import REGISTERED
from small_evaluators import dialogues, judged
from tolerance import assert_same_scores

NAMES = ("encoder-cosine", "ruber-unref")
EXAMPLES = [item.example for item in judged(24)]


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="needs a processor with AVX2"
)
@pytest.mark.filterwarnings("ignore:only \\d+ different replies")
@pytest.mark.parametrize("older", ["DEFAULT", pytest.param("AVX2", marks=pytest.mark.slow)])
def test_scores_with_older_instructions(older: str, tmp_path: Path) -> None:
    """Emulated on this processor."""
    models = ["default-fast", f"vhred-dot(encoder='{write_large_hred(tmp_path / 'hred')}')"]
    for name in NAMES:
        REGISTERED[name]().fit(dialogues(), judged(), seed=3).save(tmp_path / name)
        models.append(str(tmp_path / name))
    replies = tmp_path / "replies.jsonl"
    rows = [{"id": e.id, "context": e.context, "response": e.response, "references": e.references} for e in EXAMPLES]
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found, usual = scored_with(older, replies, models), rejoinder.score(replies, models, jobs=1)
    assert found["torch"] == older
    assert {*found["openblas"]} <= {OLDER[older]["OPENBLAS_CORETYPE"]}  # none where numpy has another library
    for model in models:
        assert_same_scores(found["scores"][model], usual[model])
    if older == "DEFAULT":  # AVX2 may be what this processor has
        assert found["scores"] != {model: usual[model].tolist() for model in models}, "no bit shows other instructions"
