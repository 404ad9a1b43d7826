"""Whatever a file contains, a reader gives records or a RejoinderError with a short message."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from checked_reading import check_example, only_our_errors
from fuzzing import fuzz, mutated, repeating
from rejoinder.data.dialogues import DialogueSource, UnansweredSource
from rejoinder.data.judged import JudgedSource, PreferenceSource
from rejoinder.data.source import Source, survey
from rejoinder.errors import DataError
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.models.arpa import read_arpa
from rejoinder.options import OnError
from rejoinder.registry import metrics_of_file
from rejoinder.text.vectors import load_vectors

pytestmark = pytest.mark.slow

RECORDS: list[dict[str, Any]] = [
    {"id": "1", "context": ["hi", "hello"], "response": "how are you", "references": ["fine", "and you?"]},
    {"id": 2, "context": "one\ntwo", "response": "three", "reference": "four", "system": "A", "speakers": ["x", "y"]},
    {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"text": "yo"}, "!"]}]},
    {"response": "ok", "scores": {"fluency": [1, 2.5, None]}, "split": "test", "context_id": "c", "dialogue_id": 7},
    {"turns": ["a", "b", "c"], "speakers": ["x", "y", "x"], "id": "d", "response": "e", "scores": 3},
]


def read_by_every_source(path: Path) -> None:
    """Read a file as examples, judged examples, preferences, contexts and dialogues."""
    for kind in (Source, JudgedSource, PreferenceSource, UnansweredSource):
        with only_our_errors():
            strict = list(kind(path))
            lenient = kind(path, on_error="skip")
            assert (list(lenient), lenient.skipped) == (strict, {})
            survey(kind(path))
        with only_our_errors():
            for example in kind(path, on_error="skip"):
                check_example(example)
    with only_our_errors():
        list(JudgedSource(path, on_error="skip").judged())
    for on_error in ("raise", "skip"):
        with only_our_errors():
            list(DialogueSource(path, on_error=on_error))


def writing(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """What writes a file and reads it."""

    def target(content: bytes) -> None:
        path.write_bytes(content)
        with only_our_errors():
            read(path)

    return target


def test_json_lines(tmp_path: Path) -> None:
    plain = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
    tokens = [
        b'"',
        b"\\",
        b'"id": ',
        b'"response": ',
        b'"scores": ',
        b'"messages": [',
        b"null",
        b"true",
        b"{}",
        b'"\\ud83d"',
    ]
    fuzz(mutated([plain, gzip.compress(plain)], tokens), writing(tmp_path / "a.jsonl", read_by_every_source))


def test_a_key_twice(tmp_path: Path) -> None:
    lines, array = tmp_path / "a.jsonl", tmp_path / "a.json"

    def target(text: str) -> None:
        lines.write_text(f"{json.dumps(RECORDS[0])}\n{text}\n")
        array.write_text(f"[{json.dumps(RECORDS[0])},\n{text}]")
        for path in (lines, array):
            with pytest.raises(DataError, match=r":2: names the key .* twice"):
                list(Source(path))
            source = Source(path, on_error="skip")
            assert (len(list(source)), len(source.skipped)) == (1, 1)

    fuzz(repeating(RECORDS), target)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_tables(suffix: str, tmp_path: Path) -> None:
    plain = (
        b"id,response,references,scores,turns,context\n"
        b'1,hi,"[""a"", ""b""]","[1, 2]","[""a"", ""b""]","one\ntwo"\n'
        b'2,"a, ""quoted""\nreply",x,"{""f"": [1, null]}",,"[""one""]"\n'
        b"3,yo,,4,,\n"
    )
    tokens = [b'"', b'""', b",", b'"\n', b"\n\n", b"[[", b'"[[[', b"response", b"\r\n"]
    files = [plain.replace(b",", b"\t") if suffix == ".tsv" else plain]
    fuzz(mutated(files, tokens), writing(tmp_path / f"a{suffix}", read_by_every_source))


CELLS = st.text(st.sampled_from('ab",\n xé'), max_size=8)


@st.composite
def tables_with_bad_bytes(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """Replies, and their table with letters replaced by bytes that cannot be decoded."""
    replies = draw(st.lists(CELLS, min_size=1, max_size=6))
    rows = [f'r{number},"{reply.replace(chr(34), chr(34) * 2)}"\n' for number, reply in enumerate(replies)]
    body = bytearray("".join(rows).encode())
    letters = [at for at, byte in enumerate(body) if byte in b"abx"]
    for at in draw(st.lists(st.sampled_from(letters), max_size=4)) if letters else []:
        body[at] = draw(st.sampled_from([0x00, 0xFF, 0xE9]))
    return replies, b"id,response\n" + bytes(body)


def test_bad_bytes_in_a_table_make_no_new_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"

    def target(case: tuple[list[str], bytes]) -> None:
        replies, content = case
        path.write_bytes(content)
        with only_our_errors():
            known = {(f"r{number}", reply) for number, reply in enumerate(replies)}
            source = Source(path, on_error="skip")
            read = [(example.id, example.response) for example in source]
            assert set(read) <= known
            assert len(read) + len(source.skipped) == len(replies)

    fuzz(tables_with_bad_bytes(), target)


def test_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "id": [str(number) for number in range(40)],
            "response": [f"reply {number}" for number in range(40)],
            "references": [["a", "b"]] * 40,
            "scores": [{"fluency": 1.0}] * 40,
            "turns": [["a", "b"]] * 40,
        }
    )
    files = []
    for compression in ("zstd", "uncompressed"):
        written = io.BytesIO()
        frame.write_parquet(written, compression=compression)
        files.append(written.getvalue())
    fuzz(mutated(files, [b"PAR1", b"\x80", b"\x15\x00"]), writing(tmp_path / "a.parquet", read_by_every_source))


def test_toml(tmp_path: Path) -> None:
    plain = b"""
