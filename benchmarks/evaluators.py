"""How many replies a second our evaluators score, beside peers and beside what the machine can do at most.

    python benchmarks/evaluators.py [--model FOLDER] [--static FOLDER] [--replies 2000] [--threads 1] [--repeats 3]

Real replies of DailyDialog with their last four turns. Everybody reads the same encoder and the same texts, and no text
is cut below 128 tokens; tokenising is included, loading is not. Each figure is the best of several runs, on one core
by processor time. Without folders an encoder with a fresh head and a static evaluator that learned next to nothing
are measured: they are as fast as trained ones. Peers: bert_score (reply against its context) and
sentence-transformers' CrossEncoder, see evaluator_peers.py. The limit is the time that the same multiplications take
in plain matrix products; what a program needs beside them (tokens, softmax, padding) counts
against it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import evaluator_peers as peers
from machine_limit import Cost, Limit, best_of
from rejoinder.data.contexts import TrainedContexts
from rejoinder.data.dialogues import DialogueSource
from rejoinder.evaluators.base import Fit
from rejoinder.evaluators.encoder import Encoder
from rejoinder.evaluators.static import Static
from rejoinder.metrics.batch import Batch
from rejoinder.models.batching import by_length
from rejoinder.models.onnx_model import BATCH_TOKENS
from rejoinder.models.pairs import Pair
from rejoinder.text.grid import grid
from rejoinder.types import Example, JudgedExample, Scores

ROOT = Path(__file__).resolve().parents[1]
TURNS = 4
STATIC_REPLIES = 20_000
CROWD = 8
"""Replies to one context, as where several systems are compared."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS")
HEADER = ("who", "weights", "replies", "replies/s", "share of the limit", "ours is")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default=str(ROOT / "models-cache" / "minilm"))
    parser.add_argument("--model", help="the folder of an Encoder that was exported in both precisions")
    parser.add_argument("--static", help="the folder of a Static")
    parser.add_argument("--replies", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["static", "encoder", "peers"])
    dialogues = ROOT.parent / "shared" / "data" / "dialogues" / "dailydialog.train.jsonl.gz"
    parser.add_argument("--dialogues", type=Path, default=dialogues)
    arguments = parser.parse_args()
    hold_threads(arguments.threads)
    examples = read_examples(arguments.dialogues, max(arguments.replies, STATIC_REPLIES))
    cells: list[tuple[str, ...]] = []
    if "static" in arguments.only:
        measure_static(examples, arguments, cells)
    if "encoder" in arguments.only or "peers" in arguments.only:
        measure_encoders(examples[: arguments.replies], arguments, cells)
    print("\n" + grid(HEADER, cells, left=2))


