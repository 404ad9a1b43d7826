"""How fast RUBER's GRU form learns and scores, measured on a part of DailyDialog."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rejoinder.data.dialogues import DialogueSource
from rejoinder.evaluators.ruber.ruber import Ruber
from rejoinder.types import Dialogue, Example

PAIRS, EPOCHS = 70_000, 10
"""What training is asked to get through in 20 minutes on two cores."""
_LEARNED, _SCORED = 1000, 2000


def print_speed(data: Path) -> None:
    """Pairs learned from and replies scored a second."""
    dialogues = list(DialogueSource(data / "dialogues" / "dailydialog.train.jsonl.gz"))
    some = dialogues[:_LEARNED]
    pairs = sum(len(dialogue.turns) - 1 for dialogue in some)
    short, long = (timed(lambda epochs=epochs: Ruber(epochs=epochs).fit(some)) for epochs in (1, 3))  # type: ignore[misc]
    clock, cpu = ((long[place] - short[place]) / 2 for place in (0, 1))
    print(f"training: {pairs / clock:,.0f} pairs a second, {pairs / cpu:,.0f} a CPU second")
    minutes = PAIRS * EPOCHS / pairs / 60
    print(f"{PAIRS:,} pairs, {EPOCHS} epochs: {minutes * clock:.1f} minutes, {minutes * cpu:.1f} of CPU")
    model = Ruber(epochs=1).fit(some)
    examples = replies(dialogues[_LEARNED : _LEARNED + _SCORED])
    for name, part in {"s_U": model.unref, "the blend": model}.items():
        part.score(examples[:1000])
        clock, cpu = timed(lambda part=part: part.score(examples))  # type: ignore[misc]
        print(f"{name}: {len(examples) / clock:,.0f} replies a second, {len(examples) / cpu:,.0f} a CPU second")


def replies(dialogues: list[Dialogue]) -> list[Example]:
    """Every second turn as a reply to those before it, and its own reference: no text is read for two replies."""
    return [
        Example(f"{dialogue.id}-{turn}", dialogue.turns[:turn], dialogue.turns[turn], (dialogue.turns[turn],))
        for dialogue in dialogues
        for turn in range(1, len(dialogue.turns), 2)
    ]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and by the processor."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu
