"""Writes the pictures of docs/guide/collect-ratings.md: `python docs/make_annotation_pictures.py`. Needs Chromium.

A study of the replies that come with the package is served, simulated raters answer it, and its pages are photographed.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import rejoinder
from rejoinder.cli import main

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))
from simulated_raters import Page, StudyServer, Visitor, answer, begin, served  # noqa: E402 - after its folder is known

PICTURES = ROOT / "docs" / "guide" / "pictures"
QUALITY = {"good": 4.2, "generic": 2.6, "off-topic": 1.9}
RATERS = 12


def take(folder: Path) -> None:
    """Serve a study in this folder, fill it, and photograph it."""
    systems = _write_replies(folder / "replies.jsonl")
    study = folder / "study.toml"
    main(["annotate", "new", str(folder / "replies.jsonl"), "-o", str(study), "--quiet"])
    text = study.read_text(encoding="utf-8").replace("seed = 0", "seed = 0\nreturn_after_minutes = 600")
    # Simulated raters answer a hundred times as fast as people.
    text = text.replace("[checks]", "[checks]\nfastest = 0.015")
    study.write_text(text.replace("items_per_rater = 40", "items_per_rater = 24"), encoding="utf-8")
    with served(study, "--open") as server:
        for number in range(RATERS):
            _rate(server.port, number, systems)
        secrets = json.loads(study.with_suffix(".secrets.json").read_text(encoding="utf-8"))
        _photograph(server, secrets["admin"])


def _write_replies(path: Path) -> dict[str, str]:
    """The replies of three systems; the result says which system gave which reply."""
    demo = Path(rejoinder.__file__).parent / "examples" / "demo.jsonl"
    records = [json.loads(line) for line in demo.read_text(encoding="utf-8").splitlines()]
    # Not every machine has fonts for all scripts.
    kept = [record for record in records if record["system"] in QUALITY and "".join(record["context"]).isascii()]
    path.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
    return {record["response"]: record["system"] for record in kept}


def _rate(port: int, number: int, systems: dict[str, str]) -> None:
    """A rater who gives scores around the quality of each system; the first gives the highest score to all."""
    rng = random.Random(number)

    def answers(page: Page) -> dict[str, str]:
        quality = next((QUALITY[system] for reply, system in systems.items() if reply in page.reply), 1.0)
        score = 5 if number == 0 else min(5, max(1, round(rng.gauss(quality, 0.8))))
        return dict.fromkeys(page.questions, str(score))

    visitor = Visitor(port)
    page = begin(visitor, f"/join?PROLIFIC_PID=demo-{number}")
    while page.item:
        time.sleep(0.0 if number == 0 else 0.06)
        page = answer(visitor, page, answers)
    visitor.close()


def _photograph(server: StudyServer, admin: str) -> None:
    address = f"http://127.0.0.1:{server.port}"
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        rater = browser.new_page(viewport={"width": 900, "height": 900})
        rater.goto(f"{address}/join?PROLIFIC_PID=rater")
        rater.get_by_role("button", name="I agree").click()
        for _ in range(4):
            _chosen(rater, "4")
            rater.keyboard.press("Enter")
            rater.wait_for_load_state()
        _chosen(rater, "4")
        _shot(rater, "rater.png")
        phone = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        phone.goto(f"{address}/join?PROLIFIC_PID=phone")
        phone.get_by_role("button", name="I agree").click()
        phone.locator("summary").click()
        _chosen(phone, "2")
        _shot(phone, "phone.png")
        organiser = browser.new_page(viewport={"width": 900, "height": 900})
        organiser.goto(f"{address}/admin/{admin}")
        organiser.screenshot(path=PICTURES / "admin.png")
        browser.close()


def _chosen(page: Any, score: str) -> None:
    page.locator("#answers").wait_for()
    page.keyboard.press(score)


def _shot(page: Any, name: str) -> None:
    page.screenshot(path=PICTURES / name)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        take(Path(temporary))
