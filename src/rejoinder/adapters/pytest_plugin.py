"""The pytest plug-in: the fixture `reply_checks`, and `--rejoinder-report FILE.html`.

    def test_the_candidate(reply_checks):
        reply_checks.assert_not_worse("old.jsonl", "new.jsonl", metric="default", margin=0.2)

pytest loads this module in every project where rejoinder is installed, so it imports nothing before it is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rejoinder.adapters.reply_checks import ReplyChecks

CHECKS = pytest.StashKey["ReplyChecks"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option for the report."""
    parser.getgroup("rejoinder").addoption(
        "--rejoinder-report",
        metavar="FILE.html",
        help="write the results of the fixture reply_checks as one HTML file",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a report that could not be written, before any test runs."""
    target = config.getoption("--rejoinder-report")
    if target is not None and (not target.endswith(".html") or not Path(target).parent.is_dir()):
        raise pytest.UsageError(f"--rejoinder-report: expected a .html file in a folder that exists, not {target!r}")


@pytest.fixture(scope="session")
def reply_checks(request: pytest.FixtureRequest) -> ReplyChecks:
    """Scores replies and compares systems, each once per session."""
    from rejoinder.adapters.reply_checks import ReplyChecks

    return request.config.stash.setdefault(CHECKS, ReplyChecks())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report; with pytest-xdist, one per worker that made any checks."""
    target, checks = session.config.getoption("--rejoinder-report"), session.config.stash.get(CHECKS, None)
    if target is None or checks is None or not checks.sections:
        return
    from rejoinder.folders.outputs import write_text

    worker = getattr(session.config, "workerinput", {}).get("workerid", "")
    path = Path(target)
    write_text(path.with_stem(f"{path.stem}-{worker}") if worker else path, checks.report())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say where the report is, or that there was nothing to report."""
    target, checks = config.getoption("--rejoinder-report"), config.stash.get(CHECKS, None)
    if (
        target is not None
        and not hasattr(config, "workerinput")
        and config.pluginmanager.get_plugin("dsession") is None
    ):
        made = checks is not None and checks.sections
        said = f"rejoinder report: {target}" if made else "rejoinder report: no test used the fixture reply_checks"
        terminalreporter.write_line(said)
