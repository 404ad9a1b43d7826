"""Tests against mutants, in one pytest session: tests are collected once, and each mutant is tried in a forked process.

First, all tests run unmutated in a forked process, which notes for each its processor time and the functions that it
calls. A mutant then meets the tests that call the changed function, the quickest first, up to the first failure. A test
has five times its own processor time and five seconds more, after which the mutant counts as timed out.

For a mutant of what runs at import, the child imports this package and the tests again; the mutant then meets the tests
that call any function of its module.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any
from zlib import crc32

import pytest

from mutant_swapping import Key, exchanges, key_of, live_functions

# Tests write to the standard output itself, which a child discards; a busy machine must not make a test time out.
OPTIONS = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "0", "--no-header", "--no-summary")
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # of libraries that this script has imported
SLOWEST = 6.0  # seconds of processor time; slower tests are not used
FAILED = 255  # the exit code of a child that could not run its tests
MEMORY = 6 * 2**30  # bytes that a mutant may take beyond what the session has


@dataclass(frozen=True)
class Mutant:
    """A changed piece of the source: lines `start` to `end` (counted from 0) of `module` become `after`."""

    number: int
    module: str
    operator: str
    start: int
    end: int
    before: list[str]
    after: list[str]

    def applied(self, source: str) -> str:
        """The source of the module with the change; a UsageError if it is no longer the source that was drawn from."""
        lines = source.splitlines(keepends=True)
        if lines[self.start : self.end] != self.before:
            raise pytest.UsageError(f"{self.module} has changed since mutants were drawn: draw again")
        return "".join([*lines[: self.start], *self.after, *lines[self.end :]])


@dataclass
class Known:
    """What the unmutated run says about a test."""

    seconds: float
    functions: set[Key] = field(default_factory=set)
    alone: float = 0.0
    """The time without fixtures that it shares."""
    file: int = 0
    """The digest of the file that it is in."""
    usable: bool = True
    """Whether it passes, quickly enough."""

    def meets(self, keys: set[Key], file: str) -> bool:
        """Whether the test calls one of these functions, or, if there are none, any function of this file."""
        return bool(self.functions & keys) if keys else any(path == file for path, _, _ in self.functions)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed, survived, timed out, or met by no test."""

    number: int
    verdict: str
    test: str = ""
    seconds: float = 0.0


