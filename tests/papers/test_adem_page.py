"""The page `adem-figures`: published figures, sets, encoders that are missing, and vectors that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from papers.__main__ import main
from papers.adem import encoders, page, speed
from papers.adem.encoders import encoder_folders
from papers.adem.study import evaluators, paper_label
from papers.cache import Cache
from papers.inputs import Inputs
from papers.published.zhao2020 import FULL
from places import DOCS
from rejoinder.arrays import Vectors
from rejoinder.data.contexts import TrainedContexts
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.adem.adem import Adem
from rejoinder.models.sentence_encoders import StoredVectors, Text

SEVERAL = ("zhao2020_dailydialog", "zhao2020_personachat")
LABELS = [f"{label}, {name}" for name in encoders.ENCODERS for label in evaluators(name, "folder")]


def inputs_of(folder: Path, *, quiet: bool = True) -> Inputs:
    return Inputs(folder / "data", folder / "models", Cache(folder / "cache"), quiet)


class TestPublishedFigures:
    def test_those_of_lowe_are_beside_their_encoder_and_settings(self) -> None:
        shown = {label: page._lowe(label).removesuffix(" (Lowe et al., Twitter)") for label in LABELS}
        assert {label: figures for label, figures in shown.items() if figures} == {
            "dot, vhred": "-0.010 / -0.091",
            "adem, 7 components, sgd, vhred": "0.395 / 0.414",
            "dot, tweet2vec": "0.141 / 0.140",
            "adem, 150 components, sgd, tweet2vec": "0.411 / 0.408",
        }

    def test_those_of_zhao_are_beside_their_encoder_and_settings(self) -> None:
        beside = page._zhao(FULL)
        assert {label: beside(label) for label in LABELS if beside(label)} == {
            "adem, 50 components, hred": "0.34 / 0.36 / 0.51 (Zhao et al., HRED)"
        }

    def test_the_committed_page_has_them_there(self) -> None:
        text = (DOCS / "results" / "adem-figures.md").read_text(encoding="utf-8")
        rows = {line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if "(Lowe et al., Tw" in line}
        assert rows == set(page.LOWE_ROWS) - {"adem, 150 components, sgd, tweet2vec"}
        (zhao,) = {line.split(" | ")[0] for line in text.splitlines() if "(Zhao et al., HRED)" in line}
        assert zhao == "| adem, 50 components, hred"

    def test_the_settings_of_the_paper_are_its_preset(self) -> None:
        made = evaluators("tweet2vec", "folder")[paper_label("tweet2vec")]
        assert isinstance(made, Adem)
        assert made._given("tweet2vec") == (150, 0.01, "zero")
        assert (made.preset, made.solver) == ("paper", "sgd")


class TestSets:
    @pytest.mark.parametrize(
        ("sections", "expected"),
        [
            (["left_out"], SEVERAL),
            (["likeness"], SEVERAL),
            (["figure_7"], SEVERAL[:1]),
            (["figure_7", "left_out"], SEVERAL),
            (["amounts"], page.SETS),
            (list(page.SECTIONS), page.SETS),
        ],
    )
    def test_a_section_reads_only_the_sets_that_it_uses(self, sections: list[str], expected: tuple[str, ...]) -> None:
        assert page.used_sets(page.SETS, sections) == expected

    def test_a_section_without_a_set_says_which_it_needs(self) -> None:
        with pytest.raises(CallError, match="left_out: expected zhao2020_dailydialog or zhao2020_personachat among"):
            page.used_sets(("humod",), ["left_out"])


class TestMissingEncoders:
    def test_a_missing_encoder_says_what_to_save(self, tmp_path: Path) -> None:
        with pytest.raises(CallError, match=r"minilm does not exist: save all-MiniLM-L6-v2 there, or name another"):
            encoder_folders(inputs_of(tmp_path), ["minilm"])
        with pytest.raises(CallError, match=r"vhred does not exist: save a trained vhred there"):
            encoder_folders(inputs_of(tmp_path), ["vhred"])
        with pytest.raises(CallError, match=r"has no encoder: expected one of .*minilm; save all-MiniLM-L6-v2 as"):
            encoder_folders(inputs_of(tmp_path))

    def test_an_unknown_encoder_lists_the_known_ones(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match="known: hred, minilm, tweet2vec, vhred"):
            encoder_folders(inputs_of(tmp_path), ["foo"])

    @pytest.mark.parametrize("name", ["adem-figures", "adem-table-5", "adem-table-11"])
    def test_it_is_said_before_anything_is_read(
        self, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        where = ["--data", str(tmp_path / "none"), "--models", str(tmp_path), "-o", str(tmp_path / "page.md")]
        assert main([name, *where]) == 2
        error = capsys.readouterr().err
        assert "or name another folder with --models" in error
        assert error.count("\n") == 1

    def test_the_time_of_an_encoder_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(CallError, match="does not exist: save all-MiniLM-L6-v2 there"):
            speed.make(inputs_of(tmp_path), speed.Settings(), ("table_11",))


@dataclass
class LengthEncoder:
    """Encodes a text as its length, and fails at a call."""

    fails_at: int | None = None
    signature: str = "length|1"
    trained_contexts: TrainedContexts = field(default_factory=TrainedContexts)
    calls: list[list[Text]] = field(default_factory=list)

    def encode(self, texts: Sequence[Text]) -> Vectors:
        if len(self.calls) == self.fails_at:
            raise KeyboardInterrupt
        self.calls.append(list(texts))
        return np.array([[len("".join(text))] for text in texts], np.float32)


class TestStoredVectors:
    @pytest.fixture(autouse=True)
    def small_chunks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(encoders, "CHUNK", 2)

    def encoded(self, monkeypatch: pytest.MonkeyPatch, folder: Path, encoder: LengthEncoder, count: int) -> None:
        monkeypatch.setattr(encoders, "sentence_encoder", lambda _: encoder)
        (folder / "models" / "minilm").mkdir(parents=True, exist_ok=True)
        examples = [SimpleNamespace(response="x" * n, references=[], context=("hello",)) for n in range(1, count)]
        judged = SimpleNamespace(examples=examples)
        encoders.stored_encoders(inputs_of(folder, quiet=False), [judged], ["minilm"])  # type: ignore[list-item]

    def test_an_interrupted_run_resumes(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            self.encoded(monkeypatch, tmp_path, LengthEncoder(fails_at=2), count=7)
        resumed = LengthEncoder()
        self.encoded(monkeypatch, tmp_path, resumed, count=7)
        assert resumed.calls == [["xxxx", "xxxxx"], ["xxxxxx"]], "the first four texts were saved"
        stored = StoredVectors.load(tmp_path / "cache" / "vectors" / "minilm")
        assert stored.encode(["x", "hello", "xxxxxx"]).ravel().tolist() == [1, 5, 6]
        assert "minilm: 2 of 3 texts encoded" in capsys.readouterr().err

    def test_vectors_of_other_texts_are_kept(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.encoded(monkeypatch, tmp_path, LengthEncoder(), count=7)
        self.encoded(monkeypatch, tmp_path, LengthEncoder(), count=3)
        again = LengthEncoder()
        self.encoded(monkeypatch, tmp_path, again, count=8)
        assert again.calls == [["xxxxxxx"]]

    def test_vectors_of_another_encoder_are_not_used(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.encoded(monkeypatch, tmp_path, LengthEncoder(), count=3)
        other = LengthEncoder(signature="length|2")
        self.encoded(monkeypatch, tmp_path, other, count=3)
        assert sum(map(len, other.calls)) == 3
