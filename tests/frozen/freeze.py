"""What the package computes and prints, as files: the list of what is frozen, and the script that writes it.

    python tests/frozen/freeze.py FOLDER     write all frozen files of the rejoinder that Python finds

`make frozen` runs this script on the commit named in `commit` and on the current one, and compares the bytes. To
freeze a later commit, write its hash to `commit`, run `make frozen`, and copy build/frozen/then over this folder.

Only the public API and the command line are used here, so that modules may move. The help of all verbs is not stored
a second time: docs/reference/cli.md has it, and tests/test_public_names.py compares it. Versions, times, addresses
and hashes of weights are replaced by fixed words.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FROZEN = Path(__file__).resolve().parent
SUPPORT = FROZEN.parent / "support"

METRICS = (
    *("bleu", "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "rouge-l-f1", "meteor", "cider", "cider-d"),
    *("cider-plain", "chrf", "embedding-average", "vector-extrema", "greedy-matching", "distinct", "distinct-1"),
    *("distinct-2", "repetition", "specificity", "pm", "length", "fluency", "ruber-pool"),
)
"""Every name of a metric that needs no training. A name that is added is added here."""
BUNDLED = ("default", "default-fast", "default@1")
"""The evaluators that come with the package; `default` takes most of the time."""


@dataclass(frozen=True)
class Run:
    """One command of the command line, and the forms of its result that are frozen."""

    name: str
    arguments: str
    forms: str = "txt json"
    """Of txt, json, tex (--latex) and html (--report)."""
    writes: tuple[str, ...] = ()
    """Files that the command writes, which are frozen as well."""
    after: tuple[str, ...] = ()
    """Runs that write what it reads."""
    within: float = 0.0
    """How far its numbers may be from the frozen ones on another processor, where this is more than the tolerance of
    docs/reference/determinism.md: scores that are equal but for rounding are tied on one processor and not on another,
    which changes rank correlations of few systems and their resampled intervals."""


COMPARISON = "txt json tex html"
BLEND = "blend(members=[length,chrf],models=[ridge])"
FEW = "--resamples 200"
RUNS = (
    Run("check", "check replies.jsonl"),
    Run("score", f"score few.jsonl -m bleu -m meteor -m distinct -m length {FEW} -o scores.jsonl", "txt json html",
        ("scores.jsonl",)),
    Run("score-by", f"score few.jsonl -m default-fast -m cider -m ruber-pool --by length {FEW}"),
    Run("score-default", "score old.jsonl -m default --intervals -o intervals.csv", writes=("intervals.csv",)),
    Run("compare-two", "compare old.jsonl new.jsonl -m meteor -m length --margin 0.05 --by turns", COMPARISON),
    Run("compare-four", f"compare few.jsonl -m chrf -m bleu -m distinct-2 -m default-fast --details {FEW}", COMPARISON),
    Run("compare-default", "compare old.jsonl new.jsonl -m default --fail-if not-better --no-texts"),
    Run("compare-labels", "compare two.jsonl -m rouge-l --labels labels.jsonl --margin 0.5", COMPARISON),
    Run("compare-scores", "compare --scores numbers.csv", COMPARISON),
    Run("compare-judge", "compare old.jsonl new.jsonl --pairwise judge(model=m,url=JUDGE,retries=0)", "txt json tex"),
    Run("meta", f"trust judged.jsonl -m meteor -m length -m ruber-pool --probe all {FEW}", COMPARISON),
    Run("meta-scores", f"trust few.jsonl --field scores=ratings --scores scores.jsonl --dimension style {FEW}",
        after=("score",), within=0.1),
    Run("meta-pooled", f"trust judged.jsonl other.jsonl -m bleu-2 -m chrf {FEW}", COMPARISON, within=0.1),
    Run("plan", "plan judged.jsonl --difference 0.3 --systems 3", COMPARISON),
    Run("plan-width", "plan --correlation 0.4", "txt json"),
    Run("agree", f"agree judged.jsonl --aggregation mace -o agreed.jsonl {FEW}", writes=("agreed.jsonl",)),
    Run("prefer", "prefer preferences.jsonl", "txt json tex"),
    Run("sample", "sample few.jsonl --labels 24 --scores scores.jsonl -o chosen.jsonl", writes=("chosen.jsonl",),
        after=("score",)),
    Run("history-first", "history releases --add old.jsonl --name 1.0 -m chrf -m default-fast", "txt"),
    Run("history-second", "history releases --add new.jsonl --name 1.1 -m chrf -m default-fast", "txt",
        after=("history-first",)),
    Run("history", "history releases", "txt json html", after=("history-first", "history-second")),
    Run("compare-baseline", "compare --baseline releases/1.0.jsonl new.jsonl", after=("history-first",)),
    Run("experiment", f"experiment cross-validation --evaluator {BLEND} --judged judged.jsonl --folds 3 {FEW}",
        COMPARISON),
    Run("train", "train blend --judged judged.jsonl --members length chrf --models ridge -o trained", "txt"),
    Run("score-trained", "score old.jsonl -m trained", after=("train",)),
    Run("calibrate", "calibrate default-fast --judged many.jsonl -o calibrated"),
    Run("generate", "generate contexts.jsonl --model folders/bm25 -o replied.jsonl", writes=("replied.jsonl",)),
    Run("convert", "convert chats.json -o converted.jsonl --every-turn", writes=("converted.jsonl",)),
    Run("metrics", "metrics"),
    Run("metrics-meteor", "metrics meteor"),
)  # fmt: skip
"""Each after those whose files it reads."""
IMPORTING = (
    *("check", "score", "score-trained", "compare-two", "compare-default", "compare-judge", "meta", "plan", "agree"),
    *("prefer", "sample", "history", "experiment", "train", "calibrate", "generate", "convert", "metrics"),
)
"""The runs whose imports are recorded, each in a process of its own."""

WATCHED = (
    *("accelerate", "datasets", "faiss", "gensim", "gguf", "httptools", "httpx2", "itsdangerous", "jieba", "jinja2"),
    *("nltk", "numpy", "onnx", "onnxruntime", "pandas", "polars", "psycopg", "pyarrow", "rapidfuzz", "ray"),
    *("safetensors", "scipy", "sklearn", "starlette", "tokenizers", "torch", "tqdm", "transformers", "uvicorn"),
    *("xlsxwriter", "zstandard"),
)
"""The packages whose import is recorded."""

FOLDER_EXAMPLES = (
    {"id": "1", "context": ["how are you", "fine and you"], "response": "very well",
     "references": ["fine and you", "very well thanks"]},
    {"id": "2", "context": ["Would you like some tea?"], "response": "Green tea, please!", "references": ["Yes, tea."]},
    {"id": "3", "context": ["hello"], "response": "word word word", "references": ["how are you"]},
)  # fmt: skip
"""What the saved folders score, reply to or encode."""


def outputs(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every frozen file that can be computed, by its path within this folder; works in an empty folder."""
    yield "scores.tsv", scores_table(*scores())
    yield "folders.json", _json({name: used(FROZEN / "folders" / name) for name in folder_names()})
    keys = []
    for run in RUNS:
        for path, content in run_outputs(run, folder):
            yield path, content
            if path.endswith(".json"):
                keys.append(keys_section(run, content))
    yield "keys.txt", "\n\n".join(keys).encode()
    yield (
        "imports.json",
        _json(
            {
                "help": imports_of_help(),
                "runs": {run.name: imports_of(run, folder) for run in RUNS if run.name in IMPORTING},
            }
        ),
    )


