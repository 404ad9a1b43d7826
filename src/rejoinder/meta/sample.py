"""Which replies people should label next, each chosen with a known probability: docs/guide/what-to-label-next.md."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arguments import checked, one_of, optional, path, whole
from rejoinder.arrays import Floats, Ints
from rejoinder.data.converting.writers import example_record, write_records
from rejoinder.data.record import Fields
from rejoinder.data.source import OnError, Source
from rejoinder.errors import CallError
from rejoinder.meta.human_means import FEWEST_LABELS, labels_by_row
from rejoinder.meta.judged import read_judged
from rejoinder.output.named import paths_of
from rejoinder.output.targets import reserved_file
from rejoinder.scoring.label_design import (
    DESIGNS,
    chosen_design,
    chosen_predictor,
    divided,
    label_frame,
    label_probabilities,
    label_strata,
    rows_by_system,
    stratum_deviations,
)
from rejoinder.scoring.score_file import read_scores
from rejoinder.stats.labelling.design import drawn
from rejoinder.text.grid import grid, number
from rejoinder.types import Example, Scores


@dataclass(frozen=True)
class LabelSample:
    """The replies to label; `str()` is a table by system."""

    examples: tuple[Example, ...]
    probabilities: Floats
    """Of each of them: with what probability it was chosen."""
    design: str
    predictor: str
    """The metric whose scores were used; empty for random choice."""
    replies: Mapping[str, int]
    """System -> its number of replies."""
    notes: tuple[str, ...] = ()

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

    def __str__(self) -> str:
        rows = [
            [system or "-", str(self.replies[system]), str(len(p)), number(min(p)), number(max(p))]
            for system, p in self._by_system().items()
        ]
        how = {
            "random": "with equal probabilities",
            "stratified": f"by strata of {self.predictor}",
            "active": f"in proportion to the uncertainty of {self.predictor}",
        }[self.design]
        title = f"{len(self.examples)} replies to label, chosen {how}:"
        return "\n".join([title, grid(["system", "replies", "chosen", "lowest probability", "highest"], rows)])

    def _by_system(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {system: [] for system in self.replies}
        for example, probability in zip(self.examples, self.probabilities.tolist(), strict=True):
            found[example.system].append(probability)
        return found


@checked(labels=whole(1), scores=optional(path), design=optional(one_of(*DESIGNS)))
def sample(
    replies: Any,
    labels: int,
    *,
    scores: str | Path | None = None,
    design: str | None = None,
    predictor: str | None = None,
    pilot: Any = None,
    dimension: str | None = None,
    fields: Fields | None = None,
    on_error: OnError = "raise",
    seed: int = 0,
    output: str | Path | None = None,
) -> LabelSample:
    """Choose replies for people to label, and write them with their probabilities to `output`.

    `scores` is a score file of the replies, `predictor` one of its metrics (by default the first). `design` is
    `random`, `stratified` (by score; with `pilot`, labels of some replies, more labels where scores predict them badly)
    or `active` (more labels where the scores' intervals are long). By default it is `active` where scores have
    intervals and there is no pilot, `stratified` for other scores, and `random` without scores. The labels are divided
    equally among systems.
    """
    with reserved_file(output, (".jsonl",), reads=paths_of([replies, scores, pilot])) as target:
        made = _sampled(replies, labels, scores, design, predictor, pilot, dimension, fields, on_error, seed)
        if target is not None:
            write_records(target, made.records())
    return made


def _sampled(
    replies: Any,
    labels: int,
    scores: str | Path | None,
    design: str | None,
    predictor: str | None,
    pilot: Any,
    dimension: str | None,
    fields: Fields | None,
    on_error: OnError,
    seed: int,
) -> LabelSample:
    with closing(Source(replies, fields, on_error)) as source:
        examples, name = list(source), source.name
        skipped = len(source.skipped)
    table = None if scores is None else read_scores(Path(scores))
    label = chosen_predictor(table, predictor)
    used_design = chosen_design(design, table, label, has_pilot=pilot is not None)
    if pilot is None and dimension is not None:
        raise CallError("a dimension is that of a pilot: expected a pilot")
    if pilot is not None and used_design != "stratified":
        raise CallError(f"a pilot is for the design stratified, not {used_design}")
    frame = label_frame(examples, name, table, label)
    pilot_labels = None if pilot is None else labels_by_row(examples, read_judged(pilot), dimension)[1].values
    rows_of = rows_by_system(examples)
    sizes = divided(labels, {system: len(rows) for system, rows in rows_of.items()})
    probabilities, strata = np.zeros(len(examples)), np.zeros(len(examples), np.int64)
    for system, rows in rows_of.items():
        part = frame.take(rows)
        deviations = _deviations(part.scores, label_strata(part.scores), _of(pilot_labels, rows))
        p, within = label_probabilities(used_design, part, sizes[system], deviations)
        probabilities[rows], strata[rows] = p, within + int(strata.max()) + 1
    rows = np.flatnonzero(drawn(probabilities, seed, strata))
    notes = (f"left out {skipped} unreadable replies",) if skipped else ()
    counts = {system: len(of) for system, of in rows_of.items()}
    used = "" if used_design == "random" else label
    return LabelSample(
        tuple(examples[row] for row in rows), probabilities[rows], used_design, used, counts, notes + _few(sizes)
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
