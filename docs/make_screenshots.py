"""Takes the pictures of docs/guide/read-a-report.md: the demo's reports in a browser, light, dark and on a phone.

    python docs/make_screenshots.py

Needs playwright and Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from rejoinder.cli.demo_text import tell_metrics

IMAGES = Path(__file__).parent / "guide" / "images"
PICTURES = {
    "report-light": ("report.html", 1280, 900, "light"),
    "report-dark": ("report.html", 1280, 900, "dark"),
    "report-phone": ("report.html", 400, 800, "light"),
    "replies-light": ("report.html#replies?view=contexts", 1280, 900, "light"),
    "trust-light": ("trust.html", 1280, 900, "light"),
}
"""Name -> page with the address of what is shown, width, height, theme."""


def main() -> None:
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        tell_metrics(Path(folder))
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name, (page_name, width, height, scheme) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            file, _, place = page_name.partition("#")
            page.goto((Path(folder) / file).as_uri() + (f"#{place}" if place else ""))
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
