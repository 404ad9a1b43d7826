"""Studies, and their web application on a port of this machine, in a thread of the test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from rejoinder.people.server import Secrets, rating_app
from rejoinder.people.store import Store
from rejoinder.people.study import Study, read_study

SECRETS = Secrets("s" * 32, "organisers-token")
SCALES = """
title = "How good are these replies?"
examples = "replies.jsonl"
raters_per_item = 2
items_per_rater = 4
shared_items = 2
consent = "Your answers are stored without your name."
[checks]
garbled = 0.0
repeated = 0.0
[codes]
done = "CODE-1"
[[questions]]
name = "overall"
text = "How good is this reply, all in all?"
labels = ["very bad", "bad", "acceptable", "good", "very good"]
[[questions]]
name = "relevance"
text = "How well does it fit?"
page = 2
low = 0
high = 2
[[questions.examples]]
context = ["Where is my hat?"]
response = "On your head."
answer = "2"
why = "It answers the question."
[[questions]]
name = "grammar"
text = "How fluent is it?"
page = 2
"""
COMPREHENSION = """
[[comprehension]]
text = "What do you judge?"
choices = ["the conversation", "the <i>reply</i>"]
right = "the <i>reply</i>"
"""
ONE_QUESTION = """
title = "Another study"
examples = "replies.jsonl"
items_per_rater = 3
shared_items = 0
[[questions]]
name = "reply"
kind = "{kind}"
text = "What do you say?"
"""


def write_study(folder: Path, text: str) -> Study:
    """A study in this folder, of twelve contexts with the replies of two systems, some of them hostile."""
    records = [
        {
            "id": f"{n}-{system}",
            "context_id": str(n),
            "context": [f"Question {n}?", "A longer answer. " * 8, 'Hostile <img src=x onerror="window.hacked=1">'],
            "response": f"Reply {n} of {system} <script>window.hacked=1</script>",
            "system": system,
        }
        for n in range(12)
        for system in ("first", "second")
    ]
    (folder / "replies.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "study.toml").write_text(text)
    return read_study(folder / "study.toml")


@contextmanager
def running_app(study: Study, store: Store) -> Iterator[str]:
    """The address of the running application."""
    settings = uvicorn.Config(rating_app(study, store, SECRETS), port=0, log_level="warning", access_log=False)
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
