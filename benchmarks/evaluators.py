"""How many replies per second our evaluators score, beside peers and beside what the machine can do at most.

    python benchmarks/evaluators.py [--model FOLDER] [--static FOLDER] [--replies 2000] [--threads 1] [--repeats 3]

Real replies of DailyDialog with their last four turns. Everybody reads the same encoder and the same texts, and no text
is cut below 128 tokens; tokenising is included, loading is not. Each figure is the best of several runs, on one core
by processor time. Without folders an encoder with a fresh head and a static evaluator that learned next to nothing
are measured: they are as fast as trained ones. Peers: bert_score (reply against its context) and
sentence-transformers' CrossEncoder, see evaluator_peers.py. The limit is the time that the same multiplications take
in plain matrix products; what a program needs beside them (tokenising, softmax, padding) counts against it. Tokens are
those that a program reads: ours reads each reply twice, after its context and by itself, and a context once.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import evaluator_peers as peers
from machine_limit import Cost, Limit, best_of
from rejoinder.data.dialogues import DialogueSource
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.evaluators.encoder.onnx import BATCH_TOKENS
from rejoinder.evaluators.encoder.reading import ALONE, MOST_REPLIES
from rejoinder.evaluators.static.static import Static
from rejoinder.learning.data import TrainingData
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import grid
from rejoinder.types import Example, JudgedExample, Scores

ROOT = Path(__file__).resolve().parents[1]
TURNS = 4
STATIC_REPLIES = 20_000
CROWD = 8
"""Replies to one context, as where several systems are compared."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS")
HEADER = ("who", "weights", "replies", "replies/s", "tokens/s", "share of the limit", "our replies/s", "our tokens/s")


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
    cells.append(("rejoinder static", "int8", f"{len(examples):,}", f"{len(examples) / seconds:,.0f}", *[""] * 4))
    if static.watcher() is not None:
        seconds = best_of(arguments.repeats, lambda: (static.score(examples), static.unfamiliar(Batch(examples))))
        label = "rejoinder static, out-of-domain replies counted"
        cells.append((label, "int8", f"{len(examples):,}", f"{len(examples) / seconds:,.0f}", *[""] * 4))


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
    crowded = [replace(each, context=examples[place - place % CROWD].context) for place, each in enumerate(examples)]
    limit = Limit.measured(rows=BATCH_TOKENS)
    encoder_folder = Path(arguments.encoder)
    brancher = tokeniser.brancher
    own = brancher.rows([each.context for each in examples], [[each.response] for each in examples])
    joined = Cost.of_encoder(encoder_folder, np.array([sum(part != ALONE for part in row.parts) for row in own]))
    print(f"{limit}; context and reply as one text: {joined}", flush=True)
    ours: dict[str, Measured] = {}
    for precision, encoder in loaded.items() if "encoder" in arguments.only else ():
        for label, given in (("rejoinder encoder", examples), (f"the same, {CROWD} replies a context", crowded)):
            contexts, replies = [each.context for each in given], [each.response for each in given]
            rows = brancher.shared_rows(contexts, replies, MOST_REPLIES)
            cost = Cost.of_encoder(encoder_folder, np.array([len(row.ids) for row, _ in rows]))
            seconds = best_of(arguments.repeats, partial(scores_of, encoder, given))
            # Weights of one byte are widened when they are loaded: the products are of full precision either way.
            found = Measured(len(given), cost, seconds)
            ours.setdefault(precision, found)
            cells.append((label, precision, *found.cells(limit), "", ""))
        print(f"measured {precision}", flush=True)
    for name, ready in peers.PEERS.items() if "peers" in arguments.only else ():
        try:
            run = ready(arguments.encoder)
        except ImportError as absent:
            cells.append((name, "fp32", "", f"not measured: {absent}", "", "", "", ""))
            continue
        found = Measured(len(examples), joined, best_of(arguments.repeats, partial(run, examples)))
        cells.append((name, "fp32", *found.cells(limit), *found.beside(ours)))
        print(f"measured {name}", flush=True)


@dataclass(frozen=True)
class Measured:
    """What a program read, and how long that took."""

    replies: int
    cost: Cost
    seconds: float

    def cells(self, limit: Limit) -> tuple[str, ...]:
        """Replies, replies and tokens per second, and the share of what the machine could do."""
        rates = (f"{self.replies / self.seconds:,.0f}", f"{self.cost.tokens / self.seconds:,.0f}")
        return (f"{self.replies:,}", *rates, f"{limit.seconds(self.cost) / self.seconds:.0%}")

    def beside(self, ours: Mapping[str, Measured]) -> tuple[str, str]:
        """Our replies and tokens per second as multiples of these."""
        replies = [f"{self.seconds / each.seconds:.2f}x ({weights})" for weights, each in ours.items()]
        tokens = [
            f"{each.cost.tokens / each.seconds / (self.cost.tokens / self.seconds):.2f}x ({weights})"
            for weights, each in ours.items()
        ]
        return ", ".join(replies), ", ".join(tokens)


def scores_of(encoder: Encoder, examples: Sequence[Example]) -> Scores:
    """Scored anew: a batch keeps what was predicted for it."""
    return encoder.score_batch(Batch(examples))


def fresh(encoder: str, folder: Path) -> Path:
    """The folder of an Encoder that was not trained: its head is random."""
    from rejoinder.evaluators.encoder.training import start_model

    made = Encoder(encoder=encoder, towers=True)
    made.with_model(start_model(made, seed=0), TrainingData())
    made.export(folder)
    return folder


if __name__ == "__main__":
    main()
