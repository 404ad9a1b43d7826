"""Where the time of `default`'s network goes: operators, padding, size of batches, and ways of using several cores.

    python benchmarks/evaluator_profile.py [--replies 120] [--rounds 3]

Real replies of DailyDialog with their last four turns, each read once. Operators are those of ONNX Runtime's own
profile. Rates are replies per second of processor time, the best of several rounds that take turns. Threads that share
a matrix product wait for each other, and a waiting thread takes processor time, too: all the more, the busier the
machine is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from evaluators import read_examples
from rejoinder.data.dialogues import pair_of
from rejoinder.evaluators.encoder.encoder import NETWORK, Encoder
from rejoinder.evaluators.encoder.onnx import BATCH_TOKENS, OnnxModel
from rejoinder.evaluators.encoder.reading import padded_rows
from rejoinder.learning.data import by_length
from rejoinder.registry import shipped_folder
from rejoinder.show.text import grid
from rejoinder.threads import usable_cores

ROOT = Path(__file__).resolve().parents[1]
SIZES = (128, 256, 512, 1024, 2048)
SHOWN = 8
Batches = Sequence[dict[str, Any]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    dialogues = ROOT.parent / "shared" / "data" / "dialogues" / "dailydialog.train.jsonl.gz"
    parser.add_argument("--dialogues", type=Path, default=dialogues)
    arguments = parser.parse_args()
    model = Encoder.load(shipped_folder(NETWORK)).model_
    if not isinstance(model, OnnxModel):
        raise SystemExit("the network is not one for ONNX Runtime")
    pairs = [pair_of(example) for example in read_examples(arguments.dialogues, arguments.replies)]
    found = model.tokeniser.brancher.shared_rows([each.context for each in pairs], [each.response for each in pairs], 1)
    rows = [row for row, _ in found]
    tokens = sum(len(row.ids) for row in rows)

    def batches(size: int) -> Batches:
        parts = by_length(rows, size)
        return [
            {**padded_rows([rows[at] for at in part], model.settings.pad), "replies": np.arange(1)} for part in parts
        ]

    print(f"{len(rows):,} replies, {tokens:,} tokens\n")
    print(grid(("operator", "share"), operators(model, batches(BATCH_TOKENS))), "\n")
    print(
        grid(("tokens in a batch", "padding", "replies per CPU second"), sizes(model, batches, tokens, arguments)), "\n"
    )
    print(grid(("cores", "replies per CPU second"), cores(model, batches(BATCH_TOKENS), arguments)))


def session(model: OnnxModel, threads: int, **entries: str) -> Any:
    """As the evaluator makes it, with so many threads for each matrix product."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.enable_mem_pattern, options.intra_op_num_threads, options.log_severity_level = False, threads, 3
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    if "profile" in entries:
        options.enable_profiling, options.profile_file_prefix = True, entries.pop("profile")
    for name, value in entries.items():
        options.add_session_config_entry(f"session.intra_op.{name}", value)
    return onnxruntime.InferenceSession(model.graph, options, providers=["CPUExecutionProvider"])


def operators(model: OnnxModel, given: Batches) -> list[tuple[str, str]]:
    """The share of each kind of operator, the largest first."""
    with tempfile.TemporaryDirectory() as folder:
        runs = session(model, 1, profile=f"{folder}/profile")
        for arrays in given:
            runs.run(["score"], arrays)
        events = json.loads(Path(runs.end_profiling()).read_text("utf-8"))
    taken: Counter[str] = Counter()
    for event in events:
        if event["name"].endswith("_kernel_time"):
            taken[event["args"]["op_name"]] += event["dur"]
    return [(name, f"{time / taken.total():.1%}") for name, time in taken.most_common(SHOWN)]


def sizes(
    model: OnnxModel, batches: Callable[[int], Batches], tokens: int, arguments: argparse.Namespace
) -> list[tuple[str, ...]]:
    """Padding and rate for different sizes of batches, on one core."""
    one = session(model, 1)
    given = {size: batches(size) for size in SIZES}
    padding = {size: 1 - tokens / sum(each["input_ids"].size for each in some) for size, some in given.items()}

    def running(some: Batches) -> Callable[[], object]:
        return lambda: [one.run(["score"], each) for each in some]

    runs = {size: running(some) for size, some in given.items()}
    return [(f"{size:,}", f"{padding[size]:.1%}", rate) for size, rate in rates(runs, arguments).items()]


def cores(model: OnnxModel, given: Batches, arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """The rate for different ways of using all cores."""
    count = usable_cores()
    one, shared, sleeping = session(model, 1), session(model, count), session(model, count, allow_spinning="0")
    with ThreadPoolExecutor(count) as pool:
        runs: dict[str, Callable[[], object]] = {
            "one": lambda: [one.run(["score"], each) for each in given],
            f"{count} share each product": lambda: [shared.run(["score"], each) for each in given],
            "the same, waiting threads sleep": lambda: [sleeping.run(["score"], each) for each in given],
            f"{count}, each with its own batch": lambda: list(pool.map(lambda each: one.run(["score"], each), given)),
        }
        return list(rates(runs, arguments).items())


def rates(runs: dict[Any, Callable[[], object]], arguments: argparse.Namespace) -> dict[Any, str]:
    """Replies per second of processor time, the best of several rounds."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(arguments.rounds):
        for name, run in runs.items():
            begun = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - begun)
    return {name: f"{arguments.replies / seconds:.1f}" for name, seconds in best.items()}


if __name__ == "__main__":
    main()
