"""Label Studio and Potato themselves: each is started, loads our export, gets an answer, and gives it back to us.

Their requirements clash with ours, so that each has an environment of its own: `make other-servers` makes them and runs
this file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette")

from annotation_server import SCALES, write_study
from benchmark_scripts import benchmark_script
from rejoinder.people.items import items_of
from rejoinder.people.store import RaterAnswer, open_store
from running import Run

TOKEN = "0123456789abcdef0123456789abcdef01234567"
PATIENCE = 1800.0
"""Seconds in which a server must start; Label Studio builds its database first."""


def program(variable: str) -> str:
    """The path of another tool's program; the test is skipped where the variable does not name one."""
    found = os.environ.get(variable, "")
    if not found:
        pytest.skip(f"peer program of {variable} is not installed: `make other-servers`")
    return found


@contextmanager
def started(command: list[str], address: str, folder: Path, **environment: str) -> Iterator[None]:
    """A server in a process of its own, ready to answer at the address, ended after the block."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env={**os.environ, **environment})
        try:
            until = time.monotonic() + PATIENCE
            while True:
                try:
                    urllib.request.urlopen(address, timeout=30).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > until:
                        pytest.fail(f"{command[0]} did not start:\n{(folder / 'server.log').read_text()[-2000:]}")
                    time.sleep(0.5)
            yield
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture
def item(tmp_path: Path) -> str:
    """A study whose first item has an answer; the result is the id of that item."""
    study = write_study(tmp_path, SCALES)
    found = sorted(item.id for item in items_of(study))[0]
    store = open_store(tmp_path / "study.db")
    with store.transaction():
        store.add_rater("ours", "token", "")
    store.add_answers([RaterAnswer("ours", found, "overall", "4", 3.0, 1000.0)])
    store.close()
    return found


def stored(folder: Path) -> set[tuple[str, str, str, str]]:
    store = open_store(folder / "study.db")
    named = {rater.id: rater.source for rater in store.raters()}
    found = {(named[one.rater], one.item, one.question, one.value) for one in store.answers()}
    store.close()
    return found


def asked(address: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=120) as answer:
        return json.load(answer)


def test_label_studio_loads_our_tasks_and_its_export_comes_back(run: Run, tmp_path: Path, item: str) -> None:
    command = program("REJOINDER_LABEL_STUDIO")
    assert run("annotate", "export", "study.toml", "--to", "label-studio", "-o", "tasks.json").code == 0
    port = benchmark_script("simulated_raters").free_port()
    options = ["start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port), "--data-dir", "data"]
    account = ["--username", "ann@example.org", "--password", "a-long-password", "--user-token", TOKEN]
    address = f"http://127.0.0.1:{port}"
    settings = {"LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "LATEST_VERSION_CHECK": "false"}
    with started([command, *options, *account], f"{address}/health", tmp_path, COLLECT_ANALYTICS="false", **settings):
        configuration = (tmp_path / "tasks.xml").read_text()
        project = asked(f"{address}/api/projects/", {"title": "Replies", "label_config": configuration})["id"]
        tasks = json.loads((tmp_path / "tasks.json").read_text())
        imported = asked(f"{address}/api/projects/{project}/import", tasks)
        assert (imported["task_count"], imported["annotation_count"]) == (24, 1)
        listed = asked(f"{address}/api/tasks?project={project}&page_size=100&fields=all")["tasks"]
        second = next(task for task in listed if task["data"]["item"] != item)
        given = {"from_name": "grammar", "to_name": "reply", "type": "choices", "value": {"choices": ["2"]}}
        asked(f"{address}/api/tasks/{second['id']}/annotations/", {"result": [given], "lead_time": 7.5})
        exported = asked(f"{address}/api/projects/{project}/export?exportType=JSON")
    (tmp_path / "export.json").write_text(json.dumps(exported))
    done = run("annotate", "import", "study.toml", "export.json", "--from", "label-studio")
    assert done.code == 0, done.err
    assert "1 new answers of 2" in done.err, "our own answer, which went there and came back, is known"
    [found] = [one for one in stored(tmp_path) if one[2] == "grammar"]
    assert found[1:] == (second["data"]["item"], "grammar", "2")
    assert found[0].startswith("label-studio:")


def test_potato_shows_our_items_and_its_answers_come_back(run: Run, tmp_path: Path, item: str) -> None:
    command = program("REJOINDER_POTATO")
    assert run("annotate", "export", "study.toml", "--to", "potato", "-o", "items.jsonl").code == 0
    port = benchmark_script("simulated_raters").free_port()
    address = f"http://127.0.0.1:{port}"
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with started([command, "start", "items.yaml", "-p", str(port)], address, tmp_path):
        account = {"email": "ann", "pass": "a-long-password", "action": "signup"}
        browser.open(f"{address}/register", urlencode(account).encode(), timeout=60).close()
        page = browser.open(f"{address}/annotate", timeout=60).read().decode()
        assert "Reply to judge" in page
        shown = re.findall(r'id="instance_id"[^>]*value="([^"]+)"', page)[0]
        sent = json.dumps({"instance_id": shown, "annotations": {"overall:::4": "4", "grammar:::2": "2"}}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}/updateinstance", sent, headers)
        with browser.open(request, timeout=60) as answer:
            assert answer.status == 200
    done = run("annotate", "import", "study.toml", "annotation_output", "--from", "potato")
    assert done.code == 0, done.err
    found = {one for one in stored(tmp_path) if one[0] == "potato:ann"}
    assert found == {("potato:ann", shown, "overall", "4"), ("potato:ann", shown, "grammar", "2")}