def hold_threads(count: int) -> None:
    """So many cores for every library; they read it when they are imported, so the script starts again."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    if any(os.environ.get(name) != str(count) for name in THREADS):
        os.environ.update(dict.fromkeys(THREADS, str(count)))
        os.execv(sys.executable, [sys.executable, *sys.argv])


def read_examples(path: Path, count: int) -> list[Example]:
    """Replies with the turns before them, always the same."""
    if not path.exists():
        raise SystemExit(f"no dialogues at {path}: name a file with --dialogues")
    places = [(each.turns, turn) for each in DialogueSource(path) for turn in range(1, len(each.turns))]
    chosen = np.random.default_rng(0).permutation(len(places))[:count].tolist()
    found = []
    for number, (turns, turn) in enumerate(places[place] for place in chosen):
        found.append(Example(str(number), turns[max(0, turn - TURNS) : turn], turns[turn]))
    return found


def measure_static(examples: Sequence[Example], arguments: argparse.Namespace, cells: list[tuple[str, ...]]) -> None:
    """The evaluator without an encoder."""
    static = Static.load(arguments.static) if arguments.static else scarcely_trained(examples[:400])
    words = np.mean([sum(len(text.split()) for text in (*each.context, each.response)) for each in examples])
    print(f"static: {len(examples):,} replies, {words:.0f} words each with the context", flush=True)
    seconds = best_of(arguments.repeats, lambda: static.score(examples))
    cells.append(("rejoinder static", "int8", f"{len(examples):,}", f"{len(examples) / seconds:,.0f}", "", ""))
    if static.watcher() is not None:
        seconds = best_of(arguments.repeats, lambda: (static.score(examples), static.unfamiliar(Batch(examples))))
        label = "rejoinder static, strangers counted"
        cells.append((label, "int8", f"{len(examples):,}", f"{len(examples) / seconds:,.0f}", "", ""))


def scarcely_trained(examples: Sequence[Example]) -> Static:
    """One that learned the length of replies."""
    judged = [JudgedExample(each, {"length": (float(len(each.response)),)}) for each in examples]
    return Static(epochs=1).fit((), judged)


def measure_encoders(examples: Sequence[Example], arguments: argparse.Namespace, cells: list[tuple[str, ...]]) -> None:
    """Ours in both precisions, then the peers."""
    with tempfile.TemporaryDirectory() as beside:
        folder = Path(arguments.model) if arguments.model else fresh(arguments.encoder, Path(beside, "model"))
        loaded = {precision: Encoder.load(folder, precision=precision) for precision in ("fp32", "int8")}
    tokeniser = loaded["fp32"].model_.tokeniser
    pairs = [Pair(each.context, each.speakers, each.response) for each in examples]
    encoded = tokeniser.encode(pairs)
    lengths = np.array([len(row.ids) for row in encoded])
    filled = sum(len(rows) * max(lengths[rows]) for rows in by_length(encoded, BATCH_TOKENS))
    crowded = [replace(each, context=examples[place - place % CROWD].context) for place, each in enumerate(examples)]
    limit = Limit.measured(rows=BATCH_TOKENS)
    cost = Cost.of_encoder(Path(arguments.encoder), lengths)
    tokenising = best_of(arguments.repeats, lambda: tokeniser.encode(pairs))
    print(f"{limit}; {cost}; padding {filled / lengths.sum() - 1:.1%}; tokenising {tokenising:.2f} s", flush=True)
    rates = {}
    for precision, encoder in loaded.items() if "encoder" in arguments.only else ():
        seconds = best_of(arguments.repeats, partial(scores_of, encoder, examples))
        rates[precision] = len(examples) / seconds
        # Weights of one byte are widened when they are loaded: the products are of full precision either way.
        share = f"{limit.seconds(cost) / seconds:.0%}"
        cells.append(("rejoinder encoder", precision, f"{len(examples):,}", f"{rates[precision]:,.0f}", share, ""))
        seconds = best_of(arguments.repeats, partial(scores_of, encoder, crowded))
        rate = f"{len(crowded) / seconds:,.0f}"
        cells.append((f"the same, {CROWD} replies a context", precision, f"{len(crowded):,}", rate, "", ""))
        print(f"measured {precision}", flush=True)
    for name, ready in peers.PEERS.items() if "peers" in arguments.only else ():
        try:
            run = ready(arguments.encoder)
        except ImportError as absent:
            cells.append((name, "fp32", "", f"not measured: {absent}", "", ""))
            continue
        seconds = best_of(1, partial(run, examples))
        ratios = ", ".join(f"{rate * seconds / len(examples):.2f}x ({weights})" for weights, rate in rates.items())
        share = f"{limit.seconds(cost) / seconds:.0%}"
        cells.append((name, "fp32", f"{len(examples):,}", f"{len(examples) / seconds:,.0f}", share, ratios))
        print(f"measured {name}", flush=True)


def scores_of(encoder: Encoder, examples: Sequence[Example]) -> Scores:
    """Scored anew: a batch keeps what was predicted for it."""
    return encoder.score_batch(Batch(examples))


def fresh(encoder: str, folder: Path) -> Path:
    """The folder of an Encoder that was not trained: its head is random."""
    from rejoinder.models.torch_model import TorchModel

    made = Encoder(encoder=encoder, towers=True)
    model = TorchModel.start(
        encoder,
        max_length=made.max_length,
        max_response=made.max_response,
        speaker_marks=True,
        pooling="match",
        towers=True,
        seed=0,
    )
    made._remember({"model_": model}, Fit(0, "none", 0, 0, "0", TrainedContexts()))
    made.export(folder)
    return folder


if __name__ == "__main__":
    main()