class Session:
    """A plugin of pytest, which tries mutants instead of running the tests once."""

    def __init__(
        self,
        tree: Path,
        mutants: list[Mutant],
        seconds: float,
        report: Callable[[Verdict], None],
        fresh: bool = False,
    ):
        self.tree, self.mutants, self.seconds, self.report, self.fresh = tree, mutants, seconds, report, fresh
        self.known_file = tree.parent / "tests.jsonl"
        self.package = tree / "src" / "rejoinder"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tries each mutant."""
        if session.testsfailed:
            raise pytest.UsageError("some tests could not be collected")
        items = {item.nodeid: item for item in session.items}
        known = _read_known(self.known_file)
        unknown = [item for test, item in items.items() if test not in known or known[test].file != _digest(item)]
        if unknown and _in_child(lambda: self._observe(session, unknown), None) != 0:
            raise pytest.UsageError("the unmutated run failed")
        known = {test: one for test, one in _read_known(self.known_file).items() if one.usable and test in items}
        live = live_functions(self.package)
        for mutant in self.mutants:
            self.report(self._try(mutant, known, items, live))
        return True

    def _observe(self, session: pytest.Session, items: list[pytest.Item]) -> int:
        """Runs tests unmutated; writes which pass, how long they take and what they call."""
        observer = Observer(str(self.package))
        session.config.pluginmanager.register(observer)
        _run(session, items, observer.around)
        with self.known_file.open("a", encoding="utf-8") as file:
            for test, one in observer.known.items():
                file.write(json.dumps({"test": test, **asdict(one), "functions": sorted(one.functions)}) + "\n")
        return 0

    def _try(
        self,
        mutant: Mutant,
        known: dict[str, Known],
        items: dict[str, pytest.Item],
        live: dict[Key, list[FunctionType]],
    ) -> Verdict:
        module = self.package / mutant.module
        source = module.read_text(encoding="utf-8")
        mutated = mutant.applied(source)
        changes = exchanges(module, mutated, live)
        keys = {key_of(function.__code__) for function, _ in changes}
        tests = self._quickest([test for test, one in known.items() if one.meets(keys, str(module))], known)
        if not tests:
            return Verdict(mutant.number, "no test")
        total = sum(known[test].seconds for test in tests)

        def exchanged() -> int:
            for function, code in changes:
                function.__code__ = code
            chosen = [items[test] for test in tests]
            return _run(chosen[0].session, chosen, lambda item: _limited(known[item.nodeid].seconds), stop=True)

        def imported_again() -> int:
            with _limited(3 + total):
                return self._run_again(tests)

        started = _children_seconds()
        if changes and not self.fresh:
            code = _in_child(exchanged, 300 + 40 * total)
        else:
            module.write_text(mutated, encoding="utf-8")
            try:
                code = _in_child(imported_again, 300 + 40 * total)
            finally:
                module.write_text(source, encoding="utf-8")
        seconds = round(_children_seconds() - started, 2)
        if code is None or code == FAILED:
            return Verdict(mutant.number, "timed out" if code is None else "failed", seconds=seconds)
        killer = tests[code - 1] if changes and not self.fresh and code else ""
        return Verdict(mutant.number, "killed" if code else "survived", killer, seconds)

    def _quickest(self, tests: list[str], known: dict[str, Known]) -> list[str]:
        """The quickest tests, that together take about `seconds`, and at most 250 (an exit code names the killer).

        Shared fixtures are counted once per file.
        """
        chosen: list[str] = []
        files: set[str] = set()
        total = 0.0
        for test in sorted(tests, key=lambda test: (known[test].seconds, test))[:250]:
            file = test.split("::")[0]
            total += known[test].alone if file in files else known[test].seconds
            if chosen and total > self.seconds:
                break
            chosen.append(test)
            files.add(file)
        return chosen

    def _run_again(self, tests: list[str]) -> int:
        """The exit code of pytest with this package imported again, or in a new process."""
        arguments = ["-x", *OPTIONS, *QUIET, "--basetemp", str(self.tree.parent / "tests"), *tests]
        if self.fresh:
            os.execv(sys.executable, [sys.executable, "-B", __file__, *arguments])
        sys.dont_write_bytecode = True
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(str(self.tree)):
                del sys.modules[name]
        return int(pytest.main(arguments))


class Observer:
    """A plugin of pytest that notes what each test calls, and its processor time.

    What a shared fixture calls, and its time, count for every test that uses it, since each test may run alone.
    """

    def __init__(self, folder: str):
        self.folder = folder
        self.known: dict[str, Known] = {}
        self.unusable: set[str] = set()
        self.fixtures: dict[Any, Known] = {}
        self.made: set[Any] = set()
        self.stack: list[set[Key]] = [set()]
        signal.signal(signal.SIGPROF, _too_slow)

    @contextlib.contextmanager
    def around(self, item: pytest.Item) -> Iterator[None]:
        """Notes what runs in this block as the work of the test; stops a test that is too slow to be used."""
        self.stack, self.made = [set()], set()
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SLOWEST)
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - started
        alone = seconds - sum(self.fixtures[one].seconds for one in self.made if one.scope != "function")
        known = Known(seconds, self.stack[0], max(alone, 0.0))
        for definitions in item._fixtureinfo.name2fixturedefs.values():  # type: ignore[attr-defined]
            for shared in (self.fixtures[one] for one in definitions if one in self.fixtures and one not in self.made):
                known.functions |= shared.functions
                known.seconds += shared.seconds
        known.usable, known.file = item.nodeid not in self.unusable, _digest(item)
        self.known[item.nodeid] = known

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """Keeps apart what a fixture calls."""
        self.stack.append(set())
        started = time.process_time()
        try:
            result = yield
        finally:
            functions = self.stack.pop()
            self.stack[-1] |= functions
            self.made.add(fixturedef)
            self.fixtures[fixturedef] = Known(time.process_time() - started, functions)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tests that fail or are skipped unmutated say nothing about mutants."""
        if not report.passed:
            self.unusable.add(report.nodeid)

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG002 (of sys.settrace)
        if frame.f_code.co_filename.startswith(self.folder):
            self.stack[-1].add(key_of(frame.f_code))


def _too_slow(*_: object) -> None:
    raise TimeoutError("the test takes too long for mutants")


def _run(
    session: pytest.Session,
    items: list[pytest.Item],
    around: Callable[[pytest.Item], contextlib.AbstractContextManager[None]],
    stop: bool = False,
) -> int:
    """Runs tests; with `stop`, the number of the first that fails, counted from 1, or 0."""
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else None
        with around(item):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if stop and session.testsfailed:
            return number + 1
    return 0


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Ends this process (SIGXCPU) if the block takes much more processor time than expected."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + 5 + 5 * seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    yield


def _in_child(work: Callable[[], int], wall: float | None) -> int | None:
    """The exit code of `work` in a forked process; None if it was ended by a signal or took longer than `wall`."""
    process = os.fork()
    if not process:
        code = FAILED
        try:
            if wall:
                taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
            os.setpgid(0, 0)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            code = work()
        finally:
            os._exit(code)
    started = time.monotonic()
    while True:
        ended, status = os.waitpid(process, os.WNOHANG if wall else 0)
        if ended:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None
        if wall and time.monotonic() - started > wall:
            os.killpg(process, 9)
            os.waitpid(process, 0)
            return None
        time.sleep(0.02)


def _children_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _digest(item: pytest.Item) -> int:
    return crc32(item.path.read_bytes())


def _read_known(path: Path) -> dict[str, Known]:
    known = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        test, functions = row.pop("test"), {tuple(key) for key in row.pop("functions")}
        known[test] = Known(functions=functions, **row)
    return known


def quick_hypothesis() -> None:
    """Hypothesis tries the same examples each time and does not look for the smallest that fails."""
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=phases)
    settings.load_profile("mutants")


if __name__ == "__main__":  # the tests of one mutant in a new process
    sys.path[0] = str(Path.cwd() / "src")
    quick_hypothesis()
    sys.exit(pytest.main(sys.argv[1:]))
