"""Trains RoBERTa-eval as Zhao et al. 2020 published it, in pieces, and records its learning curve.

    python recipes/roberta_eval.py rank ENCODER --dialogues dailydialog.train.jsonl.gz --pieces 8 -o FOLDER
    python recipes/roberta_eval.py label FOLDER/rank-8 --judged zhao2020_dailydialog.jsonl.gz --minutes 60 -o FOLDER
    python recipes/roberta_eval.py table FOLDER

`rank` is the preset's first stage: true replies above random ones, without labels. Each piece goes on from the last,
with its optimiser started anew, and is saved; a run that is repeated begins with the next piece. `label` is the
second stage, on the training part of a judged set; an interrupted run is resumed. Rated replies of the training part
show how far a piece has come; the test part is read only when a model with labels is finished. `table` prints all of
it. The figures are in FOLDER/curve.jsonl.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.judged import JudgedSource
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.learning.run import TrainingRun
from rejoinder.stats.correlation import pearson, spearman
from rejoinder.text.grid import number
from rejoinder.types import JudgedExample

CURVE = "curve.jsonl"
WATCHED = 200
"""Rated replies of each set's training part on which a piece is measured."""


def rank(arguments: argparse.Namespace) -> None:
    """Train further pieces of the first stage."""
    arguments.output.mkdir(parents=True, exist_ok=True)
    dialogues = [dialogue for path in arguments.dialogues for dialogue in DialogueSource(path)]
    for piece in range(1, arguments.pieces + 1):
        folder = arguments.output / f"rank-{piece}"
        if folder.exists():
            continue
        before = arguments.encoder if piece == 1 else str(arguments.output / f"rank-{piece - 1}")
        began = monotonic()
        evaluator = Encoder(encoder=before, preset="paper", steps=arguments.steps)
        evaluator = evaluator.fit(dialogues, seed=piece, run=TrainingRun(quiet=False))
        minutes = (monotonic() - began) / 60
        evaluator.save(folder)
        row = {"piece": piece, "steps": piece * arguments.steps, "minutes": minutes}
        for path in arguments.judged:
            watched = _part(path, "train")
            chosen = np.random.default_rng(0).permutation(len(watched))[:WATCHED]
            row[_name(path)] = _agreement(evaluator, [watched[place] for place in chosen.tolist()])
        _record(arguments.output, row)


def label(arguments: argparse.Namespace) -> None:
    """Train on human scores, from a piece of the first stage."""
    name = _name(arguments.judged)
    run = TrainingRun(
        checkpoints=arguments.output / f"checkpoints-{name}",
        resume=True,
        save_every=90,
        minutes=arguments.minutes,
        quiet=False,
    )
    judged = [item for item in JudgedSource(arguments.judged).judged() if item.split != "test"]
    began = monotonic()
    evaluator = Encoder(encoder=str(arguments.ranked), preset="paper", steps=0, dimension="overall")
    evaluator = evaluator.fit((), judged, seed=0, run=run)
    evaluator.save(arguments.output / f"labels-{name}")
    tested = _part(arguments.judged, "test")
    _record(
        arguments.output,
        {
            "labels": name,
            "from": arguments.ranked.name,
            "minutes": (monotonic() - began) / 60,
            "test": _agreement(evaluator, tested),
            "replies": len(tested),
        },
    )


def table(arguments: argparse.Namespace) -> None:
    """Print what was recorded."""
    for line in (arguments.folder / CURVE).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cells = [f"{key} {_shown(value)}" for key, value in row.items()]
        print("; ".join(cells))


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(number(each) for each in value)
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def _part(path: str, split: str) -> list[JudgedExample]:
    return [item for item in JudgedSource(path).judged() if item.split == split]


def _agreement(evaluator: Encoder, judged: Sequence[JudgedExample]) -> list[float]:
    """Pearson and Spearman correlation with the mean rating."""
    people = np.array([np.mean(item.scores["overall"]) for item in judged])
    scores = evaluator.score([item.example for item in judged])
    return [measure(scores, people).coefficient for measure in (pearson, spearman)]


def _name(path: str) -> str:
    return Path(path).name.split(".")[0]


def _record(folder: Path, row: dict[str, Any]) -> None:
    with (folder / CURVE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    ranking = verbs.add_parser("rank")
    ranking.add_argument("encoder", help="the folder or name of a pretrained encoder")
    ranking.add_argument("--dialogues", nargs="+", required=True, metavar="FILE")
    ranking.add_argument("--judged", nargs="+", default=[], metavar="FILE", help="rated replies to measure a piece on")
    ranking.add_argument("--pieces", type=int, default=8)
    ranking.add_argument("--steps", type=int, default=250, help="steps of a piece")
    ranking.set_defaults(run=rank)
    labelling = verbs.add_parser("label")
    labelling.add_argument("ranked", type=Path, help="the folder of a piece")
    labelling.add_argument("--judged", required=True, metavar="FILE")
    labelling.add_argument("--minutes", type=float)
    labelling.set_defaults(run=label)
    for verb in (ranking, labelling):
        verb.add_argument("-o", "--output", type=Path, required=True)
    printing = verbs.add_parser("table")
    printing.add_argument("folder", type=Path)
    printing.set_defaults(run=table)
    arguments = parser.parse_args(given)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
