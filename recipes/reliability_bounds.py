"""Measures for which replies an evaluator orders replies as people do, and writes these bounds into its folder.

    python recipes/default_blend.py sets JUDGED_FOLDER -o work
    python recipes/default_blend.py corruptions --dialogues FILE... -o work/corruptions.jsonl
    python recipes/reliability_bounds.py default --sets work --preferences FILE... --write FOLDER

Prints the tables of docs/results/reliability.md. A *choice* is a context with two replies, one of which is better.
There are three kinds: replies of the judged sets whose ratings differ; replies of assistants that people chose between;
and the answers of reliability_prompts.jsonl, which were written before any of them was scored: a specific one against a
vague one, and against the specific answer to another prompt. A blend's scores of a judged set are those of a blend that
was fitted without that set.

The replies of a choice are as long as the longer one, and so are their rare words and their form. Choices are put into
bins; an interval resamples contexts. A bound is the end of the last bin before the first whose lower 95 % limit falls
below .55, or which has too few contexts. Rare words mark another domain than that of the judged sets, so the bound on
them is measured on the other choices, and begins where 99 % of the judged replies lie.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from recipes.default_blend import SETS

from rejoinder.arrays import Bools, Floats, Ints
from rejoinder.data.judged import JudgedSource
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.blend.columns import RatedSet, rated_sets
from rejoinder.evaluators.blend.fitting import choose_models
from rejoinder.evaluators.bounds import Bounds, is_formatted
from rejoinder.evaluators.familiarity import word_counts
from rejoinder.folders.saved import write_config
from rejoinder.folders.schema import read_config
from rejoinder.learning.run import TrainingRun
from rejoinder.metrics.batch import Batch
from rejoinder.registry import load
from rejoinder.stats.intervals import Interval
from rejoinder.stats.resampling import mean_interval
from rejoinder.types import Example

LOWEST = 0.55
"""The agreement that the lower 95 % limit must reach: .5 is that of a coin."""
FEWEST = 20
"""Contexts that a bin must have."""
WORDS = (0, 8, 15, 23, 31, 45, 60, 100, 200, 10**6)
RARE = (0.0, 0.5, 1.0, 2.0, 3.0)
MORE_RARE = (6.0, 10.0, math.inf)
GAP = 0.5
"""How much two mean ratings on 1..5 must differ."""
MOST_OF_CONTEXT = 20
"""Choices that are drawn from one context of a judged set."""
PROMPTS = Path(__file__).with_name("reliability_prompts.jsonl")


@dataclass(frozen=True)
class Choices:
    """Pairs of replies, the better one first."""

    kind: str
    examples: tuple[tuple[Example, Example], ...]
    groups: tuple[str, ...]
    scores: Floats
    """(choices, 2)"""

    @property
    def right(self) -> Floats:
        """1 where the better reply has the higher score, .5 for equal scores."""
        return (1 + np.sign(self.scores[:, 0] - self.scores[:, 1])) / 2


def judged_choices(evaluator: Evaluator, folder: Path, members: Path | None) -> Choices:
    """Replies to the same context whose ratings differ."""
    judged = [item for path in sorted(folder.glob("*.jsonl")) for item in JudgedSource(str(path)).judged()]
    sets = rated_sets(judged, ())
    scores = _scores_of_sets(evaluator, sets, members)
    examples = [example for each in sets for example in each.examples]
    human = np.concatenate([each.human for each in sets])
    contexts = [f"{each.name} {example.context}" for each in sets for example in each.examples]
    rng = np.random.default_rng(0)
    pairs: list[tuple[int, int]] = []
    order = sorted(range(len(examples)), key=lambda row: contexts[row])
    for _, rows in groupby(order, key=lambda row: contexts[row]):
        some = [(a, b) for a, b in combinations(rows, 2) if abs(human[a] - human[b]) > GAP]
        pairs += [some[place] for place in rng.permutation(len(some))[:MOST_OF_CONTEXT].tolist()]
    ordered = [(a, b) if human[a] > human[b] else (b, a) for a, b in pairs]
    return Choices(
        "rated chit-chat",
        tuple((examples[a], examples[b]) for a, b in ordered),
        tuple(contexts[a] for a, _ in ordered),
        scores[np.array(ordered)],
    )


def _scores_of_sets(evaluator: Evaluator, sets: Sequence[RatedSet], members: Path | None) -> Floats:
    if isinstance(evaluator, Blend):
        run = TrainingRun(member_scores=members, quiet=True)
        data = evaluator.clone()._labelled(sets, run)
        return choose_models(data, evaluator.models, "sets", 0).held_out
    return _scored(evaluator, [example for each in sets for example in each.examples])


def preferred(evaluator: Evaluator, paths: Iterable[Path]) -> Choices:
    """Replies of assistants that most raters chose between."""
    found = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for row in rows:
            votes = Counter(row["votes"])
            if votes["a"] != votes["b"] and row["a"].strip() and row["b"].strip():
                better = "a" if votes["a"] > votes["b"] else "b"
                found.append((row["context"], row[better], row["b" if better == "a" else "a"]))
    return _choices("assistants' replies", evaluator, found)


def written(evaluator: Evaluator) -> Choices:
    """The specific answer to each prompt, against the vague one and against that to the next prompt of its domain."""
    rows = [json.loads(line) for line in PROMPTS.read_text(encoding="utf-8").splitlines()]
    found = []
    for row in rows:
        like = [each for each in rows if each["domain"] == row["domain"]]
        other = like[(like.index(row) + 1) % len(like)]
        for form in FORMS:
            found += [(row["context"], form(row["good"]), form(worse)) for worse in (row["vague"], other["good"])]
    return _choices("written answers", evaluator, found)


def _as_list(sentences: Sequence[str]) -> str:
    return "\n".join([sentences[1], "", *(f"- {each}" for each in sentences[2:])])


FORMS: tuple[Any, ...] = (
    lambda sentences: sentences[0],
    lambda sentences: " ".join(sentences[1:3]),
    lambda sentences: " ".join(sentences[1:4]),
    lambda sentences: " ".join(sentences[1:]),
    _as_list,
)
"""The forms of an answer: one short sentence, two, three and five sentences, and a list."""


def _choices(kind: str, evaluator: Evaluator, found: Sequence[tuple[Sequence[str], str, str]]) -> Choices:
    examples = tuple(
        (Example("", tuple(context), better), Example("", tuple(context), worse)) for context, better, worse in found
    )
    scores = _scored(evaluator, [each for pair in examples for each in pair]).reshape(-1, 2)
    return Choices(kind, examples, tuple(str(context) for context, *_ in found), scores)


def _scored(evaluator: Evaluator, examples: Sequence[Example]) -> Floats:
    """The scores, each distinct example computed once."""
    places: dict[tuple[tuple[str, ...], str], int] = {}
    rows = [places.setdefault((each.context, each.response), len(places)) for each in examples]
    distinct = [Example(str(row), context, text) for (context, text), row in places.items()]
    parts = [evaluator.score_batch(Batch(distinct[start : start + 512])) for start in range(0, len(distinct), 512)]
    return np.concatenate(parts)[rows]


@dataclass(frozen=True)
class Table:
    """All choices, with what bounds are about. (choices,)"""

    right: Floats
    groups: Ints
    kind: Any
    words: Ints
    formatted: Bools
    rare: Floats

    @classmethod
    def of(cls, evaluator: Evaluator, choices: Sequence[Choices]) -> Table:
        """The longer reply, the rarer words, and the form of either."""
        pairs = [pair for each in choices for pair in each.examples]
        texts = [pl.Series([pair[side].response for pair in pairs], dtype=pl.String) for side in (0, 1)]
        rare = [_rarity(evaluator, [pair[side] for pair in pairs]) for side in (0, 1)]
        names = [f"{each.kind} {group}" for each in choices for group in each.groups]
        return cls(
            np.concatenate([each.right for each in choices]),
            np.unique(names, return_inverse=True)[1].astype(np.int64),
            np.array([each.kind for each in choices for _ in each.examples]),
            np.maximum(*map(word_counts, texts)),
            np.logical_or(*map(is_formatted, texts)),
            np.maximum(*rare),
        )

    def agreement(self, rows: Bools) -> tuple[Interval, int, int]:
        """The share of right orders with its interval, the choices and the contexts."""
        groups = self.groups[rows]
        return mean_interval(self.right[rows], groups, 2000, seed=0), int(rows.sum()), len(np.unique(groups))

    def in_bins(
        self, values: Floats | Ints, ends: Sequence[float], rows: Bools
    ) -> Iterator[tuple[float, float, Bools]]:
        """Beginning and end of each bin, and which choices are in it; the beginning belongs to the bin before."""
        for low, high in pairwise(ends):
            yield low, high, rows & (values > low if low else values >= 0) & (values <= high)


def _rarity(evaluator: Evaluator, examples: Sequence[Example]) -> Floats:
    familiarity = evaluator.fitted.familiarity
    if familiarity is None:
        raise SystemExit(f"{evaluator.name} was fitted on too little text to say which words are rare")
    return familiarity.rarity(Batch(examples))


def _holds(interval: Interval, contexts: int) -> bool:
    return contexts >= FEWEST and interval.low >= LOWEST


def _row(cells: Iterable[object]) -> None:
    print(f"| {' | '.join(map(str, cells))} |")


def _shown(interval: Interval, choices: int, contexts: int) -> str:
    return f"{interval.estimate:.2f} [{interval.low:.2f}, {interval.high:.2f}], {choices:,} / {contexts:,}"


def bound(table: Table, values: Floats | Ints, ends: Sequence[float], rows: Bools, name: str) -> float:
    """The end of the last bin that holds before the first that does not; a row is printed for each bin."""
    found, open_ = ends[0], True
    for low, high, here in table.in_bins(values, ends, rows):
        if not here.any():
            open_ = False
            continue
        told = table.agreement(here)
        open_ = open_ and _holds(told[0], told[2])
        found = high if open_ else found
        end = "" if high in (math.inf, 10**6) else f"{high:g}"
        first = low + 1 if low and values.dtype.kind == "i" else low  # a word count, or a number
        _row([name, f"{first:g}-{end}", _shown(*told), "yes" if open_ else "no"])
    return found


def measured(evaluator: Evaluator, table: Table, rated: Sequence[Example]) -> Bounds:
    """The bounds, with the tables that they follow from."""
    common = math.ceil(10 * float(np.quantile(_rarity(evaluator, rated), 0.99))) / 10
    print(f"\nRare words; 99 % of the judged replies: up to {common:g}\n")
    _row(["choices", "rarity", "agreement, choices / contexts", "within"])
    _row(["---"] * 4)
    plain = ~table.formatted & (table.words <= WORDS[6])
    chat = table.kind == "rated chit-chat"
    ends = sorted({*(end for end in RARE if end < common), common})
    for low, high, here in table.in_bins(table.rare, [*ends, *MORE_RARE], plain & chat):
        if here.any():
            _row(["rated chit-chat", f"{low:g}-{high:g}", _shown(*table.agreement(here)), ""])
    for low, high, here in table.in_bins(table.rare, ends, plain & ~chat):
        _row(["others", f"{low:g}-{high:g}", _shown(*table.agreement(here)), "yes, as most of chit-chat"])
    most_rare = bound(table, table.rare, (common, *MORE_RARE), plain & ~chat, "others")
    known = table.rare <= most_rare
    print("\nLength and form, of choices without more rare words\n")
    _row(["form", "words", "agreement, choices / contexts", "within"])
    _row(["---"] * 4)
    words = bound(table, table.words, WORDS, known & ~table.formatted, "plain sentences")
    formatted = bound(table, table.words, WORDS, known & table.formatted, "lists, headings, tables, code")
    print()
    return Bounds(max(1, int(words)), int(formatted), None if math.isinf(most_rare) else most_rare)


def shares(evaluator: Evaluator, bounds: Bounds, folder: Path) -> None:
    """Print for each judged set the share of replies beyond the bounds."""
    names = ["replies", "not reliable"]
    rows = []
    for name in SETS:
        examples = [item.example for item in JudgedSource(str(folder / f"{name}.jsonl")).judged()]
        batch = Batch(examples)
        found = {**bounds.inapplicable(batch), **bounds.doubts(batch, evaluator.fitted.familiarity)}
        rows.append((name, len(examples), np.logical_or.reduce(list(found.values())), found))
    _row(["judged set", *names, *rows[0][3]])
    _row(["---"] * (3 + len(rows[0][3])))
    for name, count, any_, found in rows:
        _row([name, f"{count:,}", f"{any_.mean():.1%}", *(f"{flags.mean():.1%}" for flags in found.values())])
    whole = np.concatenate([any_ for _, _, any_, _ in rows])
    _row(["**all**", f"{len(whole):,}", f"**{whole.mean():.1%}**"] + [""] * len(rows[0][3]))


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluator", help="a name or a folder")
    parser.add_argument("--sets", type=Path, required=True, help="the folder that `default_blend.py sets` wrote")
    parser.add_argument("--preferences", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--member-scores", type=Path, metavar="FOLDER", help="where the scores of members are kept")
    parser.add_argument("--write", metavar="FOLDER", nargs="+", default=[], help="evaluators that get these bounds")
    arguments = parser.parse_args(given)
    evaluator = load(arguments.evaluator)
    if not isinstance(evaluator, Evaluator):
        raise SystemExit(f"{arguments.evaluator} is not an evaluator")
    choices = [
        judged_choices(evaluator, arguments.sets, arguments.member_scores),
        preferred(evaluator, arguments.preferences),
        written(evaluator),
    ]
    table = Table.of(evaluator, choices)
    for each in choices:
        told = table.agreement(table.kind == each.kind)
        print(f"{each.kind}: {_shown(*told)}")
    rated = [item.example for name in SETS for item in JudgedSource(str(arguments.sets / f"{name}.jsonl")).judged()]
    bounds = measured(evaluator, table, rated)
    print(f"{bounds}\n")
    shares(evaluator, bounds, arguments.sets)
    for name in arguments.write:
        folder = Path(name)
        config = {**read_config(folder), "bounds": bounds.plain()}
        write_config(folder, {key: value for key, value in config.items() if key != "format"})
        print(f"\n{folder}: written")


if __name__ == "__main__":
    main()