# Scores.


def scores(names: Sequence[str] = (*METRICS, *BUNDLED)) -> tuple[list[str], dict[str, str], dict[str, Any]]:
    """Ids of the replies, signature of each metric, and its scores."""
    import rejoinder

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rejoinder.ScoreWarning)
        table = rejoinder.score(rejoinder.read(FROZEN / "replies.jsonl"), list(names), jobs=1)
    signatures = {name: stable(signature) for name, signature in table.signatures.items()}
    return [str(one) for one in table.ids], signatures, dict(table.scores)


def scores_table(ids: Sequence[str], signatures: Mapping[str, str], columns: Mapping[str, Any]) -> bytes:
    """A line of names, one of signatures, and one per reply, with all digits."""
    lines = [["id", *columns], ["signature", *(signatures[name] for name in columns)]]
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines += [[one, *map(repr, row)] for one, row in zip(ids, rows, strict=True)]
    return "".join("\t".join(line) + "\n" for line in lines).encode()


# Saved folders: written once, by the commit that was frozen, and never again.


def folder_names() -> list[str]:
    """The kinds of folders that are kept here."""
    return sorted(path.name for path in (FROZEN / "folders").iterdir())


def used(folder: Path) -> dict[str, Any]:
    """What the model of a folder computes for a few examples."""
    import rejoinder

    model = rejoinder.load(folder)
    examples = list(rejoinder.read(list(FOLDER_EXAMPLES)))
    if hasattr(model, "reply"):
        return {"replies": model.reply([example.context for example in examples])}
    if hasattr(model, "score"):
        return {"signature": stable(model.signature), "scores": model.score(examples).tolist()}
    return {"vectors": model.encode(["very well", "fine and you"]).tolist()}


