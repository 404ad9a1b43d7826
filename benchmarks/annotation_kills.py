"""A server of a study that is killed at random moments: is every answer kept that it acknowledged?

    python benchmarks/annotation_kills.py --kills 20

Some raters answer without a pause while the server's process gets SIGKILL and is started again. An answer counts as
acknowledged when the server has answered the request that sent it.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import tempfile
import threading
import time
from contextlib import closing
from http.client import HTTPException
from pathlib import Path

from rejoinder.people.store import open_store
from simulated_raters import StudyServer, Visitor, begin

STUDY = """
title = "Kills"
examples = "replies.jsonl"
raters_per_item = 1000
items_per_rater = 100000
shared_items = 0
[[questions]]
name = "overall"
text = "How good is this reply?"
"""
RATERS = 4
REPLIES = 4000
Key = tuple[str, str, str]


def killed(folder: Path, kills: int, seed: int = 0, store: str | None = None) -> tuple[int, list[Key]]:
    """The number of acknowledged answers, and those of them that are not stored, after so many kills."""
    study = folder / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    records = ({"id": str(n), "context": [f"Question {n}?"], "response": f"Reply {n}"} for n in range(REPLIES))
    (folder / "replies.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    server = StudyServer(study, options=("--store", store) if store else ())
    server.start()
    acknowledged: dict[Key, str] = {}
    stop = threading.Event()
    threads = [threading.Thread(target=_rate, args=(server.port, n, acknowledged, stop)) for n in range(RATERS)]
    rng = random.Random(seed)
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            known = len(acknowledged)
            while len(acknowledged) < known + 5:  # the raters are at work again
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.5))
            server.stop(signal.SIGKILL)
            server.start()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        server.stop(signal.SIGKILL)
    with closing(open_store(store or study.with_suffix(".db"))) as opened:
        named = {rater.id: rater.source.removeprefix("platform:") for rater in opened.raters()}
        stored = {(named[one.rater], one.item, one.question): one.value for one in opened.answers()}
    return len(acknowledged), [key for key, value in acknowledged.items() if stored.get(key) != value]


def _rate(port: int, number: int, acknowledged: dict[Key, str], stop: threading.Event) -> None:
    """Answer one page after the other; where the server is gone, try again."""
    who, rng, visitor = f"rater-{number}", random.Random(number), Visitor(port)
    while not stop.is_set():
        try:
            page = begin(visitor, f"/join?PROLIFIC_PID={who}")
            value = str(rng.randint(1, 5))
            if page.item and visitor.send("/answer", {**page.hidden, "overall": value}) == 303:
                acknowledged[who, page.item, "overall"] = value
        except (OSError, HTTPException):
            time.sleep(0.05)
        time.sleep(0.2)  # below the limit of requests
    visitor.close()


def main() -> None:
    """Print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", help="a PostgreSQL URL of an empty database (default: SQLite)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count, lost = killed(Path(folder), arguments.kills, arguments.seed, arguments.store)
    print(f"{arguments.kills} kills: {count:,} acknowledged answers, {len(lost)} lost")
    if lost:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
