"""What scoring many replies costs: per metric, with more workers, and in memory.

    python benchmarks/scale.py [--only costs survey workers fewest memory driver] [--large 2000000]

*costs*: CPU seconds per million replies on one thread, of reading and checking the input and of each metric, on real
replies of DailyDialog with up to four turns before them, the true reply to the same turn of another dialogue as the
reference. *survey*: the same of the first pass alone, which the driver of a run on Ray makes. *workers*: the same run
by one and two processes and by Ray with one and two workers, in CPU seconds and by the clock. *fewest*: CPU time of one
process, and of two with the one that sends them the replies, which decides when fast metrics are shared. *memory*: peak
resident size of `compare --scores` and of `report`, for more and more replies; *driver*: that of a run on Ray.
CPU time is the basis of all costs, because it hardly depends on what else runs on the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from memory import peak
from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.source import Source, survey
from rejoinder.data.spans import Span, SpanFinder
from rejoinder.scoring.parts import Manifest, PartsFolder
from rejoinder.scoring.ray import FAST_PART
from rejoinder.scoring.run import LocalRun
from rejoinder.scoring.score import choose_metrics
from rejoinder.show.text import grid

ROOT = Path(__file__).resolve().parents[1]
TURNS = 4
FAST = (
    "bleu-2",
    "rouge-l",
    "cider",
    "chrf",
    "embedding-average",
    "distinct-2",
    "specificity",
    "length",
    "default-fast",
)
METRICS = {"default": 1536, **dict.fromkeys(FAST, 50_000), "meteor": 20_000}
"""Metric -> replies that it is measured on."""
MILLION = 1_000_000
FIFTY = 50 * MILLION
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "REJOINDER_THREADS"), "1"
)
COMMAND = [sys.executable, "-m", "rejoinder"]
BARE = [
    sys.executable,
    "-c",
    "import sys; import numpy as np; import rejoinder.metrics.overlap as length; from rejoinder.cli import main; "
    "length.Length.score_batch = lambda self, batch: np.zeros(len(batch)); sys.exit(main(sys.argv[1:]))",
]
"""The command with a metric that does nothing: two passes over the input, groups, rows of scores."""


@dataclass(frozen=True)
class Spent:
    """What a command took: CPU seconds of it and all of its processes, and seconds by the clock."""

    cpu: float
    clock: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["costs", "survey", "workers", "fewest", "memory", "driver"])
    parser.add_argument("--replies", type=float, default=1.0, help="a factor for the number of replies that are timed")
    parser.add_argument("--engines", nargs="+", default=["local", "ray"])
    parser.add_argument("--large", type=int, nargs="+", default=[500_000, 2_000_000, 8_000_000])
    parser.add_argument("--driven", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--markdown", type=Path, help="also write the tables to a file")
    dialogues = ROOT.parent / "shared" / "data" / "dialogues" / "dailydialog.train.jsonl.gz"
    parser.add_argument("--dialogues", type=Path, default=dialogues)
    arguments = parser.parse_args()
    sections = {
        "costs": costs,
        "survey": surveying,
        "workers": workers,
        "fewest": fewest,
        "memory": memory,
        "driver": driver,
    }
    with tempfile.TemporaryDirectory(prefix="rejoinder-scale-") as folder:
        for name in arguments.only:
            text = f"{name}, load average {os.getloadavg()[0]:.1f}\n{sections[name](arguments, Path(folder))}\n"
            print(text, flush=True)
            if arguments.markdown:
                with arguments.markdown.open("a", encoding="utf-8") as file:
                    file.write(f"{text}\n")


def costs(arguments: argparse.Namespace, folder: Path) -> str:
    """CPU seconds per million replies, of reading and of each metric."""
    rows = []
    baseline: dict[int, float] = {}
    for metric, wanted in METRICS.items():
        count = int(wanted * arguments.replies)
        if count not in baseline:
            baseline[count] = per_reply(arguments, folder, count, BARE)
        rows.append((metric, count, per_reply(arguments, folder, count, COMMAND, metric) - baseline[count]))
    largest = max(baseline)
    lines = [("reading, checking, writing", f"{largest:,}", *_costs(baseline[largest]))]
    lines += [(metric, f"{count:,}", *_costs(each)) for metric, count, each in rows]
    return grid(["step", "measured on", "CPU s per million", "CPU hours for 50 million"], lines, left=1)


def _costs(seconds: float) -> tuple[str, str]:
    return f"{seconds * MILLION:,.0f}", f"{seconds * FIFTY / 3600:,.1f}"


def per_reply(
    arguments: argparse.Namespace, folder: Path, count: int, command: list[str], metric: str = "length"
) -> float:
    """CPU seconds per reply, without those for starting and loading: the difference between many replies and few."""
    options = ["score", "-m", metric, "--quiet", "--jobs", "1", "-o", str(folder / "scores.parquet")]
    few = max(2, count // 100)
    taken = [waited([*command, *options, str(written(arguments, folder, size))], ONE_THREAD) for size in (few, count)]
    return (taken[1] - taken[0]) / (count - few)


def surveying(arguments: argparse.Namespace, folder: Path) -> str:
    """CPU seconds per million replies of the survey that finds the parts of a run on Ray."""
    count = int(50_000 * arguments.replies)
    few, many = count // 10, count
    taken = []
    for size in (few, many):
        source = Source(written(arguments, folder, size))
        finder = SpanFinder(source)
        start = time.process_time()
        survey(source, visitor=finder)
        taken.append(time.process_time() - start)
    lines = [("survey", f"{count:,}", *_costs((taken[1] - taken[0]) / (many - few)))]
    return grid(["step", "measured on", "CPU s per million", "CPU hours for 50 million"], lines, left=1)


def waited(command: list[str], environment: dict[str, str]) -> float:
    """CPU seconds of one process, which starts no others."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def workers(arguments: argparse.Namespace, folder: Path) -> str:
    """One and two processes, and Ray with one and two workers, on the same replies."""
    lines = []
    for metric, wanted in (("default", 2048), ("cider", 65_536)):
        file = written(arguments, folder, int(wanted * arguments.replies))
        for engine in arguments.engines:
            for jobs in (1, 2):
                output = folder / (f"{metric}-{jobs}" if engine == "ray" else f"{metric}-{jobs}.parquet")
                options = ["--engine", engine, "--jobs", str(jobs), "-o", str(output), "--quiet"]
                environment = ONE_THREAD if jobs == 1 else {}
                took = spent([*COMMAND, "score", str(file), "-m", metric, *options], environment)
                lines.append((metric, engine, str(jobs), f"{took.cpu:.0f}", f"{took.clock:.0f}"))
    return grid(["metric", "engine", "workers", "CPU s", "s by the clock"], lines, left=2)


