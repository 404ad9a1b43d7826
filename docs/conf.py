"""The site of this folder: `make docs` builds it with Sphinx, and a broken link or a failing notebook is an error.

The pages are plain Markdown, which GitHub shows too: what only the site needs is here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import rejoinder

DOCS = Path(__file__).resolve().parent
REPOSITORY = "https://github.com/rejoinder/rejoinder/blob/main/"

project = "rejoinder"
version = release = rejoinder.__version__
extensions = ["myst_nb"]
html_theme = "furo"
html_title = f"rejoinder {release}"
exclude_patterns = ["*.py"]

myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # JSON lines and shortened examples are not whole documents

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

GUIDES = (
    "score-a-chatbot",
    "compare-two-versions",
    "read-a-report",
    "choosing-a-metric",
    "in-ci",
    "other-tools",
    "plan-an-evaluation",
    "collect-ratings",
    "rater-agreement",
    "what-to-label-next",
    "pairwise-preferences",
    "llm-judge",
    "train-on-my-ratings",
    "calibration",
    "distillation",
)
"""Guides in the order of the site; others follow."""


def _section(caption: str, pages: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def _pages(folder: str, first: tuple[str, ...] = ()) -> list[str]:
    """The pages of a folder, those of `first` before the others."""
    found = {path.stem for path in (DOCS / folder).iterdir() if path.suffix in {".md", ".ipynb"}}
    return [f"{folder}/{name}" for name in [*(name for name in first if name in found), *sorted(found - {*first})]]


def _add_contents(_: Any, page: str, source: list[str]) -> None:
    """Add the site's navigation to the index page."""
    if page == "index":
        source[0] += _section("Guides", _pages("guide", GUIDES))
        source[0] += _section("Notebooks", _pages("notebooks"))
        source[0] += _section("Reference", _pages("reference"))
        source[0] += _section("Results", _pages("results"))
        source[0] += _section("Design", _pages("design"))


def _link_to_repository(_: Any, page: str, source: list[str]) -> None:
    """Let links to files of the repository outside this folder lead to its site; one to no file stays, as an error."""
    folder = (DOCS / page).parent

    def replaced(link: re.Match[str]) -> str:
        target = (folder / link[1]).resolve()
        if target.is_relative_to(DOCS) or not target.exists():
            return link[0]
        return f"]({REPOSITORY}{target.relative_to(DOCS.parent)})"

    source[0] = re.sub(r"\]\((\.\./[^)#]+)\)", replaced, source[0])


def setup(app: Any) -> None:
    """Sphinx's hook."""
    app.connect("source-read", _add_contents)
    app.connect("source-read", _link_to_repository)
