"""Makes the blends `default` and `default-large` from published ratings (docs/results/default-blend.md).

    python recipes/default_blend.py sets JUDGED_FOLDER -o work            # the ratings that weights are fitted to
    python recipes/default_blend.py corruptions --dialogues FILE... -o work/corruptions.jsonl
    python recipes/default_blend.py generic --dialogues FILE... --usual FILE... -o work/generic.jsonl
    rejoinder train blend --member default@1 default-fast fluency --hold-out sets --title default@3 \\
        $(printf -- '--judged %s ' work/*.jsonl) -o default-3
    python recipes/default_blend.py points default-3 --dialogues FILE...      # reference points of its scale
    python recipes/reliability_bounds.py default-3 --sets work ...            # for which replies it can be relied on

`default-large` is fitted in the same way, by ridge regression and trees, with six more members: mpnet's cosines with
the last one, two and four turns and SmolLM2's three likelihoods. Then its members' places are opened:

    python recipes/default_blend.py template large --mpnet mpnet --smollm2 smollm2 -o default-large

Only numbers are learned from the ratings: a few dozen weights. No text of the judged sets is kept.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arrays import Bools
from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.judged import JudgedSet, read_judged
from rejoinder.data.negatives import Place, garbled, places_of
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.reference_points import write_points
from rejoinder.registry import load
from rejoinder.text.words import words_of
from rejoinder.training.train import opened
from rejoinder.types import Example

SETS = {
    "zhao2020_dailydialog": "overall",
    "zhao2020_personachat": "overall",
    "gupta2019_dailydialog": "appropriateness",
    "grade_dailydialog": "coherence",
    "grade_empatheticdialogues": "coherence",
    "usr_personachat": "Overall",
    "holistic_context": "context coherence",
    "engage_dailydialog": "engagement",
    "conture_turn": "overall impression (majority of 3)",
    "humod": "relevance",
    "dailydialogpp_dev": "relevant (label by construction)",
}
"""Judged set -> the dimension that is learned."""
SAMPLED = {"humod": 1000, "dailydialogpp_dev": 1000}
"""Sets of which only some contexts are used -> replies, about."""
GENERIC = (
    "I don't know.",
    "I'm not sure what you mean.",
    "That's nice.",
    "Okay.",
    "Yes, I think so.",
    "I see.",
    "That is interesting.",
    "Tell me more.",
    "Sounds good to me.",
    "Thank you.",
)
"""Replies that fit nearly anywhere and say nothing."""

QUESTIONS = {"what", "why", "how", "which", "who", "did", "do", "is", "are"}
"""Words that a question begins with."""


def sets(arguments: argparse.Namespace) -> None:
    """Write each judged set with the dimension that is learned."""
    trained: Any = load("default@1").trained_contexts
    for name, dimension in SETS.items():
        judged = read_judged(str(Path(arguments.folder, f"{name}.jsonl.gz")))
        if name in SAMPLED:
            # Only contexts that the network was not trained on: on others its scores are better than on new ones.
            known = trained.holds(judged.examples) if name == "dailydialogpp_dev" else np.zeros(len(judged), np.bool_)
            judged = sampled(judged, ~known, SAMPLED[name])
        human = judged.human(dimension)
        _write(
            Path(arguments.output, f"{name}.jsonl"),
            (
                {**asdict(example), "scores": {dimension: [float(each) for each in ratings if not np.isnan(each)]}}
                for example, ratings, mean in zip(judged.examples, judged.ratings[dimension], human, strict=True)
                if not np.isnan(mean)
            ),
        )


def sampled(judged: JudgedSet, usable: Bools, replies: int) -> JudgedSet:
    """All usable replies of contexts drawn at random, about so many."""
    contexts = judged.contexts
    order = np.random.default_rng(0).permutation(contexts.max() + 1)
    sizes = np.bincount(contexts[usable], minlength=len(order))[order]
    enough = int(np.searchsorted(np.cumsum(sizes), replies)) + 1
    return judged.take(np.flatnonzero(np.isin(contexts, order[:enough]) & usable))


def corruptions(arguments: argparse.Namespace) -> None:
    """Write replies of people, rated 1, and the same in broken language, rated 0."""
    rng = np.random.default_rng(arguments.seed)
    rows: list[dict[str, Any]] = []
    for number, place in enumerate(_drawn_places(arguments.dialogues, 4 * arguments.most, rng)):
        made = garbled(place.response, place.context[-1], rng)
        if made is not None and len(rows) < 2 * arguments.most:
            for text, score in ((place.response, 1), (made.text, 0)):
                example = Example(f"{number}-{score}", place.context, text, speakers=place.speakers)
                rows.append({**asdict(example), "scores": {"intact": [score]}})
    _write(Path(arguments.output), rows)


def generic(arguments: argparse.Namespace) -> None:
    """Write replies of people, rated 1, and turns that are frequent elsewhere in their place, rated 0."""
    counts: Counter[str] = Counter()
    for path in arguments.usual:
        for dialogue in DialogueSource(path):
            counts.update(filter(None, (" ".join(words_of(turn)) for turn in dialogue.turns)))
    usual = [turn for turn, _ in counts.most_common(300) if 2 <= len(turn.split()) <= 8]
    rng = np.random.default_rng(arguments.seed)
    rows: list[dict[str, Any]] = []
    for number, place in enumerate(_drawn_places(arguments.dialogues, 3 * arguments.most, rng)):
        if len(place.response.split()) < 5 or len(rows) >= 2 * arguments.most:
            continue
        for text, score in ((place.response, 1), (_written(usual[rng.integers(len(usual))]), 0)):
            example = Example(f"{number}-{score}", place.context, text, speakers=place.speakers)
            rows.append({**asdict(example), "scores": {"specific": [score]}})
    _write(Path(arguments.output), rows)


def _written(turn: str) -> str:
    """A turn that was counted in lower case and without punctuation, as people write it."""
    asks = turn.split()[0] in QUESTIONS
    return (turn[0].upper() + turn[1:]).replace(" i ", " I ") + ("?" if asks else ".")


def points(arguments: argparse.Namespace) -> None:
    """Write the mean scores of human, random and generic replies next to an evaluator."""
    rng = np.random.default_rng(arguments.seed)
    places = _drawn_places(arguments.dialogues, arguments.most, rng)
    others = rng.permutation(len(places))
    replies = {
        "human replies": [place.response for place in places],
        "random replies": [places[other].response for other in others],
        "generic replies": [GENERIC[number % len(GENERIC)] for number in range(len(places))],
        "garbled replies": [
            made.text if made is not None else "" for made in (garbled(p.response, p.context[-1], rng) for p in places)
        ],
    }
    evaluator: Evaluator = load(arguments.folder)
    write_points(
        Path(arguments.folder),
        evaluator,
        {
            name: [
                Example(str(row), place.context, text)
                for row, (place, text) in enumerate(zip(places, texts, strict=True))
                if text
            ]
            for name, texts in replies.items()
        },
    )


def template(arguments: argparse.Namespace) -> None:
    """Write a fitted blend as a template, in which the places of the largest members are open."""
    opened(arguments.folder, arguments.output, {"mpnet": arguments.mpnet, "smollm2": arguments.smollm2})


def _drawn_places(paths: Sequence[str], most: int, rng: np.random.Generator) -> list[Place]:
    places = places_of([dialogue for path in paths for dialogue in DialogueSource(path)])
    return [places[number] for number in rng.permutation(len(places))[:most].tolist()]


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")
    print(f"{path}: {len(lines)} replies", flush=True)


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    writing = verbs.add_parser("sets")
    writing.add_argument("folder", help="the folder of the judged sets")
    writing.add_argument("-o", "--output", required=True)
    writing.set_defaults(run=sets)
    breaking = verbs.add_parser("corruptions")
    breaking.add_argument("-o", "--output", required=True)
    breaking.set_defaults(run=corruptions, most=300)
    usual = verbs.add_parser("generic")
    usual.add_argument("-o", "--output", required=True)
    usual.add_argument("--usual", nargs="+", required=True, metavar="FILE", help="where frequent turns are counted")
    usual.set_defaults(run=generic, most=200)
    pointing = verbs.add_parser("points")
    pointing.add_argument("folder", help="the folder of the evaluator")
    pointing.set_defaults(run=points, most=300)
    opening = verbs.add_parser("template")
    opening.add_argument("folder", help="the folder of the fitted blend")
    opening.add_argument("-o", "--output", required=True)
    opening.set_defaults(run=template)
    for option in ("--mpnet", "--smollm2"):
        opening.add_argument(option, required=True, help="the folder or name that is a member's")
    for verb in (breaking, usual, pointing):
        verb.add_argument("--dialogues", nargs="+", required=True, metavar="FILE")
        verb.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(given)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
