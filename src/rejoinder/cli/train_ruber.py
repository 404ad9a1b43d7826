"""`rejoinder train ruber --dialogues FILE -o model/`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rejoinder.cli.options import add_on_error, add_scale, positive, say
from rejoinder.cli.training_data import (
    add_dialogues,
    add_judged,
    add_output,
    add_running,
    check_output,
    dialogues_of_files,
    judged_to_learn_from,
    say_model,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The evaluator's options."""
    data = parser.add_argument_group("data")
    add_dialogues(data, "dialogues without labels")
    add_judged(data)
    add_scale(data)
    add_on_error(data)
    add_output(parser)
    _add_reading(parser.add_argument_group("reading"))
    _add_network(parser.add_argument_group("network"))
    parser.add_argument(
        "--blend",
        choices=("min", "max", "geometric", "arithmetic"),
        default="arithmetic",
        help="how both scores become one (default: arithmetic); may be chosen again when the model is loaded",
    )
    add_running(parser)


def _add_reading(group: Any) -> None:
    group.add_argument(
        "--tokenise",
        default="words",
        help="how text becomes words (default: words); jieba cuts Chinese into words and not into characters",
    )
    group.add_argument(
        "--vectors",
        default="corpus",
        metavar="NAME_OR_FILE",
        help="word vectors: corpus, learned from the dialogues (default); conversational-50d, our own; or a file",
    )
    group.add_argument(
        "--min-count", type=positive, default=2, help="how often a word must occur to be known (default: 2)"
    )
    group.add_argument("--turns", type=positive, help="last turns of a context that are read (default: 1, or 5)")
    group.add_argument(
        "--max-length", type=positive, default=50, help="words that are read of a text, from its end (default: 50)"
    )


def _add_network(group: Any) -> None:
    group.add_argument(
        "--encoder",
        default="gru",
        metavar="NAME_OR_FOLDER",
        help="gru: over the query's words (default); hierarchical: another over turns; or a pretrained encoder by its "
        "Hugging Face name or folder, which stays as it is",
    )
    group.add_argument("--start", metavar="FOLDER", help="a reply model (hred) whose encoder the GRUs start from")
    group.add_argument("--hidden", type=positive, default=64, help="units of a GRU in each direction (default: 64)")
    group.add_argument("--layers", type=positive, default=1, help="layers of each GRU (default: 1)")
    group.add_argument(
        "--negatives", type=positive, default=8, help="random replies to each context, beside its own (default: 8)"
    )
    group.add_argument("--epochs", type=positive, default=10, help="over the dialogues at most (default: 10)")
    group.add_argument("--label-epochs", type=positive, default=30, help="over human scores at most (default: 30)")


_PARAMETERS = "tokenise vectors min_count max_length encoder hidden layers negatives epochs label_epochs blend".split()


def run(arguments: argparse.Namespace) -> int:
    """Learn, save, tell between which values the scores lie."""
    from rejoinder.evaluators.ruber.ruber import Ruber
    from rejoinder.learning.run import TrainingRun

    output = Path(arguments.output)
    check_output(output)
    evaluator = Ruber(
        **{name: getattr(arguments, name) for name in _PARAMETERS},
        turns=arguments.turns or 0,
        start=arguments.start or "none",
        dimension=arguments.dimension or "auto",
        scale=tuple(arguments.scale) if arguments.scale else None,
    )
    dialogues = dialogues_of_files(arguments.dialogues, arguments)
    judged = judged_to_learn_from(arguments)
    say(f"{len(dialogues)} dialogues" + (f", {len(judged)} judged replies" if judged else ""), arguments)
    evaluator.fit(dialogues, judged, seed=arguments.seed, run=TrainingRun(quiet=arguments.quiet))
    evaluator.save(output)
    near, fitting = evaluator.ranges_
    ends = f"s_R {near.low:.2f} to {near.high:.2f}, s_U {fitting.low:.2f} to {fitting.high:.2f}"
    say(f"scores lie between: {ends}", arguments)
    say_model(output, arguments)
    return 0