[metrics.bleu]
n = 2
smooth = "none"
[metrics.strict]
metric = "bleu"
smooth_value = 0.5
effective_order = false
[metrics.cider]
sigma = 6.0
[metrics.chrf]
beta = 2
"""
    tokens = [
        b"[",
        b"]",
        b"=",
        b'"',
        b"'''",
        b"[metrics.",
        b"metric = ",
        b"[[",
        b"{",
        b"1979-05-27",
        b"inf",
        b"0x",
        b"metrics",
    ]
    fuzz(mutated([plain], tokens), writing(tmp_path / "a.toml", lambda path: metrics_of_file(str(path))))


ARPA = rb"""\data\
ngram 1=4
ngram 2=2

\1-grams:
-1.0	<unk>	0
-99	<s>	-0.3
-0.5	</s>
-0.7	hi	-0.2

\2-grams:
-0.2	<s> hi
-0.4	hi </s>

\end\
"""


def test_arpa(tmp_path: Path) -> None:
    def read(path: Path) -> None:
        model = read_arpa(path)
        logs = [level.log_prob for level in model.levels] + [level.back_off for level in model.levels]
        assert not np.isnan(np.concatenate(logs)).any()

    tokens = [b"ngram 3=1", b"\\3-grams:", b"\\data\\", b"\\end\\", b"<unk>", b"-inf", b"=", b"hi hi"]
    fuzz(mutated([ARPA], tokens), writing(tmp_path / "a.arpa", read))
    fuzz(mutated([gzip.compress(ARPA)], tokens), writing(tmp_path / "a.arpa.gz", read))


def test_word_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path / "cache"))

    def read(path: Path) -> None:
        vectors = load_vectors(path, quiet=True)
        assert np.isfinite(vectors.matrix).all()
        assert len(vectors.lookup(["the", "x"])) == 2

    numbers = np.arange(6, dtype="<f4").reshape(3, 2)
    text = b"the 0.1 0.2\nof 1 2\nx -1e3 5\n"
    binary = b"3 2\n" + b"".join(b"w%d " % row + numbers[row].tobytes() for row in range(3))
    fuzz(
        mutated([text, b"3 2\n" + text, binary], [b"3 2\n", b"1 60000\n", b"the ", b" 1"]),
        writing(tmp_path / "v", read),
    )


def test_paraphrase_tables(tmp_path: Path) -> None:
    plain = b"0.5\nthank you\nthanks\n0.1\na lot\nmuch\n"
    ParaphraseTable.read(_written(tmp_path / "good.gz", gzip.compress(plain))).save(tmp_path / "good.npz")
    saved = (tmp_path / "good.npz").read_bytes()
    packed = mutated([plain], [b"0.5\n", b"\n\n"]).map(gzip.compress)
    fuzz(st.one_of(packed, mutated([gzip.compress(plain)], [])), writing(tmp_path / "a.gz", ParaphraseTable.read))
    fuzz(
        mutated([saved], [b"\x93NUMPY", b"(2,)", b"'<i8'", b"'|O'"]), writing(tmp_path / "a.npz", ParaphraseTable.read)
    )


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_records_in_memory(on_error: OnError) -> None:
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**4000),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
    names = st.sampled_from(
        ["id", "context", "response", "references", "system", "speakers", "messages", "scores", "split"]
    )

    def target(records: list[Any]) -> None:
        with only_our_errors():
            for example in JudgedSource(records, on_error=on_error):
                check_example(example)

    fuzz(st.lists(st.dictionaries(names, values, max_size=6) | values, max_size=4), target)
