"""The bundled examples as a story: which system wins, how sure that is, which metric to trust and which is fooled."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np

from rejoinder.comparing.compare import compare
from rejoinder.comparing.comparison import Comparison
from rejoinder.data.source import read
from rejoinder.evaluators.blend.notes import StockReplyCounter
from rejoinder.folders.outputs import write_text
from rejoinder.metrics.batch import Batch
from rejoinder.show.text import SMALLEST_P, counted, names_text, number_text, p_statement
from rejoinder.trust.trust import Trust, meta_evaluate

REPORTS = ("report.html", "meta.html")
"""The pages that the demo writes: the comparison of systems, and metrics against ratings."""


def examples_path() -> Path:
    """The bundled examples."""
    return Path(str(files("rejoinder") / "examples" / "demo.jsonl"))


def tell_demo(folder: Path) -> dict[str, str]:
    """Compare the systems of the examples, check the metrics, and write both reports: heading -> what was found."""
    path = examples_path()

    comparison = compare(path)
    write_text(folder / REPORTS[0], comparison.page(title=f"Replies of {path.name}"))
    judged = meta_evaluate(path, studies=["scatter"])
    write_text(folder / REPORTS[1], judged.page())
    return {
        "Who wins": comparison.sentences[0],
        "How sure": _certainty(comparison),
        "Trust": " ".join(judged.sentences[:2]),
        "Fooled": " ".join(_fooled(comparison, judged)),
        "Watch out": "; ".join(_stock_replies(path)) + ".",
        "Ratings": "illustrative only: they follow from how the examples were written, and were not collected from "
        "people.",
    }


def _stock_replies(path: Path) -> Iterator[str]:
    """Which systems give little else than stock replies, which scores alone do not show."""
    counter = StockReplyCounter()
    counter.add(Batch(list(read(path))))
    return counter.notes()


def _certainty(comparison: Comparison) -> str:
    """How many pairs of systems are decided, and by how small a p-value at most."""
    verdicts = comparison.decisive_verdicts
    settled = [verdict for verdict in verdicts if verdict.better is not None]
    if not settled:
        return f"none of {counted(len(verdicts), 'pair')} of systems differs significantly."
    largest = max(verdict.p_adjusted for verdict in settled)
    certain = p_statement(largest) + (" or less" if largest >= SMALLEST_P else "")
    return (
        f"{len(settled)} of {counted(len(verdicts), 'pair')} of systems differ significantly ({certain}, "
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
