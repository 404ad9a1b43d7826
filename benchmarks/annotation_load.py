"""Fifty raters at once on the server of a study: response times, and whether anything is lost or shown twice.

    python benchmarks/annotation_load.py
    python benchmarks/annotation_load.py --pause 0 --joining 0     # all join at the same moment and answer unread

Every rater is a thread with a connection of its own, which joins, loads each page, waits, and sends the form. Response
times are measured by the raters, so that they contain the waiting for this process, and on a busy machine that for
other programs. Two more figures depend less on the machine's load: the server's processor time per request, and the
response times of a request that does nothing (an unknown file), sent by one more visitor during the same run.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder.people.queue import Assigner
from rejoinder.people.store import open_store
from rejoinder.people.study import Study, read_study
from simulated_raters import Visitor, answer, begin, served

STUDY = """
title = "Load"
examples = "replies.jsonl"
consent = "Do you agree?"
raters_per_item = 3
items_per_rater = {items}
shared_items = 4
[[questions]]
name = "overall"
text = "How good is this reply?"
[[questions]]
name = "relevance"
text = "How well does it fit?"
page = 2
"""
Given = dict[tuple[str, str], str]
"""Item and question -> value."""


@dataclass(frozen=True)
class Load:
    """What many raters at once saw, and what was stored."""

    seconds: list[tuple[str, float]]
    """Method and response time of each request."""
    errors: int
    """Answers other than a page."""
    answers: int
    lost: int
    """Answers that were acknowledged, but are not stored as they were given."""
    twice: int
    """Items that a rater was shown again after the last page."""
    missing: int
    """Items that have fewer raters than the study asks for."""
    nothing: list[float]
    """Response times of requests that do nothing, while the raters were at work."""
    cpu: float
    """Seconds of processor time of the server, from the first request to the last."""


def write_study(folder: Path, raters: int) -> Path:
    """A study of as many items as so many raters can rate, three times each."""
    own = 12
    contexts = raters * own // (3 * 2)
    records = (
        {
            "id": f"{n}{system}",
            "context_id": str(n),
            "context": [f"Question {n}?"],
            "response": f"Reply {n} of {system}",
        }
        | {"system": system}
        for n in range(contexts)
        for system in "ab"
    )
    (folder / "replies.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    study = folder / "study.toml"
    study.write_text(STUDY.format(items=own + 4), encoding="utf-8")
    return study


def loaded(study_file: Path, raters: int, pause: float, joining: float, store: str | None = None) -> Load:
    """Let so many raters at once answer everything that they are given."""
    start, done_rating = threading.Barrier(raters + 1), threading.Event()
    with served(study_file, *(["--store", store] if store else [])) as server:

        def rate(number: int) -> tuple[Visitor, Given, int, int]:
            rng = random.Random(number)
            visitor, given, errors, twice = Visitor(server.port), Given(), 0, 0
            start.wait()
            time.sleep(rng.uniform(0, joining))
            page = begin(visitor, f"/join?PROLIFIC_PID=rater-{number}")
            while page.item:
                time.sleep(rng.uniform(0.5, 1.5) * pause)
                values = {question: str(rng.randint(1, 5)) for question in page.questions}
                twice += any((page.item, question) in given for question in values)
                given |= {(page.item, question): value for question, value in values.items()}
                page = answer(visitor, page, lambda _, values=values: values)  # type: ignore[misc]
                errors += page.status != 200
            visitor.close()
            return visitor, given, errors, twice

        def probe() -> list[float]:
            visitor = Visitor(server.port)
            start.wait()
            while not done_rating.wait(0.05):
                visitor.get("/pages/nothing")
            visitor.close()
            return [seconds for _, seconds in visitor.times]

        before = server.cpu_seconds()
        with ThreadPoolExecutor(raters + 1) as pool:
            probing = pool.submit(probe)
            done = list(pool.map(rate, range(raters)))
            done_rating.set()
        cpu = server.cpu_seconds() - before
    study = read_study(study_file)
    with closing(open_store(store or study_file.with_suffix(".db"))) as opened:
        named = {rater.id: rater.source.removeprefix("platform:") for rater in opened.raters()}
        stored = {(named[one.rater], one.item, one.question): one.value for one in opened.answers()}
        missing = _short_of_raters(study, Assigner(study, opened), stored)
    given = {(f"rater-{n}", *key): value for n, found in enumerate(done) for key, value in found[1].items()}
    return Load(
        [time for visitor, *_ in done for time in visitor.times],
        sum(found[2] for found in done),
        len(given),
        sum(stored.get(key) != value for key, value in given.items()) + len(stored.keys() - given.keys()),
        sum(found[3] for found in done),
        missing,
        probing.result(),
        cpu,
    )


def _short_of_raters(study: Study, assigner: Assigner, stored: dict[tuple[str, str, str], str]) -> int:
    counts = Counter(item for _, item in {(rater, item) for rater, item, _ in stored})
    return sum(counts[item.id] < study.raters_per_item for item in assigner.items.values() if item.role == "real")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raters", type=int, default=50)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between a page and its answer")
    parser.add_argument("--joining", type=float, default=5.0, help="seconds within which all raters join")
    parser.add_argument("--store", help="a PostgreSQL URL of an empty database (default: SQLite)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = write_study(Path(folder), arguments.raters)
        load = loaded(study, arguments.raters, arguments.pause, arguments.joining, arguments.store)
    print("| request | number | p50 ms | p99 ms | slowest ms |\n|---|---|---|---|---|")
    kinds = {method: [seconds for one, seconds in load.seconds if one == method] for method in ("GET", "POST")}
    for method, seconds in {**kinds, "nothing": load.nothing}.items():
        times = 1000 * np.array(seconds)
        middle, high = np.quantile(times, [0.5, 0.99])
        print(f"| {method} | {len(times):,} | {middle:.0f} | {high:.0f} | {times.max():.0f} |")
    print(
        f"\n{load.answers:,} answers of {arguments.raters} raters: {load.lost} lost, {load.errors} errors, "
        f"{load.twice} items shown twice, {load.missing} items short of raters. Processor time of the server: "
        f"{1000 * load.cpu / (len(load.seconds) + len(load.nothing)):.1f} ms per request."
    )


if __name__ == "__main__":
    main()