def fewest(arguments: argparse.Namespace, folder: Path) -> str:
    """CPU milliseconds per 1,000 replies in this process and in those that it starts, and what starting them takes."""
    few, many = (written(arguments, folder, int(wanted * arguments.replies)) for wanted in (16_384, 65_536))
    lines = []
    for metrics in (["bleu-2"], [metric for metric in FAST if metric not in ("cider", "specificity")]):
        for jobs in (1, 2):
            small, large = (scored_here(path, metrics, jobs) for path in (few, many))
            each = [(after - before) / 49_152 / arguments.replies for before, after in zip(small, large, strict=True)]
            start = sum(small) - sum(each) * 16_384 * arguments.replies
            names = metrics[0] if len(metrics) == 1 else f"{len(metrics)} metrics"
            lines.append((names, str(jobs), *(f"{seconds * MILLION:.0f}" for seconds in each), f"{start:.1f}"))
    return grid(["metrics", "processes", "this one, ms", "the others, ms", "start, s"], lines, left=1)


def scored_here(path: Path, metrics: list[str], jobs: int) -> tuple[float, float]:
    """CPU seconds of scoring a file, in this process and in those that it starts."""

    def now() -> list[float]:
        both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return [used.ru_utime + used.ru_stime for used in both]

    source = Source(path)
    run = LocalRun(source, survey(source), choose_metrics(metrics).metrics, resamples=20, quiet=True, jobs=jobs)
    before = now()
    run.score()
    here, below = (after - earlier for earlier, after in zip(before, now(), strict=True))
    return here, below


def memory(arguments: argparse.Namespace, folder: Path) -> str:
    """Peak resident size of the commands that see all scores, which are made up, in parts as a run leaves them."""
    lines = []
    for count in arguments.large:
        scores = made_up_scores(folder / f"scores-{count}", count)
        sizes = [
            peak([*COMMAND, "compare", "--scores", str(scores), "--quiet"]),
            peak([*COMMAND, "report", str(scores), "-o", str(folder / "report.html"), "--quiet"]),
        ]
        lines.append((f"{count:,}", *(f"{size:,.0f} MB, {seconds:,.0f} s" for size, seconds in sizes)))
        shutil.rmtree(scores)
    return grid(["replies", "compare --scores", "report"], lines, left=1)


