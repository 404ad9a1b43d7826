"""How many pairs per second our metrics score, and the peers beside them on the same pairs in the same run.

    python benchmarks/metrics.py [--sizes 10000 100000] [--repeats 5] [--only bleu rouge] [--markdown FILE]

Real utterances of 3 to 14 words (about 8) are paired at random, so each reply has one reference. Tokenising is
included; reading files and making lists of strings or of examples is not. Each figure is the best of several runs. All
programs are held to one thread, so that processor time is that of one core. Slow peers score the first 2,000 pairs.
A peer that scores what one of ours does is also compared with it: `apart` is the largest difference of a score.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import metric_peers as peers
import rejoinder
from metric_peers import Pairs, Peer, Run
from rejoinder.metrics.batch import even_batches
from rejoinder.registry import load
from rejoinder.show.text import grid
from rejoinder.text import words as stemming
from rejoinder.text import words as wordnet
from rejoinder.text.vectors import SHIPPED_VECTORS
from rejoinder.types import Scores

ROOT = Path(__file__).resolve().parents[1]
CORPORA = ("dailydialog.train", "empatheticdialogues.train")
SHORTEST, LONGEST = 3, 14
SLOW_PAIRS = 2000
ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
HEADER = ("metric", "who", "pairs", "pairs/s", "pairs/CPU-s", "ours is", "apart", "")


@dataclass(frozen=True)
class Row:
    """One comparison: ways in which we compute something, and the peers that compute it too."""

    key: str
    title: str
    ours: dict[str, tuple[str, ...]]
    """Label -> metrics; peers are compared with the last of them, which has their settings."""
    peers: tuple[Peer, ...] = ()
    together: bool = False
    """Through `rejoinder.score`, as a user calls it."""


@dataclass(frozen=True)
class Timing:
    """The best of several runs, in seconds."""

    wall: float
    cpu: float
    scores: Scores | None


@dataclass
class Findings:
    """What was measured."""

    cells: list[tuple[str, ...]] = field(default_factory=list)
    claims: list[tuple[str, ...]] = field(default_factory=list)


def rows(vectors: str, models: Path) -> list[Row]:
    """All comparisons."""
    embedding = tuple(
        f"{name}(vectors='{vectors}')" for name in ("embedding-average", "vector-extrema", "greedy-matching")
    )
    without_references = ("distinct-1", "distinct-2", "repetition", "specificity", "length")
    everything = (*BLEU_ORDERS, "rouge-l", "cider", "chrf", *embedding, *without_references)
    # pycocoevalcap's tables grow with the corpus, and so does its cost per pair: the same pairs for both.
    cider = Peer("pycocoevalcap", peers.pycocoevalcap_cider, "cider(tokenise=whitespace, lowercase=false)", slow=False)
    loop = Peer("plain loop", partial(peers.plain_embedding_loop, vectors), embedding[2])
    return [
        bleu_row(),
        rouge_row(),
        meteor_row(models),
        Row("cider", "CIDEr", {"rejoinder": ("cider",)}, (cider,)),
        Row("chrf", "chrF", {"rejoinder": ("chrf",)}, (Peer("sacreBLEU", peers.sacrebleu_chrf, "chrf"),)),
        Row("embedding", "average, extrema, greedy", {"rejoinder": embedding}, (loop,)),
        Row("all", "all but METEOR, one call", {"rejoinder.score": everything}, together=True),
    ]


BLEU_ORDERS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4")


def bleu_row() -> Row:
    """BLEU-1..4 together; of the peers only NLTK gives all four."""
    as_sacrebleu = "bleu(tokenise=13a, lowercase=false)"
    unsmoothed = "bleu(tokenise=13a, lowercase=false, smooth=none, effective_order=false)"
    as_nltk = "bleu(tokenise=whitespace, lowercase=false, smooth=nltk-3)"
    ours = {
        "rejoinder": BLEU_ORDERS,
        "rejoinder, tokenise=13a": tuple(f"{name}(tokenise=13a, lowercase=false)" for name in BLEU_ORDERS),
    }
    theirs = (
        Peer("sacreBLEU", peers.sacrebleu_bleu, as_sacrebleu, note="BLEU-4 only"),
        Peer("NLTK", peers.nltk_bleu, as_nltk),
        Peer("bleuscore", peers.bleuscore_pair, unsmoothed, slow=False, note="BLEU-4 only"),
        Peer("bleuscore, one call", peers.bleuscore_corpus, slow=False, note="one BLEU-4 for all pairs"),
        Peer("torchmetrics", peers.torchmetrics_bleu, unsmoothed, note="BLEU-4 only"),
    )
    return Row("bleu", "BLEU-1..4", ours, theirs)


def rouge_row() -> Row:
    """ROUGE-L in the papers' form and in rouge-score's."""
    f1 = "rouge-l-f1(tokenise=rouge)"
    theirs = (
        Peer("rouge-score", peers.rouge_score, f1),
        Peer("rouge-score-rs", peers.rouge_score_rs, f1, slow=False),
        Peer("rouge-score-rs, one call", peers.rouge_score_rs_batch, f1, slow=False),
        Peer("rapidfuzz LCSseq", peers.rapidfuzz_lcs, slow=False, note="no tokenising, no score: a floor"),
        Peer("torchmetrics", peers.torchmetrics_rouge, f1),
    )
    return Row("rouge", "ROUGE-L", {"rejoinder": ("rouge-l",), "rejoinder, as rouge-score": (f1,)}, theirs)


def meteor_row(models: Path) -> Row:
    """METEOR, with words that were met before and without."""
    jar = partial(peers.meteor_jar, models / "meteor" / "meteor-1.5.jar")
    theirs = (
        Peer("NLTK", partial(peers.nltk_meteor, models / "wordnet"), note="another METEOR"),
        Peer("METEOR 1.5 jar", jar, "meteor(tokenise=whitespace)", starts=True, note="its start taken off"),
    )
    return Row("meteor", "METEOR", {"rejoinder, words met before": ("meteor",), "rejoinder": ("meteor",)}, theirs)


def main() -> None:
    """Measure, print, and write Markdown where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[], help="bleu rouge meteor cider chrf embedding all")
    parser.add_argument("--dialogues", type=Path, default=ROOT.parent / "shared" / "data" / "dialogues")
    parser.add_argument("--models", type=Path, default=ROOT / "models-cache", help="folder with wordnet and meteor")
    parser.add_argument("--vectors", default=SHIPPED_VECTORS)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    if any(os.environ.get(variable) != "1" for variable in ONE_THREAD):  # read when a library is imported: start again
        os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    pairs = Pairs.of(read_pairs(arguments.dialogues, max(*arguments.sizes, SLOW_PAIRS)))
    words = np.mean([len(text.split()) for text in (*pairs.responses, *pairs.references)])
    print(f"{len(pairs):,} pairs of {words:.1f} words, best of {arguments.repeats}\n", flush=True)
    found = Findings()
    for row in rows(arguments.vectors, arguments.models):
        if not arguments.only or row.key in arguments.only:
            measure_row(row, pairs, sorted(arguments.sizes), arguments.repeats, found)
    print(grid(HEADER, found.cells, left=2))
    print("\n" + grid(("claim", "asked", "measured"), found.claims, left=1))
    if arguments.markdown:
        tables = [markdown(HEADER, found.cells), markdown(("claim", "asked", "measured"), found.claims)]
        arguments.markdown.write_text("\n\n".join(tables) + "\n", encoding="utf-8")


