"""How fast RUBER's GRU form learns and scores, measured on a part of DailyDialog.

python benchmarks/ruber_speed.py ../shared/data/dialogues/dailydialog.train.jsonl.gz
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from rejoinder.data.dialogues import DialogueSource
from rejoinder.evaluators.ruber.ruber import Ruber
from rejoinder.types import Dialogue, Example
from timing import Taken, timed

PAIRS, EPOCHS = 70_000, 10
"""What training is asked to get through in 20 minutes on two cores."""
LEARNED, SCORED = 1000, 2000


def main() -> None:
    """Print pairs learned from and replies scored per second."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dialogues", type=Path, help="the training dialogues")
    dialogues = list(DialogueSource(parser.parse_args().dialogues))
    some = dialogues[:LEARNED]
    pairs = sum(len(dialogue.turns) - 1 for dialogue in some)
    Ruber(epochs=1).fit(some[:50])  # libraries are loaded outside the clock
    short, long = (timed(partial(Ruber(epochs=epochs).fit, some)) for epochs in (1, 3))
    epoch = Taken((long.clock - short.clock) / 2, (long.cpu - short.cpu) / 2)
    print(f"training: {epoch.rate(pairs, 'pairs')}")
    minutes = PAIRS * EPOCHS / pairs / 60
    print(f"{PAIRS:,} pairs, {EPOCHS} epochs: {minutes * epoch.clock:.1f} minutes, {minutes * epoch.cpu:.1f} of CPU")
    model = Ruber(epochs=1).fit(some)
    examples = replies(dialogues[LEARNED : LEARNED + SCORED])
    for name, part in {"s_U": model.unref, "the blend": model}.items():
        part.score(examples[:1000])
        print(f"{name}: {timed(partial(part.score, examples)).rate(len(examples), 'replies')}")


def replies(dialogues: list[Dialogue]) -> list[Example]:
    """Every second turn as a reply to those before it, and its own reference: no text is read for two replies."""
    return [
        Example(f"{dialogue.id}-{turn}", dialogue.turns[:turn], dialogue.turns[turn], (dialogue.turns[turn],))
        for dialogue in dialogues
        for turn in range(1, len(dialogue.turns), 2)
    ]


if __name__ == "__main__":
    main()
