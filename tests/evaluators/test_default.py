"""The evaluator that comes with the package."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.reference_points import POINTS
from rejoinder.metrics.batch import Batch
from rejoinder.progress import following
from rejoinder.registry import SHIPPED_EVALUATORS, SHIPPED_FOLDERS, shipped_folder
from rejoinder.types import Example
from small_evaluators import judged
from tolerance import assert_same_scores

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
    # Good and generic replies do not differ: docs/results/default-blend.md#generic-replies says why.
    assert max(mean["off-topic"], mean["garbled"]) < min(mean["good"], mean["generic"]) - 0.5


def test_no_context_no_score_and_an_empty_reply_the_lowest(default: rejoinder.Metric) -> None:
    with pytest.warns(rejoinder.ScoreWarning):
        scores = default.score([Example("", (), FITS), Example("", CONTEXT, " ")])
    assert np.isnan(scores[0])
    assert scores[1] == 1


def test_the_order_and_the_company_of_replies_change_nothing(default: rejoinder.Metric) -> None:
    examples = [Example("", CONTEXT, text) for text in (FITS, OFF, "No.", "Who?", FITS + " " + OFF)]
    together = default.score(examples)
    assert_same_scores(default.score(examples[::-1])[::-1], together)
    assert_same_scores([default.score([example])[0] for example in examples], together)


def test_the_number_of_threads_changes_nothing(default: rejoinder.Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [Example("", (f"{number} {CONTEXT[0]}",), f"{FITS} {OFF}") for number in range(20)]  # several batches
    scores = []
    for threads in ("1", "3"):
        monkeypatch.setenv("REJOINDER_THREADS", threads)
        scores.append(default.score(examples).tolist())
    assert scores[0] == scores[1]


def test_it_reports_how_much_is_done_while_it_scores(default: rejoinder.Metric) -> None:
    shares: list[float] = []
    with following(shares.append):
        default.score([Example("", (f"{number} " + " ".join(CONTEXT * 9),), FITS) for number in range(12)])
    assert len(shares) > 1, "several batches of tokens"
    assert sum(shares) == pytest.approx(1)


def test_the_card_names_every_judged_set_whose_labels_it_saw() -> None:
    config = json.loads((shipped_folder("default") / "config.json").read_text(encoding="utf-8"))
    card = (shipped_folder("default") / "MODEL_CARD.md").read_text(encoding="utf-8")
    sets = [line["name"].removesuffix(".jsonl") for line in config["learned"]["report"]["sets"]]
    assert {"zhao2020_dailydialog", "usr_personachat", "humod", "corruptions", "mean"} <= set(sets)
    assert all(name in card for name in sets)


def test_the_former_default_gives_its_former_scores() -> None:
    former = rejoinder.load("default@1")
    assert isinstance(former, Encoder)
    scores = former.score([Example("", CONTEXT, FITS), Example("", CONTEXT, OFF)])
    assert scores.tolist() == pytest.approx([3.5603, 2.0889], abs=0.002)  # by version 0.1.0


def test_versions_are_names_and_in_the_signature(default: rejoinder.Metric) -> None:
    assert rejoinder.load("default@3") == default
    assert "title:default@3" in default.signature
    assert SHIPPED_EVALUATORS.keys() <= SHIPPED_FOLDERS.keys()
    with pytest.raises(rejoinder.CallError, match="default@3"):
        rejoinder.load("default@2")


def test_junk_after_a_good_reply_lowers_its_score(default: rejoinder.Metric) -> None:
    reply = "Not much, I was about to cook some pasta with tomatoes and basil. Are you hungry? " * 3
    junk = " ".join("lamp of seven quickly under the was blue run table" for _ in range(15))
    good, longer = default.score([Example("", CONTEXT, reply), Example("", CONTEXT, reply + junk)])
    assert longer < good - 0.1


def test_replies_that_are_not_read_whole_are_counted() -> None:
    counter = rejoinder.load("default").watcher()
    assert counter is not None
    counter.add(Batch([Example("", CONTEXT, "word " * 401), Example("", CONTEXT, "word " * 400)]))
    assert "1 reply has more than 400 words: only these were read" in counter.notes()


def test_contexts_that_are_not_read_whole_are_counted() -> None:
    first, second = (rejoinder.load("default").watcher() for _ in range(2))
    assert first is not None
    assert second is not None
    long = ("word " * 60, "word " * 60)
    first.add(Batch([Example("", CONTEXT, "Fine."), *(Example("", long, text) for text in ("Fine.", "No."))]))
    second.add(Batch([Example("", (*CONTEXT, *["short"] * 4), "Fine."), Example("", ("word " * 100,), "No.")]))
    first.merge(second.state())
    assert (
        "3 replies have a context whose last turns are too long for the network, which read only their end"
        in first.notes()
    )


def test_it_is_calibrated_by_its_name(default: rejoinder.Metric, tmp_path: Path) -> None:
    report = rejoinder.calibrate("default", judged(80), dimension="overall", output=tmp_path / "mine")
    assert report.calibration.contexts >= 20
    files = {path.name for path in (tmp_path / "mine").iterdir()}
    assert "model.int8.onnx" not in files, "the network stays in the package"
    again = rejoinder.load(tmp_path / "mine")
    assert again.signature != default.signature
    example = Example("", CONTEXT, FITS)
    assert again.score([example])[0] != default.score([example])[0]


def test_reference_points_are_in_order_and_of_this_version(default: rejoinder.Metric) -> None:
    points = {point.name: point for point in rejoinder.reference_points()}
    assert points["human replies"].low > points["generic replies"].mean
    assert points["generic replies"].mean > points["random replies"].high
    assert points["human replies"].low > points["garbled replies"].high
    saved = json.loads((shipped_folder("default") / POINTS).read_text(encoding="utf-8"))
    assert saved["signature"] == default.signature
    assert rejoinder.reference_points("default@1") == ()
    with pytest.raises(rejoinder.CallError, match="did you mean default"):
        rejoinder.reference_points("defalt")


@pytest.mark.parametrize("name", SHIPPED_EVALUATORS)
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