def read_pairs(folder: Path, count: int) -> list[tuple[str, str]]:
    """Each utterance with a random other one, always the same; each comes again only when all have come."""
    missing = [name for name in CORPORA if not (folder / f"{name}.jsonl.gz").exists()]
    if missing:
        raise SystemExit(f"no {' and no '.join(missing)} in {folder}: name their folder with --dialogues")
    texts = list(utterances(folder / f"{name}.jsonl.gz" for name in CORPORA))
    rng = random.Random(0)
    replies = [text for _ in range(1 + count // len(texts)) for text in rng.sample(texts, len(texts))]
    return [(reply, rng.choice(texts)) for reply in replies[:count]]


def utterances(paths: Iterable[Path]) -> Iterator[str]:
    """The turns of files of dialogues that are neither short nor long."""
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from (turn for turn in json.loads(line)["turns"] if SHORTEST <= len(turn.split()) <= LONGEST)


def measure_row(row: Row, pairs: Pairs, sizes: Sequence[int], repeats: int, found: Findings) -> None:
    """One comparison, into `found`."""
    rates: dict[int, float] = {}  # of the last of ours, by size
    for label, specs in row.ours.items():
        run: Run = partial(through_score if row.together else through_batches, specs)
        if label == "rejoinder":
            run = partial(forgetting, run)
        costs = {}
        for size in sizes:
            timing = best_of(repeats, run, pairs.first(size))
            found.cells.append((row.title, label, *speeds(size, timing), "", "", ""))
            costs[size] = timing.cpu
            rates[size] = size / timing.cpu
        if len(sizes) > 1:
            growth = costs[sizes[-1]] / costs[sizes[0]]
            asked = f"at most {1.1 * sizes[-1] / sizes[0]:.1f}x"
            found.claims.append(
                (f"{row.title}: {sizes[-1]:,} pairs over {sizes[0]:,}, {label}", asked, f"{growth:.1f}x")
            )
    if row.together:
        found.claims.append((row.title, "60,000 pairs/s", f"{min(rates.values()):,.0f}"))
    for peer in row.peers:
        measure_peer(row, peer, pairs, sizes, repeats, rates, found)
    print(f"measured {row.title}", flush=True)


# What was asked of us, in pairs per second of processor time over the peer's.
ASKED = {
    ("bleu", "bleuscore"): 2,
    ("rouge", "rouge-score"): 8,
    ("rouge", "rouge-score-rs, one call"): 1,
    ("meteor", "NLTK"): 5,
    ("cider", "pycocoevalcap"): 20,
    ("embedding", "plain loop"): 50,
}


def measure_peer(
    row: Row, peer: Peer, pairs: Pairs, sizes: Sequence[int], repeats: int, rates: dict[int, float], found: Findings
) -> None:
    """One peer of a comparison, into `found`."""
    try:
        run = peers.quietly(peer.ready)
    except (ImportError, FileNotFoundError) as absent:
        found.cells.append((row.title, peer.name, "", "", "", "", "", f"not measured: {absent}"))
        return
    for size in [SLOW_PAIRS] if peer.slow else sizes:
        sample = pairs.first(size)
        timing = best_of(repeats, run, sample)
        if peer.starts:
            start = best_of(repeats, run, pairs.first(1))
            timing = Timing(timing.wall - start.wall, timing.cpu - start.cpu, timing.scores)
        ratio = rates.get(size, rates[sizes[0]]) / (size / timing.cpu)
        apart = difference(peer.same, sample, timing.scores) if peer.same and timing.scores is not None else ""
        times = f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"
        found.cells.append((row.title, peer.name, *speeds(size, timing), times, apart, peer.note))
        if (asked := ASKED.get((row.key, peer.name))) is not None:
            found.claims.append((f"{row.title}, {size:,} pairs, over {peer.name}", f"{asked}x", f"{ratio:.2f}x"))


def through_batches(specs: Sequence[str], pairs: Pairs) -> Scores:
    """Several metrics over batches that share their tokens. (metrics, pairs)"""
    parts = even_batches(pairs.examples)
    metrics = [load(spec) for spec in specs]
    for place, metric in enumerate(metrics):
        if (observer := metric.observer()) is not None:
            for part in parts:
                observer.add(part)
            metrics[place] = observer.finish()
    columns = []
    while parts:
        part = parts.pop(0)  # let go of each batch when it is done
        columns.append(np.stack([metric.score_batch(part) for metric in metrics]))
    return np.concatenate(columns, axis=1)


def forgetting(run: Run, pairs: Pairs) -> Scores | None:
    """The same without the stems and synsets that earlier runs have left."""
    stemming.stem.cache_clear()
    wordnet.synsets.cache_clear()
    return run(pairs)


def through_score(specs: Sequence[str], pairs: Pairs) -> None:
    """Several metrics as a user asks for them, in one process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rejoinder.ScoreWarning)  # words without vectors
        rejoinder.score(pairs.examples, list(specs), jobs=1)


def best_of(repeats: int, run: Run, pairs: Pairs) -> Timing:
    """The shortest times of several runs, child processes included."""
    times = []
    scores = None
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), processor_time()
        scores = run(pairs)
        times.append((time.perf_counter() - wall, processor_time() - cpu))
    return Timing(min(wall for wall, _ in times), min(cpu for _, cpu in times), scores)


def processor_time() -> float:
    """Seconds of this process and of the children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def difference(spec: str, pairs: Pairs, theirs: Scores) -> str:
    """The largest difference between our scores and a peer's, and how many pairs differ, if any do."""
    ours = through_batches([spec], pairs)[0]
    apart = np.abs(ours - theirs)
    differing = int(((apart > 1e-6) | (np.isnan(ours) != np.isnan(theirs))).sum())
    return f"{np.nanmax(apart):.0e}" + (f" in {differing}" if differing else "")


def speeds(size: int, timing: Timing) -> tuple[str, str, str]:
    """Pairs, pairs per second of the clock, pairs per second of the processor."""
    return f"{size:,}", f"{size / timing.wall:,.0f}", f"{size / timing.cpu:,.0f}"


def markdown(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
