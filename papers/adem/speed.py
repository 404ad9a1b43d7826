"""The page `adem-speed`: the time that ADEM takes to score as many replies as Lowe et al. 2017 tested (Table 11)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from papers.documents import Document
from papers.inputs import Inputs
from papers.published.adem import TABLE_11, TEST_REPLIES
from papers.published.zhao2020 import DAILYDIALOG
from rejoinder.evaluators.adem.adem import PAPER_PRESET, Adem

SECTIONS = ("table_11",)

INTRODUCTION = f"""\
# ADEM: time to score

Table 11 of Lowe et al. 2017 gives the time that ADEM takes for their {TEST_REPLIES} test replies, including encoding.
Ours is the time for as many judged replies of zhao2020_dailydialog, with the paper's preset, fitted on the other
replies of the set. It is processor time, which hardly depends on what else the machine does; a text that occurs twice
is encoded once. Encoder and machine differ from the paper's, whose encoder is a VHRED with 2,000 context units."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Which encoders are timed."""

    encoders: tuple[str, ...] = ("minilm",)
    """Folders of sentence encoders, in the folder of models."""


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:  # noqa: ARG001
    """One row per encoder, next to the paper's."""
    folders = [inputs.model(name) for name in settings.encoders]
    judged = inputs.judged(DAILYDIALOG).judged_examples()
    tested = [item.example for item in judged[:TEST_REPLIES]]
    rows = [
        [f"Lowe et al. 2017, {device}", f"{TEST_REPLIES}", f"{value:,.0f}"]
        for device, value in TABLE_11.column("seconds").items()
    ]
    for folder in folders:
        evaluator = Adem(encoder=str(folder), preset=PAPER_PRESET).fit((), judged[TEST_REPLIES:] or judged)
        evaluator.score(tested[:1])  # what is loaded on first use
        before = time.process_time()
        evaluator.score(tested)
        rows.append([f"ours, {folder.name}, CPU", str(len(tested)), f"{time.process_time() - before:,.1f}"])
    document = Document("adem-speed")
    document.text(INTRODUCTION)
    document.table(["", "replies", "seconds"], rows)
    return document
