"""The `rejoinder` command. An interrupt ends it with one line and exit code 130, also while modules are imported.

This module imports next to nothing itself, so that little can be interrupted before `main` is called.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # that of `typing` would have to be imported
if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130
"""The exit code, as shells have it for a command that SIGINT ended."""


def main() -> int:
    """Run the command line, and return the exit code."""
    return guarded("rejoinder", _load)


def _load() -> Callable[..., int]:
    from rejoinder.cli import main as loaded

    return loaded


def guarded(program: str, load: Callable[[], Callable[..., int]]) -> int:
    """The exit code of a program, whose main function `load` imports and returns."""
    try:
        import signal

        interrupts = _Interrupts()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background ignores it
            signal.signal(signal.SIGINT, interrupts)
        return load()(interrupted=interrupts.any)
    except KeyboardInterrupt:
        sys.stderr.write(f"{program}: interrupted\n")
        return INTERRUPTED


class _Interrupts:
    """Remembers whether there was an interrupt: native code that is being imported turns it into another error."""

    def __init__(self) -> None:
        self._seen = False

    def __call__(self, number: int, frame: object) -> None:  # noqa: ARG002 - as signal handlers are called
        self._seen = True
        raise KeyboardInterrupt

    def any(self) -> bool:
        """Whether there was one."""
        return self._seen


if __name__ == "__main__":
    sys.exit(main())
