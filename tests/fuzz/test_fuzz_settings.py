"""Whatever a score file, a study, a metric's name or a GGUF file contains: a result, or a short RejoinderError."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from fuzzing import damaged, fuzz, mutated
from rejoinder.errors import LONGEST_MESSAGE, CallError, RejoinderError
from rejoinder.folders.outputs import UnfinishedRows, content_digest
from rejoinder.registry import load
from rejoinder.replies.pool import _finished_tally
from rejoinder.scoring.score_file import ScoreFile, read_score_file
from rejoinder.specs import format_spec, parse_spec

pytestmark = pytest.mark.slow


def check_error(error: RejoinderError) -> None:
    """The caller can put it right, and the message is short."""
    assert error.exit_code == 2
    assert 0 < len(str(error)) <= LONGEST_MESSAGE


SCORES = b'{"id": "1", "system": "a", "bleu": 0.5, "bleu.low": 0.1}\n{"id": "2", "system": "b", "bleu": null}\n'
META = (
    b'{"scores": "a.jsonl", "data": {"digest": "x"}, "signatures": {"bleu": "bleu|n:4"}, "ranges": {"bleu": [0, null]},'
    b' "summary": {"bleu": {"a": {"corpus": 0.5}}}, "higher_is_better": {"bleu": true}, "warnings": ["w"], "seed": 3,'
    b' "resamples": 10}'
)


def test_score_files(tmp_path: Path) -> None:
    scores, meta = tmp_path / "a.jsonl", tmp_path / "a.meta.json"
    tokens = [b'"id": ', b'"system": ', b'"bleu": ', b"null", b"true", b"{}", b'"seed": ', b'"resamples": ', b"[1, 2]"]

    def target(files: tuple[bytes, bytes]) -> None:
        scores.write_bytes(files[0])
        meta.write_bytes(files[1])
        try:
            str(read_score_file(scores))
        except RejoinderError as error:
            check_error(error)

    fuzz(
        st.tuples(mutated([SCORES], tokens), st.just(META)) | st.tuples(st.just(SCORES), mutated([META], tokens)),
        target,
    )


RUN = {
    "version": "1",
    "digest": "x",
    "seed": 0,
    "intervals": False,
    "by": ["topic"],
    "signatures": {"bleu": "bleu|n:4|v:1", "m": "m"},
}


@pytest.mark.parametrize("state", ["finished", "unfinished", "replies"])
def test_records_of_runs(state: str, tmp_path: Path) -> None:
    """A damaged record is refused with one short line, unless all of it that is compared is as it was."""
    target = tmp_path / "a.jsonl"
    target.write_bytes(SCORES)
    rows = UnfinishedRows(target)
    if state == "unfinished":
        rows.start(RUN)
        path = rows.state
    else:
        path = tmp_path / ("a.meta.json" if state == "finished" else "a.pool.json")
        about = {"run": RUN, "content": content_digest(target), "signatures": {}, "systems": {"a": {"replies": 1}}}
        path.write_text(json.dumps(about))
    plain = json.loads(path.read_text())

    def resume(content: Any) -> None:
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        try:
            if state == "finished":
                ScoreFile(target).check_finished(RUN)
            elif state == "replies":
                _finished_tally(target, RUN)
            else:
                ScoreFile(target).restore(RUN, {"bleu": np.zeros(2)}, 2)
        except RejoinderError as error:
            check_error(error)
            return
        found = json.loads(path.read_bytes())
        assert found.get("run", {key: found[key] for key in RUN if key in found}) == RUN
        assert target.read_bytes() == SCORES

    names = [*RUN, "run", "content", "rejoinder"]
    fuzz(damaged([plain], names) | mutated([path.read_bytes()], [b'"run": ', b"null", b"[]", b"{}"]), resume)


def test_score_tables(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["1", "2"], "system": ["a", "b"], "bleu": [0.5, None]})
    frame.write_parquet(tmp_path / "good.parquet", metadata={"rejoinder": META.decode()})
    files = {
        tmp_path / "a.csv": b"id,system,bleu\n1,a,0.5\n2,b,\n",
        tmp_path / "a.parquet": (tmp_path / "good.parquet").read_bytes(),
    }

    def target(case: tuple[Path, bytes]) -> None:
        path, content = case
        path.write_bytes(content)
        try:
            str(read_score_file(path))
        except RejoinderError as error:
            check_error(error)

    fuzz(st.one_of(*(st.tuples(st.just(path), mutated([content], [])) for path, content in files.items())), target)


def test_studies(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="needs the extra annotate")
    from rejoinder.people.study import read_study, study_text

    path = tmp_path / "study.toml"
    plain = study_text(Path("replies.jsonl"), 20).encode()
    tokens = [b"[[questions]]\n", b"[checks]\n", b'kind = "choice"', b"seed = ", b"=", b'"', b"'''", b"inf", b"true"]

    def target(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read_study(path)
        except RejoinderError as error:
            check_error(error)

    fuzz(mutated([plain], tokens), target)


def test_names_of_metrics() -> None:
    tokens = [b"(", b")", b"[", b"]", b",", b"=", b"'", b'"', b"\\", b"n=", b"none", b"1e5", b"bleu", b"ensemble"]
    names = [b"bleu(n=2, smooth=exp)", b"ensemble(members=[default, bleu(n=2), 'a, b'], weights=(2, 1, 1))", b"cider"]

    def target(content: bytes) -> None:
        text = content.decode("utf-8", "surrogateescape")
        try:
            name, parameters = parse_spec(text)
            assert parse_spec(format_spec(name, parameters)) == (name, parameters)
            load(text)
        except CallError as error:
            check_error(error)

    fuzz(mutated(names, tokens), target)


def test_gguf(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="needs what training needs")
    from rejoinder.models.causal import CausalModel

    path = tmp_path / "a.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(8)
    writer.add_embedding_length(4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    plain = path.read_bytes()

    def target(content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(CallError) as caught:  # it holds no weights, whatever else it holds
            CausalModel.load(str(path))
        check_error(caught.value)

    fuzz(mutated([plain], [b"GGUF", b"\xff" * 8, b"general.architecture", b"llama"]), target)
