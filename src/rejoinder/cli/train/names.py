"""What can be trained, with the purpose of each."""

from __future__ import annotations

from rejoinder.registry import RECOMMENDED, TRAINABLE
from rejoinder.show.text import aligned


def overview() -> str:
    """All names with their purposes, group by group."""
    lines = [
        f"If in doubt, train an {RECOMMENDED}: it learns from dialogues, from human ratings, or from both, and scores",
        "without torch afterwards.",
    ]
    for group, purposes in TRAINABLE.items():
        lines += ["", f"{group}:", *aligned(purposes, 96)]
    return "\n".join([*lines, "", "`rejoinder train NAME --help` lists the options of each."])
