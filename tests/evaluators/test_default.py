"""The evaluator that comes with the package."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

import rejoinder
from rejoinder.registry import SHIPPED, shipped_folder
from rejoinder.types import Example

LARGEST = 30_000_000

CONTEXT = ("Hi! What are you doing tonight?",)
FITS = "Not much, I was about to cook. Are you hungry?"
OFF = "The engine of this car has four cylinders."


@pytest.fixture(scope="module")
def default() -> rejoinder.Metric:
    found: rejoinder.Metric = rejoinder.load("default")
    return found


def test_a_fitting_reply_is_above_one_that_does_not_fit(default: rejoinder.Metric) -> None:
    fits, off = default.score([Example("", CONTEXT, FITS), Example("", CONTEXT, OFF)])
    assert 1 <= off < fits <= 5


def test_it_tells_the_bundled_systems_apart(default: rejoinder.Metric) -> None:
    lines = files("rejoinder").joinpath("examples/demo.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    scores = default.score([Example("", tuple(row["context"]), row["response"]) for row in rows])
    mean = {
        system: np.nanmean([score for score, row in zip(scores, rows, strict=True) if row["system"] == system])
        for system in ("good", "generic", "off-topic", "garbled")
    }
    assert mean["off-topic"] < mean["generic"] < mean["good"]
    assert mean["garbled"] < mean["good"]


def test_no_context_no_score_and_an_empty_reply_the_lowest(default: rejoinder.Metric) -> None:
    with pytest.warns(rejoinder.ScoreWarning):
        scores = default.score([Example("", (), FITS), Example("", CONTEXT, " ")])
    assert np.isnan(scores[0])
    assert scores[1] == 1


def test_the_order_and_the_company_of_replies_change_nothing(default: rejoinder.Metric) -> None:
    examples = [Example("", CONTEXT, text) for text in (FITS, OFF, "No.", "Who?", FITS + " " + OFF)]
    together = default.score(examples)
    assert default.score(examples[::-1])[::-1] == pytest.approx(together, abs=1e-5)
    assert [float(default.score([example])[0]) for example in examples] == pytest.approx(together, abs=1e-4)


def test_the_card_names_every_judged_set_whose_labels_it_saw() -> None:
    config = json.loads((shipped_folder("default") / "config.json").read_text(encoding="utf-8"))
    card = (shipped_folder("default") / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert config["fit"]["judged"] > 0
    assert all(name in card for name in ("conture_turn", "engage_dailydialog", "dailydialogpp_dev"))


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_small_and_has_a_card(name: str) -> None:
    folder = shipped_folder(name)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= LARGEST
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert all(part in card for part in ("Licence", "Trained on", "Known failures", "How to make it"))


def test_nothing_but_the_core_is_imported() -> None:
    blocked = "import sys\nfor name in ('torch', 'transformers', 'onnx', 'sklearn'): sys.modules[name] = None\n"
    code = "import rejoinder\nfrom rejoinder.types import Example\n"
    code += f"print(rejoinder.load('default').score([Example('', {CONTEXT!r}, {FITS!r})])[0])"
    done = subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True, check=True)
    assert 1 <= float(done.stdout) <= 5
