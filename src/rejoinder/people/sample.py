"""Which replies people should label next, each chosen with a known probability: docs/guide/what-to-label-next.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from rejoinder.arrays import Floats, Ints
from rejoinder.comparing.labels import FEWEST_LABELS, labels_by_row
from rejoinder.comparing.systems import named_systems
from rejoinder.data.contexts import GroupFinder, Grouping
from rejoinder.data.convert import example_record, write_records, write_sheet_of
from rejoinder.data.dialogues import by_replier
from rejoinder.data.judged import SHEET, item_of, read_judged
from rejoinder.data.records import Fields
from rejoinder.data.source import Source
from rejoinder.errors import CallError, UnknownNameError, listed
from rejoinder.folders.outputs import paths_of, reserved_file
from rejoinder.options import FIELDS_OPTION, OnError, Option, Seed, UnitOption, origin_of, path, text, verb, whole
from rejoinder.scoring.score_file import read_score_file
from rejoinder.scoring.table import ScoreTable
from rejoinder.show.document import Document, Result, Table
from rejoinder.stats.labels import (
    active_probabilities,
    drawn_rows,
    equal_probabilities,
    score_strata,
    stratified_probabilities,
)
from rejoinder.types import Example, Scores

# With which probability each reply is chosen to be labelled, given the scores of all replies.
#
# `rejoinder sample` draws once with these probabilities; the queue of `rejoinder annotate serve` draws in waves, and
# learns from the labels of earlier waves. The draw itself is in `stats.labelling.design`.


DESIGNS = ("random", "stratified", "active")

FILL_IN = (
    "fill in the column `rating`, with numbers such as 1 (bad) to 5 (good); rows that stay empty are left out. `item` "
    "stands for the reply: do not change it"
)
KEEP = "keep `probability` with the labels, for `rejoinder compare --labels`"

N_STRATA = 5
"""Strata per system: the finest of which most have some labels of a pilot."""

FEWEST_TO_LEARN = 10
"""Labels per system from which a wave learns where the scores predict badly."""


@dataclass(frozen=True)
class UncertainScores:
    """Scores of replies and their uncertainty, in the order of the replies."""

    scores: Scores
    uncertainty: Scores

    def take(self, rows: Ints) -> UncertainScores:
        """Some of the replies."""
        return UncertainScores(self.scores[rows], self.uncertainty[rows])


def chosen_predictor(table: ScoreTable | None, wanted: str | None) -> str:
    """The metric whose scores are used: that which was asked for, or the first."""
    if table is None:
        if wanted is not None:
            raise CallError("a predictor needs scores: expected a score file that `rejoinder score -o` wrote")
        return ""
    if wanted is not None and wanted not in table.scores:
        raise UnknownNameError("predictor", wanted, table.scores)
    return wanted or table.metrics[0]


def chosen_design(wanted: str | None, table: ScoreTable | None, label: str, *, has_pilot: bool = False) -> str:
    """The design that was asked for, or the best one that the data are sufficient for."""
    if wanted is None:
        wanted = "random" if table is None else "active" if label in table.intervals and not has_pilot else "stratified"
    if wanted != "random" and table is None:
        raise CallError(f"the design {wanted} needs scores: expected a score file that `rejoinder score -o` wrote")
    if wanted == "active" and table is not None and label not in table.intervals:
        raise CallError(
            f"the design active needs intervals of {label}: expected scores of a calibrated evaluator, written by "
            "`rejoinder score --intervals`"
        )
    return wanted


def label_frame(examples: Sequence[Example], name: str, table: ScoreTable | None, label: str) -> UncertainScores:
    """The scores joined to the replies by id and system; a missing score is NaN, a missing row an error."""
    keys = [(example.id, example.system) for example in examples]
    if not keys:
        raise CallError(f"{name} has no replies: expected at least one")
    if len(set(keys)) < len(keys):
        twice = Counter(keys).most_common(1)[0][0]
        raise CallError(f"{name}: the id {twice[0]!r} occurs twice: expected a different id for each reply of a system")
    if table is None:
        return UncertainScores(np.zeros(len(keys)), np.ones(len(keys)))
    ids = table.ids or []
    place_of = {
        (identifier, table.system_names[code]): place
        for place, (identifier, code) in enumerate(zip(ids, table.system_of.tolist(), strict=True))
    }
    missing = [key[0] for key in keys if key not in place_of]
    if missing:
        raise CallError(
            f"{name}: {len(missing)} of {len(keys)} replies have no row in the scores ({listed(missing[:3])}): "
            "expected the scores of these replies"
        )
    rows = np.array([place_of[key] for key in keys])
    bounds = table.intervals.get(label)
    uncertainty = np.ones(len(keys)) if bounds is None else (bounds[1] - bounds[0])[rows]
    return UncertainScores(table[label][rows], uncertainty)


def rows_by_system(examples: Sequence[Example]) -> dict[str, Ints]:
    """System -> the rows of its replies."""
    rows: dict[str, list[int]] = {}
    for row, example in enumerate(examples):
        rows.setdefault(example.system, []).append(row)
    return {system: np.array(of, np.int64) for system, of in rows.items()}


def divided(labels: int, replies: Mapping[str, int]) -> dict[str, int]:
    """The labels of each system: equally many, unless one has too few replies."""
    if not len(replies) <= labels <= sum(replies.values()):
        raise CallError(f"labels must be from {len(replies)} to {sum(replies.values())}, not {labels}")
    given = dict.fromkeys(replies, 0)
    for _ in range(labels):
        open_systems = [system for system in replies if given[system] < replies[system]]
        given[min(open_systems, key=given.__getitem__)] += 1
    return given


def label_probabilities(
    design: str, frame: UncertainScores, n_labels: int, deviations: Floats | None = None
) -> tuple[Floats, Ints]:
    """The probability of each reply of one system, and its stratum."""
    n = len(frame.scores)
    if design == "random":
        return equal_probabilities(n, n_labels), np.zeros(n, np.int64)
    known = ~np.isnan(frame.scores)
    if design == "active":
        # A reply that the evaluator cannot score is as uncertain as any.
        widest = float(frame.uncertainty[known].max()) if known.any() else 1.0
        return active_probabilities(np.where(known, frame.uncertainty, widest), n_labels), np.zeros(n, np.int64)
    strata = label_strata(frame.scores)
    return stratified_probabilities(strata, n_labels, deviations), strata


def wave_probabilities(
    design: str, frame: UncertainScores, rows: Ints, n_labels: int, labels: Scores
) -> tuple[Floats, Ints]:
    """Probability and stratum of the replies of one system in `rows`, given the labels of other replies of it.

    `frame` and `labels` have all replies of the system; labels are NaN where there are none yet. With the design
    `stratified`, strata whose labels the scores predict badly get more.
    """
    if design != "stratified":
        return label_probabilities(design, frame.take(rows), n_labels)
    strata = label_strata(frame.scores)
    enough = int((~np.isnan(labels) & ~np.isnan(frame.scores)).sum()) >= FEWEST_TO_LEARN
    deviations = stratum_deviations(frame.scores, strata, labels) if enough else None
    present, within = np.unique(strata[rows], return_inverse=True)
    found = stratified_probabilities(within, n_labels, None if deviations is None else deviations[present])
    if (found == 0).any():  # too few labels for so many strata: what cannot be chosen cannot be estimated
        return equal_probabilities(len(rows), n_labels), np.zeros(len(rows), np.int64)
    return found, within


def label_strata(scores: Scores) -> Ints:
    """The stratum of each reply of one system; replies without a score are a stratum of their own."""
    known = ~np.isnan(scores)
    strata = np.zeros(len(scores), np.int64)
    if known.any():
        strata[known] = score_strata(scores[known], N_STRATA)
        strata[~known] = strata[known].max() + 1
    return strata


def stratum_deviations(scores: Scores, strata: Ints, labels: Scores) -> Floats:
    """How far labels are from the line through scores and labels, in each stratum (root mean square).

    Each stratum counts as if it had two more labels with the deviation of all: few labels say little.
    """
    labelled = ~np.isnan(labels) & ~np.isnan(scores)
    x, y = scores[labelled] - scores[labelled].mean(), labels[labelled] - labels[labelled].mean()
    squares = (y - x * (float(x @ y) / float(x @ x) if float(x @ x) > 0 else 0.0)) ** 2
    n_strata = int(strata.max()) + 1
    sums = np.bincount(strata[labelled], squares, n_strata) + 2 * float(squares.mean())
    found: Floats = np.sqrt(sums / (np.bincount(strata[labelled], minlength=n_strata) + 2))
    return found


@dataclass(frozen=True, repr=False)
class LabelSample(Result):
    """The replies to label."""

    examples: tuple[Example, ...]
    probabilities: Floats
    """Of each of them: with what probability it was chosen."""
    design: str
    predictor: str
    """The metric whose scores were used; empty for random choice."""
    replies: Mapping[str, int]
    """System -> its number of replies."""
    notes: tuple[str, ...] = ()
    contexts: Ints | None = None
    """The number of the context of each chosen reply, where replies to one context were chosen together."""
    seed: int = 0

    def sheet(self) -> Iterator[dict[str, str]]:
        """One row per chosen reply for a person to rate, in random order, replies to one context together.

        No row shows the system: `item` follows from id and system, so that `compare --labels` finds the reply again.
        """
        contexts = np.arange(len(self.examples)) if self.contexts is None else self.contexts
        places = np.random.default_rng([self.seed, 4]).permutation(int(contexts.max(initial=0)) + 1)
        items = [item_of(example.system, example.id) for example in self.examples]
        for row in sorted(range(len(items)), key=lambda row: (places[contexts[row]], items[row])):
            example = self.examples[row]
            own = by_replier(len(example.context), example.speakers)
            said = zip(own, example.context, strict=True)
            conversation = "\n".join(f"{'Replier' if mine else 'Other person'}: {text}" for mine, text in said)
            found = {"item": items[row], "conversation": conversation, "response": f"Replier: {example.response}"}
            chance = {} if self.design == "random" else {"probability": repr(float(self.probabilities[row]))}
            yield {**found, "rating": "", **chance}

    def records(self) -> list[dict[str, Any]]:
        """One record per chosen reply, as the output has it."""
        return [
            example_record(example, {"probability": probability})
            for example, probability in zip(self.examples, self.probabilities.tolist(), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        systems = {
            system: {"replies": self.replies[system], "chosen": len(p), "lowest": min(p), "highest": max(p)}
            for system, p in self._by_system().items()
        }
        return {"design": self.design, "predictor": self.predictor, "chosen": len(self.examples), "systems": systems}

    def document(self) -> Document:
        """How many replies of each system are chosen, and with which probabilities."""
        rows = [
            [system or "-", self.replies[system], len(p), min(p), max(p)] for system, p in self._by_system().items()
        ]
        how = {
            "random": "with equal probabilities" + ("" if self.contexts is None else ", those to one context together"),
            "stratified": f"by strata of {self.predictor}",
            "active": f"in proportion to the uncertainty of {self.predictor}",
        }[self.design]
        title = f"{len(self.examples)} replies to label, chosen {how}"
        columns = ["system", "replies", "chosen", "lowest probability", "highest"]
        return Document(title, [Table(columns, rows, title=f"{title}:", fit=False)])

    def _by_system(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {system: [] for system in self.replies}
        for example, probability in zip(self.examples, self.probabilities.tolist(), strict=True):
            found[example.system].append(probability)
        return found


@verb
def sample(
    replies: Annotated[
        Any,
        Option(
            "the replies of one or more systems: the same files as for `rejoinder compare`", many="+", read=origin_of
        ),
    ],
    labels: Annotated[
        int,
        Option("how many replies to choose, of all systems together", whole(1), name="--labels", metavar="N"),
    ],
    *,
    scores: Annotated[
        str | Path | None, Option("scores of these replies, which `score -o` wrote", path, metavar="FILE")
    ] = None,
    design: Annotated[
        str | None,
        Option(
            "random: equal probabilities; stratified: by strata of the score; active: in proportion to the length of "
            "the score's interval (default: active if the scores have intervals, stratified for other scores, random "
            "without scores)",
            choices=("random", "stratified", "active"),
        ),
    ] = None,
    predictor: Annotated[
        str | None, Option("which of the scores to use (default: the first)", text, metavar="METRIC")
    ] = None,
    pilot: Annotated[
        Any,
        Option(
            "ratings of some of the replies: strata in which the metric predicts them badly get more labels",
            metavar="FILE",
        ),
    ] = None,
    dimension: Annotated[
        str | None, Option("the dimension that the pilot rated (default: overall)", text, metavar="NAME")
    ] = None,
    unit: UnitOption = "reply",
    fields: Annotated[Fields | None, FIELDS_OPTION] = None,
    on_error: OnError = "raise",
    seed: Seed = 0,
    output: Annotated[
        str | Path | None,
        Option(
            "file to write the replies to: .csv or .xlsx for a person who fills in the column `rating` and does not "
            "see the systems, .jsonl for `rejoinder annotate` and other tools",
            path,
            short="-o",
            metavar="FILE",
            required=True,
        ),
    ] = None,
) -> LabelSample:
    """Choose replies for people to label, and write them with their probabilities to `output`.

    Systems have the names that they have in `compare`, which takes the output as `labels`: `output` is a sheet (.csv,
    .xlsx) with an empty column `rating`, which does not show the systems, or has whole records (.jsonl). With the
    design `random`, where systems answered the same contexts (half of those of the system with the fewest), contexts
    are chosen, each with the replies of all systems.

    `scores` is a score file of the replies, `predictor` one of its metrics (by default the first). `design` is
    `random`, `stratified` (by score; with `pilot`, labels of some replies, more labels where scores predict them badly)
    or `active` (more labels where the scores' intervals are long). By default it is `active` where scores have
    intervals and there is no pilot, `stratified` for other scores, and `random` without scores. The labels are divided
    equally among systems.
    """
    several = isinstance(replies, list | tuple) and all(isinstance(one, str | Path) for one in replies)
    origins = list(replies) if several and replies else [replies]
    with ExitStack() as stack:
        target = stack.enter_context(
            reserved_file(output, (".jsonl", ".csv", ".xlsx"), reads=paths_of([*origins, scores, pilot]))
        )

        def opened(given: Sequence[Any]) -> list[Source]:
            return [stack.enter_context(closing(Source(one, fields, on_error, unit=unit))) for one in given]

        made = _sampled(origins, opened, labels, scores, design, predictor, pilot, dimension, seed)
        if target is not None and target.suffix == ".jsonl":
            write_records(target, made.records())
            made = replace(made, notes=(*made.notes, KEEP))
        elif target is not None:
            write_sheet_of(target, [name for name in SHEET if name in next(made.sheet())], made.sheet())
            made = replace(made, notes=(*made.notes, FILL_IN))
    return made


def _sampled(
    origins: Sequence[Any],
    opened: Callable[[Sequence[Any]], list[Source]],
    labels: int,
    scores: str | Path | None,
    design: str | None,
    predictor: str | None,
    pilot: Any,
    dimension: str | None,
    seed: int,
) -> LabelSample:
    joined, _ = named_systems(origins, opened)
    if len(origins) == 1 and len(joined.sources) == 1 and joined.names[0].keys() == {""}:  # needs no name
        joined = replace(joined, names=({"": ""},))
    examples, name, skipped = list(joined), joined.name, len(joined.messages)
    table = None if scores is None else read_score_file(Path(scores))
    label = chosen_predictor(table, predictor)
    used_design = chosen_design(design, table, label, has_pilot=pilot is not None)
    if pilot is None and dimension is not None:
        raise CallError("a dimension is that of a pilot: expected a pilot")
    if pilot is not None and used_design != "stratified":
        raise CallError(f"a pilot is for the design stratified, not {used_design}")
    frame = label_frame(examples, name, table, label)
    pilot_labels = None if pilot is None else labels_by_row(examples, read_judged(pilot), dimension)[1].values
    rows_of = rows_by_system(examples)
    notes = (f"left out {skipped} unreadable replies",) if skipped else ()
    counts = {system: len(of) for system, of in rows_of.items()}
    grouping = _shared_contexts(examples, rows_of) if used_design == "random" else None
    if grouping is not None:
        return _of_contexts(examples, grouping, labels, counts, notes, seed)
    sizes = divided(labels, {system: len(rows) for system, rows in rows_of.items()})
    probabilities, strata = np.zeros(len(examples)), np.zeros(len(examples), np.int64)
    for system, rows in rows_of.items():
        part = frame.take(rows)
        deviations = _deviations(part.scores, label_strata(part.scores), _of(pilot_labels, rows))
        p, within = label_probabilities(used_design, part, sizes[system], deviations)
        probabilities[rows], strata[rows] = p, within + int(strata.max()) + 1
    rows = np.flatnonzero(drawn_rows(probabilities, seed, strata))
    used = "" if used_design == "random" else label
    return LabelSample(
        tuple(examples[row] for row in rows), probabilities[rows], used_design, used, counts, notes + _few(sizes)
    )


def _shared_contexts(examples: Sequence[Example], rows_of: Mapping[str, Ints]) -> Grouping | None:
    """The contexts of the replies, where all systems answered half of those of the system with the fewest."""
    finder = GroupFinder(by_dialogue=True)
    finder.add(examples)
    grouping = finder.found()
    answered = [np.unique(grouping.contexts[rows]) for rows in rows_of.values()]
    shared = reduce(np.intersect1d, answered)
    pairs = len(rows_of) > 1 and 2 * len(shared) >= min(map(len, answered))
    return grouping if pairs else None


def _of_contexts(
    examples: Sequence[Example],
    grouping: Grouping,
    labels: int,
    counts: Mapping[str, int],
    notes: tuple[str, ...],
    seed: int,
) -> LabelSample:
    """A random sample of contexts, each with the replies of all systems; as many of those that only some answered, in
    proportion."""
    divided(labels, counts)  # raises an error for too few or too many
    answered = np.zeros((grouping.n_contexts, len(counts)), np.bool_)
    for place, rows in enumerate(rows_by_system(examples).values()):
        answered[grouping.contexts[rows], place] = True
    patterns = np.unique(answered, axis=0, return_inverse=True)[1].reshape(-1)
    probability = labels / len(examples)
    chosen = drawn_rows(np.full(grouping.n_contexts, probability), seed, patterns)
    rows = np.flatnonzero(chosen[grouping.contexts])
    systems = [examples[row].system for row in rows.tolist()]
    if not systems:
        raise CallError(f"{labels} labels are too few for one context: expected at least {len(counts)}")
    sizes = {system: systems.count(system) for system in counts}
    return LabelSample(
        tuple(examples[row] for row in rows.tolist()),
        np.full(len(rows), probability),
        "random",
        "",
        counts,
        notes + _few(sizes),
        grouping.contexts[rows],
        seed,
    )


def _deviations(scores: Scores, strata: Ints, pilot: Scores | None) -> Floats | None:
    """How badly the scores predict the pilot's labels in each stratum; None without a pilot."""
    if pilot is None:
        return None
    labelled = int((~np.isnan(pilot) & ~np.isnan(scores)).sum())
    if labelled < FEWEST_LABELS:
        raise CallError(f"the pilot has {labelled} labels for a system: expected at least {FEWEST_LABELS}")
    return stratum_deviations(scores, strata, pilot)


def _of(values: Scores | None, rows: Ints) -> Scores | None:
    return None if values is None else values[rows]


def _few(sizes: Mapping[str, int]) -> tuple[str, ...]:
    fewest = min(sizes.values())
    if fewest >= FEWEST_LABELS:
        return ()
    return (f"only {fewest} labels per system: `rejoinder compare --labels` needs at least {FEWEST_LABELS}",)
