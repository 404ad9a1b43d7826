"""The bundled examples as two lessons: is a new version better than the old one, and which metric can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.comparing.compare import compare, compare_table
from rejoinder.comparing.comparison import Comparison
from rejoinder.data.source import read
from rejoinder.evaluators.blend.notes import StockReplyCounter
from rejoinder.folders.outputs import write_text
from rejoinder.folders.schema import json_value
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import SMALLEST_P, counted, interval_text, names_text, number_text, p_statement, share_text
from rejoinder.trusting.trust import Trust, trust
from rejoinder.types import Example

REPORTS = ("report.html", "trust.html")
"""The pages that the lesson on metrics writes: the comparison of systems, and metrics against ratings; that on
versions writes the first."""


def examples_path(name: str = "demo") -> Path:
    """The bundled examples: demo, assistant-old or assistant-new."""
    return Path(str(files("rejoinder") / "examples" / f"{name}.jsonl"))


# ----------------------------------------------------------------------------------------------------------------------
# Is the new version of an assistant better than the old one?


def tell_versions(folder: Path) -> dict[str, Any]:
    """Compare the two versions of the assistant and write the report: heading -> what was found."""
    paths = [examples_path(f"assistant-{name}") for name in ("old", "new")]
    comparison = compare(*paths)
    write_text(folder / REPORTS[0], comparison.page(title="Two versions of an assistant"))
    texts = [example for path in paths for example in read(path)]
    written = [json_value(line) for line in paths[0].read_text(encoding="utf-8").splitlines()]
    return {
        "Question": "Is the new version of this assistant better than the old one?",
        "Answer": comparison.sentences[0],
        "How sure": _how_sure(comparison),
        "Three replies": [*_three_replies(comparison, texts)],
        "What would mislead": " ".join(_misleading(comparison)),
        "Evasions": _evasions(comparison, written),
        "Truth": _truth(written),
    }


def _how_sure(comparison: Comparison) -> str:
    """The interval in words; where no version is better, what the comparison says after its first sentence."""
    (verdict,) = comparison.decisive_verdicts
    if comparison.better is None:
        named = comparison.faults.sentences(comparison.systems) if comparison.faults else []
        return " ".join([sentence for sentence in comparison.sentences[1:] if sentence not in named][:2])
    limits = comparison.table.limits(verdict.metric)
    scale = "" if limits is None else f" on a scale from {limits[0]:g} to {limits[1]:g}"
    low, high = sorted((abs(verdict.result.difference.low), abs(verdict.result.difference.high)))
    return (
        f"with 95 % confidence, {comparison.better} is ahead by {low:.2f} to {high:.2f}{scale}. "
        f"If both were equally good, so large a difference would be rare ({p_statement(verdict.p_adjusted)})."
    )


def _three_replies(comparison: Comparison, texts: Sequence[Example]) -> Iterator[dict[str, Any]]:
    """The contexts with the largest difference for the new version, with a typical one and with the largest against it.

    Both files have the same contexts in the same order.
    """
    table, metric = comparison.table, comparison.primary.metric
    old, new = (table.rows_of(name) for name in ("old", "new"))
    order = np.argsort(table[metric][new] - table[metric][old], kind="stable")
    for what, place in (
        ("Most in favour of new", order[-1]),
        ("Typical", order[len(order) // 2]),
        ("Most in favour of old", order[0]),
    ):
        rows = {"old": int(old[place]), "new": int(new[place])}
        yield {
            "what": what,
            "user": " ... ".join(texts[rows["old"]].context[::2]),
            **{
                name: {"response": texts[row].response, metric: float(table[metric][row])} for name, row in rows.items()
            },
        }


def _misleading(comparison: Comparison) -> Iterator[str]:
    """What single replies and the other metrics would have said."""
    (verdict,) = comparison.decisive_verdicts
    yield (
        f"single replies: old has the better score in {share_text(verdict.outcomes.losses)} of {verdict.counted_units}."
    )
    for other in comparison.secondary_verdicts:
        if other.outcome == "higher":
            yield f"{other.leader} is higher on {other.metric}, which does not say that it is better."
        elif other.better != comparison.better:
            found = f"prefers {other.better}" if other.better else "sees no significant difference"
            yield f"{other.metric} {found} ({interval_text(other.result.difference, sign=True)})."


def _evasions(comparison: Comparison, written: list[dict[str, Any]]) -> str:
    """Whether the metric notices that the old version says nothing where the new one answers."""
    table, metric = comparison.table, comparison.primary.metric
    empty = np.array([row.get("fault") == "says nothing" for row in written])
    old, new = (table.rows_of(name)[empty] for name in ("old", "new"))
    found = compare_table(table.where(np.concatenate([old, new])), primary=metric)
    means = f"old {np.nanmean(table[metric][old]):.2f}, new {np.nanmean(table[metric][new]):.2f}"
    sample = next(row["response"] for row in written if row.get("fault") == "says nothing")
    return (
        f'in {counted(len(old), "context")} the old version says nothing ("{sample}"), and the new one answers. '
        f"{metric} {'notices' if found.better == 'new' else 'does not notice'} ({means})."
    )


def _truth(written: list[dict[str, Any]]) -> str:
    """How the examples were made."""
    worse, equal, better = (
        sum(row["written_to_be"] == kind for row in written) for kind in ("worse", "equal", "better")
    )
    contexts = counted(len(written), "context")
    return (
        f"invented texts; new was written to be better in {worse} of {contexts}, equal in {equal}, worse in {better}."
    )


# ----------------------------------------------------------------------------------------------------------------------
# Which metric can be trusted? Four invented systems.


def tell_metrics(folder: Path) -> dict[str, str]:
    """Compare the systems of the examples, check the metrics, and write both reports: heading -> what was found."""
    path = examples_path()

    comparison = compare(path)
    write_text(folder / REPORTS[0], comparison.page(title=f"Replies of {path.name}"))
    judged = trust(path, probes=["scatter"])
    write_text(folder / REPORTS[1], judged.page())
    return {
        "Who wins": comparison.sentences[0],
        "How sure": _certainty(comparison),
        "Trust": " ".join(judged.sentences[:2]),
        "Fooled": " ".join(_fooled(comparison, judged)),
        "Watch out": "; ".join(_stock_replies(path)) + ".",
        "Ratings": "for illustration only: each system has a fixed rating, except some weak replies of good. None was "
        "collected from people.",
    }


def _stock_replies(path: Path) -> Iterator[str]:
    """Which systems give little else than stock replies, which scores alone do not show."""
    counter = StockReplyCounter()
    counter.add(Batch(list(read(path))))
    return counter.notes()


def _certainty(comparison: Comparison) -> str:
    """How many pairs of systems are decided, and by how small a p-value at most."""
    verdicts = comparison.decisive_verdicts
    significant = [verdict for verdict in verdicts if verdict.better is not None]
    if not significant:
        return f"none of {counted(len(verdicts), 'pair')} of systems differs significantly."
    largest = max(verdict.p_adjusted for verdict in significant)
    certain = p_statement(largest) + (" or less" if largest >= SMALLEST_P else "")
    return (
        f"{len(significant)} of {counted(len(verdicts), 'pair')} of systems differ significantly ({certain}, "
        f"corrected for {len(verdicts)} tests), on {verdicts[0].counted_units}."
    )


def _fooled(comparison: Comparison, judged: Trust) -> Iterator[str]:
    """Which metrics prefer a system that the ratings do not, or rate one level with the best; the primary one first."""
    ratings = judged.dimensions[0].scored.human
    systems = np.array(judged.judged.systems)
    means = {name: float(np.nanmean(ratings[systems == name])) for name in comparison.table.system_names}
    best = max(means, key=lambda name: means[name])
    primary, scored = comparison.primary.metric, comparison.table.summary()[comparison.primary.metric]
    rivals = [name for name in comparison.unbeaten if name != best]
    if rivals:
        level = names_text([f"{name} ({number_text(scored[name].mean, 2)})" for name in rivals])
        verb = "puts" if best in comparison.unbeaten else "prefers"
        to = "level with" if best in comparison.unbeaten else "to"
        gap = names_text([f"{name} {number_text(means[name], 2)}" for name in rivals])
        yield (
            f"{primary}, which decides, {verb} {level} {to} {best} ({number_text(scored[best].mean, 2)}), although "
            f"the mean ratings are {gap} and {best} {number_text(means[best], 2)}."
        )
    fooled = [
        f"{voice.name} prefers {names_text(sorted(voice.winners))}"
        for voice in comparison.voices
        if voice.winners and best not in voice.winners
    ]
    undecided = [voice.name for voice in comparison.voices if not voice.winners]
    if fooled:
        yield f"{names_text(fooled)}, although {best} has the best ratings."
    if undecided:
        yield f"{names_text(undecided)} cannot tell which system is best."
    if not rivals and not fooled and not undecided:
        yield "no metric prefers another system than the ratings do."
