"""What was skipped for want of something, and how to get it: the last lines of a test run.

`--no-skip MARKER` makes a skipped test with that marker a failure, as `.ci/run` does for those in a browser.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

HOW_TO_GET = {
    "chromium": "Chromium: apt-get install chromium",
    "playwright": "Playwright: make .venv/test",
    "axe": "axe-core: npm install axe-core in any folder, and name its file: REJOINDER_AXE=.../axe-core/axe.min.js",
    "postgresql": "PostgreSQL: apt-get install postgresql",
    "meteor": "the METEOR 1.5 jar: unpack https://www.cs.cmu.edu/~alavie/METEOR/download/meteor-1.5.tar.gz, "
    "and put meteor-1.5.jar into models-cache/meteor",
    "java": "Java: apt-get install default-jre-headless",
    "ppi": "ppi-python: make .venv/test",
    "wordnet": "WordNet 3.0: unpack its dict folder into models-cache/wordnet",
    "shared": "the judged data sets, which are beside the checkout where the package is developed (../shared/data)",
    "package index": "a package index: connect to the network",
    "zsh": "zsh: apt-get install zsh",
    "fish": "fish: apt-get install fish",
    "git": "git: apt-get install git",
    "peer package": "packages of other tools, each in an environment of its own: see tests/support/peers.py",
    "needs": "the optional parts of the package: make .venv/test",
    "could not import": "the optional parts of the package: make .venv/test",
}
"""What the reason of a skip contains -> what is missing, and how to get it; the first that fits."""


def skip_lines(reasons: Iterable[str]) -> Iterator[str]:
    """One line per missing thing, those that most tests need first."""
    missing = Counter(_missing(reason) for reason in reasons)
    for what, count in missing.most_common():
        yield f"{count} {'test' if count == 1 else 'tests'} skipped for want of {what}"


def _missing(reason: str) -> str:
    plain = reason.removeprefix("Skipped: ")
    return next((how for sign, how in HOW_TO_GET.items() if sign in plain.casefold()), f"something else: {plain}")