def driver(arguments: argparse.Namespace, folder: Path) -> str:
    """Peak resident size of the process that plans a run on Ray, and puts its results together."""
    lines = []
    for count in arguments.driven:
        file = made_up(folder, count)
        options = ["-m", "length", "-m", "distinct-2", "--engine", "ray", "--jobs", "2", "--quiet"]
        size, seconds = peak([*COMMAND, "score", str(file), *options, "-o", str(folder / f"driven-{count}")])
        lines.append((f"{count:,}", f"{size:,.0f} MB, {seconds:,.0f} s"))
    return grid(["replies", "score --engine ray, driver"], lines, left=1)


def made_up_scores(path: Path, count: int) -> Path:
    """A folder of scores of two systems on the same contexts, by two metrics."""
    chosen = np.random.default_rng(0)
    spans = [Span(first, min(FAST_PART, count - first), "", 1, 1, 1, 1) for first in range(0, count, FAST_PART)]
    signatures = {"length": "length|v:0", "share": "share|v:0"}
    planned = Manifest.planned({"signatures": signatures}, ("A", "B"), tuple(signatures), (), spans)
    folder = PartsFolder(path)
    folder.start(planned)
    for number, span in enumerate(spans):
        rows = np.arange(span.first, span.first + span.count)
        scores = {"length": chosen.integers(0, 30, span.count).astype(float), "share": chosen.random(span.count)}
        columns = {"id": (rows // 2).astype(str), "system": np.array(["A", "B"])[rows % 2], "context": rows // 2}
        frame = pl.DataFrame({**columns, "dialogue": np.zeros(span.count, np.int64), **scores})
        frame.select(*columns, "dialogue", scores=pl.struct(*scores)).write_parquet(folder.part(number))
    folder.finish(
        replace(planned, metadata={"signatures": signatures, "ranges": {"share": [0, 1], "length": [0, None]}})
    )
    return path


def spent(command: list[str], environment: dict[str, str]) -> Spent:
    """What a command took, with all processes below it.

    Ray's are not waited for by those that start them, so their CPU time is read while they run, twice a second.
    """
    clock, seconds = time.perf_counter(), dict[int, float]()
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        seconds |= _running_below(process.pid)
        time.sleep(0.5)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Spent(sum(seconds.values()), time.perf_counter() - clock)


def _running_below(pid: int) -> dict[int, float]:
    """Process -> its CPU seconds so far, for a process and all below it (Linux)."""
    found: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        ticks = int(fields[11]) + int(fields[12])
        found[int(path.parent.name)] = (int(fields[1]), ticks / os.sysconf("SC_CLK_TCK"))
    below, waiting = dict[int, float](), [pid]
    while waiting:
        one = waiting.pop()
        if one in found:
            below[one] = found[one][1]
        waiting += [child for child, (parent, _) in found.items() if parent == one]
    return below


def written(arguments: argparse.Namespace, folder: Path, count: int) -> Path:
    """A Parquet file of so many real replies, each with a context of its own."""
    path = folder / f"replies-{count}.parquet"
    if not path.exists():
        rows = list(islice(replies(arguments.dialogues), count))
        rows = [{**rows[number % len(rows)], "id": str(number)} for number in range(count)]
        for number in range(len(rows)):
            rows[number]["references"] = [rows[(number * 7 + 1) % len(rows)]["response"]]
        pl.DataFrame(rows).write_parquet(path)
    return path


def replies(dialogues: Path) -> Iterator[dict[str, object]]:
    """Each turn but the first of each dialogue, as a reply to the turns before it."""
    for dialogue in DialogueSource(dialogues):
        for place in range(1, len(dialogue.turns)):
            yield {"context": list(dialogue.turns[max(0, place - TURNS) : place]), "response": dialogue.turns[place]}


def made_up(folder: Path, count: int) -> Path:
    """A Parquet file of short replies by two systems to the same contexts."""
    chosen = random.Random(0)
    words = [f"w{number}" for number in range(2000)]
    texts = [" ".join(chosen.choices(words, k=chosen.randint(3, 12))) for _ in range(20_000)]
    frame = pl.DataFrame({"row": range(count)}).with_columns(
        id=(pl.col("row") // 2).cast(pl.String),
        system=pl.when(pl.col("row") % 2 == 0).then(pl.lit("A")).otherwise(pl.lit("B")),
        context=pl.concat_list(pl.lit("said number ") + (pl.col("row") // 2).cast(pl.String)),
        response=pl.Series(texts).gather((pl.Series(range(count)) * 7919) % len(texts)),
    )
    path = folder / f"made-up-{count}.parquet"
    frame.drop("row").write_parquet(path, row_group_size=65_536)
    return path


if __name__ == "__main__":
    main()
