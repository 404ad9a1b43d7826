"""`rejoinder train am-fm --text FILE -o model/`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.cli.options import add_on_error, positive, say
from rejoinder.cli.training_data import (
    add_judged,
    add_output,
    add_running,
    check_output,
    dialogues_of,
    judged_of,
    say_model,
)

if TYPE_CHECKING:
    from rejoinder.evaluators.am_fm.am_fm import AmFm
    from rejoinder.types import Dialogue


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The evaluator's options."""
    data = parser.add_argument_group("data")
    data.add_argument(
        "--text",
        action="append",
        required=True,
        metavar="FILE",
        help="what to learn from: .txt with a sentence a line, or .jsonl(.gz) with dialogues; repeats",
    )
    add_judged(data)
    add_on_error(data)
    add_output(parser)
    _add_parts(parser.add_argument_group("parts"))
    _add_mean(parser.add_argument_group("mean"))
    parser.add_argument("--tokenise", default="words", help="how text becomes words (default: words)")
    add_running(parser)


def _add_parts(group: Any) -> None:
    group.add_argument("--dimensions", type=positive, default=10, help="of the semantic space behind AM (default: 10)")
    group.add_argument("--order", type=positive, default=2, help="longest n-grams of the model behind FM (default: 2)")
    group.add_argument(
        "--smoothing",
        choices=("good-turing", "kneser-ney"),
        default="good-turing",
        help="how n-grams that were not seen get their probability (default: good-turing)",
    )
    group.add_argument(
        "--prune", type=float, default=1e-6, help="leave out n-grams that matter less (default: 1e-6; 0: none)"
    )
    group.add_argument(
        "--unknown",
        choices=("open", "skip"),
        default="open",
        help="take an unknown word for a very rare one (default), or pass over it",
    )
    group.add_argument(
        "--lm",
        default="ngram",
        metavar="NAME_OR_FILE",
        help="the language model behind FM: ngram, counted from the text (default); an .arpa file; or a causal model "
        "by its Hugging Face name, folder or .gguf file",
    )
    group.add_argument(
        "--fluency",
        choices=("relative", "absolute"),
        default="relative",
        help="FM beside the references' likelihood (default), or the reply's own",
    )
    group.add_argument("--write-arpa", metavar="FILE", help="write the n-grams behind FM as an ARPA file as well")


def _add_mean(group: Any) -> None:
    group.add_argument("--weight", type=float, default=0.8, help="AM's share beside FM's, lambda (default: 0.8)")
    group.add_argument(
        "--fit-weight",
        choices=("no", "replies", "systems"),
        default="no",
        help="learn the shares from --judged, so that scores of replies or of systems agree best with people's",
    )
    group.add_argument("--mean", choices=("arithmetic", "geometric", "harmonic"), default="arithmetic")
    group.add_argument("--am-refs", choices=("max", "mean", "centroid"), default="max", help="default: max")
    group.add_argument("--fm-refs", choices=("max", "mean", "centroid"), default="max", help="default: max")
    group.add_argument(
        "--pm",
        default="none",
        metavar="METRIC",
        help="a third part: a metric, or an evaluator's folder (default: none)",
    )
    group.add_argument("--pm-weight", type=float, default=0.2, help="its share, where there is one (default: 0.2)")


_PARAMETERS = (
    "dimensions order smoothing prune unknown lm fluency weight fit_weight mean am_refs fm_refs pm pm_weight tokenise"
).split()


def run(arguments: argparse.Namespace) -> int:
    """Learn, save, tell the shares."""
    from rejoinder.errors import CallError
    from rejoinder.evaluators.am_fm.am_fm import AmFm

    if arguments.judged and arguments.fit_weight == "no":
        raise CallError("--judged is not used with fixed shares: expected --fit-weight replies or systems")
    output = Path(arguments.output)
    check_output(output)
    evaluator = AmFm(
        **{name: getattr(arguments, name) for name in _PARAMETERS}, dimension=arguments.dimension or "auto"
    )
    sentences = [dialogue for path in arguments.text for dialogue in _texts(path, arguments)]
    judged = list(judged_of(arguments))
    turns = sum(len(dialogue.turns) for dialogue in sentences)
    say(f"{turns} sentences" + (f", {len(judged)} judged replies" if judged else ""), arguments)
    evaluator.fit(sentences, judged, seed=arguments.seed)
    if arguments.write_arpa:
        _write_arpa(evaluator, arguments.write_arpa)
    evaluator.save(output)
    shares = ", ".join(
        f"{part} {share:.2f}" for part, share in zip(("AM", "FM", "PM"), evaluator.weights_, strict=False)
    )
    say(f"shares: {shares}", arguments)
    say_model(output, arguments)
    return 0


def _texts(path: str, arguments: argparse.Namespace) -> Iterator[Dialogue]:
    """Dialogues, or each line of a text as one of a single turn."""
    if not path.removesuffix(".gz").endswith(".txt"):
        return dialogues_of(path, arguments)
    from rejoinder.data.sentences import sentences_of_file

    return sentences_of_file(path)


def _write_arpa(evaluator: AmFm, path: str) -> None:
    from rejoinder.errors import CallError
    from rejoinder.evaluators.am_fm.fluency import NgramFluency
    from rejoinder.language_models.ngram import write_arpa

    if not isinstance(evaluator.model_, NgramFluency):
        raise CallError("--write-arpa needs n-grams: a causal language model has none")
    write_arpa(evaluator.model_.model, path)