# Runs of the command line.


def run_outputs(run: Run, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Each form of a run's result, after the runs that it needs, if they have not been run in this folder."""
    prepare(run, folder)
    (folder / f"{run.name}.run").touch()
    forms = run.forms.split()
    for form in forms:
        if form == "html":
            continue
        more = {"json": ["--json"], "tex": ["--latex"], "txt": []}[form]
        if form == "txt" and "html" in forms:
            more = ["--report", f"{run.name}.html"]
        code, out, err = command([*arguments_of(run), *more], folder)
        if form == "txt":
            out = f"exit code {code}\n{out}\n{err}"
        yield f"runs/{run.name}.{form}", stable(out).encode()
    if "html" in forms:
        page = stable((folder / f"{run.name}.html").read_text(encoding="utf-8"))
        yield f"runs/{run.name}.html.gz", gzip.compress(page.encode(), mtime=0)
    for name in run.writes:
        yield f"runs/{run.name}.{name}", stable((folder / name).read_text(encoding="utf-8")).encode()


FORMER = {"trust": "meta", "--probe": "--study", "--aggregation": "--aggregate"}
"""Present words of commands -> those of the frozen commit."""


def prepare(run: Run, folder: Path) -> None:
    """Write what a run reads, where the folder does not have it yet."""
    write_inputs(folder)
    for earlier in RUNS:
        if earlier.name in run.after and not (folder / f"{earlier.name}.run").exists():
            list(run_outputs(earlier, folder))


def arguments_of(run: Run) -> list[str]:
    """The arguments of a run, with the address of a judge where it needs one."""
    from rejoinder.cli import VERBS

    words = run.arguments
    if "trust" not in VERBS:  # the frozen commit has the former names
        for present, former in FORMER.items():
            words = words.replace(f"{present} ", f"{former} ")
    return [part.replace("JUDGE", judge_address()) for part in words.split()]


def command(arguments: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command, run in this process as `python -m rejoinder`."""
    import rejoinder

    # Not runpy.run_module: the importer of pytest, which loads this package as a plug-in, does not serve it.
    main = str(Path(rejoinder.__file__).with_name("__main__.py"))
    out, err = io.StringIO(), io.StringIO()
    given, environment = sys.argv, dict(os.environ)
    os.environ |= {"COLUMNS": "100", "XDG_CACHE_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    sys.argv = ["rejoinder", *arguments]
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_path(main, run_name="__main__")
        code = 0
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    finally:
        sys.argv = given
        os.environ.clear()
        os.environ.update(environment)
    return code, out.getvalue(), err.getvalue()


def stable(text: str) -> str:
    """The text without what differs between two runs or two versions: version, times, the judge's port."""
    import rejoinder

    text = re.sub(rf"(?<![\d.]){re.escape(rejoinder.__version__)}(?!\d|\.\d)", "VERSION", text)
    text = re.sub(r"\bv:\d[\w.]*", "v:VERSION", text)  # in signatures
    text = re.sub(r"weights:[0-9a-f]{12}", "weights:HASH", text)
    text = re.sub(r"(?<=\w@)[0-9a-f]{12}", "HASH", text)  # of encoders, whose signatures contain the version
    text = re.sub(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?)?", "TIME", text)
    return re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)


def keys_section(run: Run, content: bytes) -> str:
    """The keys of a result, one per line."""
    return "\n    ".join([run.name, *key_paths(json.loads(content))])


def key_paths(value: Any, path: str = "") -> list[str]:
    """The paths of all keys of a JSON value, sorted; the items of a list share one path."""
    if isinstance(value, dict):
        inside = [key_paths(item, f"{path}.{key}" if path else key) for key, item in value.items()]
        return sorted({*([path] if path else []), *(one for paths in inside for one in paths)})
    if isinstance(value, list):
        return sorted({path, *(one for item in value for one in key_paths(item, f"{path}[]"))})
    return [path]


def write_inputs(folder: Path) -> None:
    """The files that the runs read, made of the first sixteen contexts and their four systems."""
    if (folder / "replies.jsonl").exists():
        return
    shutil.copyfile(FROZEN / "replies.jsonl", folder / "replies.jsonl")
    shutil.copytree(FROZEN / "folders" / "bm25", folder / "folders" / "bm25")
    lines = (FROZEN / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    everything = [json.loads(line) for line in lines[:256]]
    few, later = everything[:64], everything[64:128]
    old, new = ([record for record in few if record["system"] == name] for name in ("generic", "good"))
    rated = [record | {"scores": {"overall": _ratings(record)}} for record in few]
    splits = ("train", "train", "train", "valid", "test")
    files: dict[str, list[dict[str, Any]]] = {
        "few.jsonl": [record | {"ratings": {"style": _ratings(record, "style")[0]}} for record in few],
        "old.jsonl": old,
        "new.jsonl": new,
        "two.jsonl": old + new,
        "judged.jsonl": [one | {"split": splits[row // 4 % 5], "raters": ["ann", "bo", "cy"]}
                         for row, one in enumerate(rated)],
        "other.jsonl": [record | {"scores": {"overall": _ratings(record, "other")[:2]}} for record in later],
        "many.jsonl": [one | {"scores": {"overall": _ratings(one)}} for one in everything],
        "labels.jsonl": [{key: one[key] for key in ("id", "system", "scores")} for one in rated
                         if one["system"] in {"generic", "good"} and _drawn(one["id"]) % 2],
        "contexts.jsonl": [{"id": one["id"], "context": one["context"]} for one in old[:6]],
        "preferences.jsonl": [_preference(one, two, rater) for one in few for two in few for rater in ("ann", "bo")
                              if one["context_id"] == two["context_id"] and one["system"] < two["system"]],
    }  # fmt: skip
    for name, records in files.items():
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with (folder / "numbers.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "system", "context_id", "adequacy", "fluency"])
        for record in few:
            rows.writerow([record["id"], record["system"], record["context_id"], *_ratings(record)[:2]])
    chats = [{"messages": [{"role": ("user", "assistant")[place % 2], "content": text}
                           for place, text in enumerate([*one["context"][-3:], one["response"]])],
              "model": "bot"} for one in old[:4]]  # fmt: skip
    (folder / "chats.json").write_text(json.dumps(chats), encoding="utf-8")


def _drawn(text: str) -> int:
    return zlib.crc32(text.encode())


def _ratings(record: Mapping[str, Any], kind: str = "overall") -> list[int]:
    """Ratings by three people: a level of the system, and a step up or down."""
    level = {"good": 4, "generic": 3, "off-topic": 2, "garbled": 2}[record["system"]]
    return [min(5, max(1, level + _drawn(f"{kind} {rater} {record['id']}") % 3 - 1)) for rater in ("ann", "bo", "cy")]


def _preference(one: Mapping[str, Any], two: Mapping[str, Any], rater: str) -> dict[str, Any]:
    difference = _ratings(one, rater)[0] - _ratings(two, rater)[0]
    winner = "tie" if not difference else one["system"] if difference > 0 else two["system"]
    judged = {"id": f"{one['id']} {two['id']} {rater}", "context_id": one["context_id"], "rater": rater}
    told = {"response_a": one["response"], "response_b": two["response"]}
    return {**judged, "a": one["system"], "b": two["system"], "winner": winner, **told}


_judges: list[str] = []


def judge_address() -> str:
    """The address of a language model that prefers the longer of two replies, and sometimes the one shown first."""
    if not _judges:
        if str(SUPPORT) not in sys.path:
            sys.path.append(str(SUPPORT))
        from judge_server import Reply, completion, serving, token

        def answer(body: dict[str, Any], number: int) -> Reply:
            asked = json.loads(body["messages"][-1]["content"])
            first, second = asked["reply A"], asked["reply B"]
            letter = "A" if len(first) > len(second) or _drawn(first + second) % 5 == 0 else "B"
            return completion(letter, [token(letter, {"A": 0.2, "B": 0.2} | {letter: 0.7})])

        _judges.append(_SERVERS.enter_context(serving(answer)).url)
    return _judges[0]


def stop_judge() -> None:
    """Stop its server, if there is one."""
    _SERVERS.close()
    _judges.clear()


_SERVERS = contextlib.ExitStack()


# Imports.


_WATCHING = f"""
import contextlib, io, json, runpy, sys
from rejoinder import __version__
def watched():
    return sorted({set(WATCHED)!r} & sys.modules.keys())
def call(*arguments):
    sys.argv = ["rejoinder", *arguments]
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_module("rejoinder", run_name="__main__")
    except SystemExit as stopped:
        assert stopped.code in (None, 0, 3, 4), stopped.code  # 3, 4: a check such as --fail-if
    return out.getvalue()
"""


def imports_of_help() -> dict[str, list[str]]:
    """What each `--help` has imported when it is shown after those before it, beginning with `import rejoinder`."""
    script = """
found = {"import rejoinder": watched()}
for verb in sys.argv[1:]:
    said = call(*([verb] if verb != "rejoinder" else []), "--help")
    assert said.startswith("usage: rejoinder"), said
    found[verb] = watched()
print(json.dumps(found))
"""
    found: dict[str, list[str]] = _watched_process(script, ["rejoinder", *verbs()], None)
    return found


def imports_of(run: Run, folder: Path) -> list[str]:
    """What a run imports in a process of its own."""
    prepare(run, folder)
    found: list[str] = _watched_process("call(*sys.argv[1:])\nprint(json.dumps(watched()))", arguments_of(run), folder)
    return found


def verbs() -> list[str]:
    """All verbs, as the reference names them."""
    page = (FROZEN.parents[1] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    return re.findall(r"^## rejoinder (\S+)$", page, re.MULTILINE)


def _watched_process(script: str, arguments: Sequence[str], folder: Path | None) -> Any:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    if folder is not None:
        environment["XDG_CACHE_HOME"] = str(folder / "cache")
    done = subprocess.run(
        [sys.executable, "-c", _WATCHING + script, *arguments],
        cwd=folder, env=environment, capture_output=True, check=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def main(target: Path) -> None:
    """Write every file."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            for path, content in outputs(Path(folder)):
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(content)
        finally:
            stop_judge()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
