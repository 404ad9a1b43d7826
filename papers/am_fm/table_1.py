"""The page `am-fm-table1`: metrics against people over the 20 systems of DSTC6 (D'Haro et al. 2019, Table 1)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from papers.am_fm.columns import cross_fitted, fm_name
from papers.am_fm.folds import Dstc6
from papers.am_fm.measures import mixed
from papers.documents import Document
from papers.dstc6 import corpus_scores
from papers.inputs import DSTC6, Inputs
from papers.published.am_fm import NEXT_RATING, ORDER, OUTLIER, OUTLIER_RATING, TABLE_1
from rejoinder.arrays import Ints
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import DataError
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.registry import load
from rejoinder.stats.correlation import correlate
from rejoinder.trusting.correlations import system_level
from rejoinder.trusting.probing import ScoredSet, cell_text
from rejoinder.types import Scores

SECTIONS = ("table_1",)

METRICS = {
    "BLEU-4": "bleu-4",
    "METEOR": "meteor",
    "ROUGE-L": "rouge-l",
    "CIDEr": "cider",
    "embedding average": "embedding-average",
    "vector extrema": "vector-extrema",
    "greedy matching": "greedy-matching",
}
"""Row of the paper's table -> our metric."""
AM_FM = "AM-FM"
"""The row of the paper's own metric, by models trained on references of other items."""
SKIP_THOUGHT = "skip-thought"
"""A row of the paper's table that needs a trained encoder."""
CASED = ("bleu-4", "rouge-l", "cider")
"""Metrics that the organisers' tool does not lower-case for."""

INTRODUCTION = f"""\
# DSTC6: metrics against people, by system

The Pearson correlation with people over the 20 systems, next to what D'Haro et al. 2019 report in their Table 1. The
organisers' values are corpus-level scores, and so are ours. A further column has the mean over replies, which is
compared with people's mean over the same replies; its interval resamples the 2,000 items. One system, S_20, lies far
from the others (people rate it {OUTLIER_RATING:.2f}, all others {NEXT_RATING:.2f} or more), so there is also a column
without it. 310 replies of S_20 are nothing but `<no_reply>` or `<URL>`. The embedding metrics have no vector for these
and leave them out, whereas
nlg-eval, which computed the published figures, gave them a number; the last column counts them as 0. The remaining
differences are due to different word vectors and, for METEOR, to its paraphrase table, which is not used here. The
tweets that AM-FM was trained on are not public; ours is trained on references of other items, and
[am-fm-dstc6.md](am-fm-dstc6.md) shows it in detail. There is a row for skip-thought if the folder of models has trained
vectors (`make models-cache/skip-thought`)."""


SKIP_THOUGHT_NOTE = """\
*skip-thought*: the vectors behind the published figure were learned from 11,000 books for weeks, have 4,800 dimensions
and are not at hand. Ours have 128 dimensions and have seen the training dialogues of DailyDialog once: `rejoinder train
skip-thought --dialogues dailydialog.train.jsonl.gz --vocabulary 2000 --embedding 64 --hidden 128 --batch 32 --epochs 1
--learning-rate 0.003 --seed 1 -o skip-thought`. The row shows what such vectors give, not what the published ones
would."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Which trained encoder is measured."""

    skip_thought: str = ""
    """The folder of a trained skip-thought; by default `skip-thought` in the folder of models, if it is there."""


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:  # noqa: ARG001
    """One row per metric."""
    judged = inputs.judged(DSTC6)
    measured = {row: metric_of(name) for row, name in METRICS.items()}
    trained = Path(settings.skip_thought) if settings.skip_thought else inputs.models / SKIP_THOUGHT
    if settings.skip_thought or trained.is_dir():
        measured[SKIP_THOUGHT] = load(trained)
    found = {row: _scores(metric, judged) for row, metric in measured.items()}
    columns = cross_fitted(Dstc6(judged), inputs.cache)
    found[AM_FM] = _with_means(mixed(columns["AM"], columns[fm_name(ORDER)]), judged)
    rows = [
        [METRICS.get(row, row), f"{TABLE_1.column('Pearson')[row]:.4f}", *_agreement(*scores, judged)]
        for row, scores in found.items()
    ]
    signatures = [f"- `{metric.signature}`" for metric in measured.values()]
    document = Document("am-fm-table1")
    document.text(INTRODUCTION)
    if SKIP_THOUGHT in measured:
        document.text(SKIP_THOUGHT_NOTE)
    header = ["corpus level", "without S_20", "mean over replies [95 %]", "unscored replies count as 0 [95 %]"]
    document.table(["metric", "D'Haro et al.", *header], rows)
    document.text("Signatures:", "\n".join(signatures))
    return document


def metric_of(name: str) -> Metric:
    """A metric as the organisers' tool computes it on their tokenised text."""
    metric: Metric = load(name, tokenise="whitespace", lowercase=name not in CASED)
    return metric


def _scores(metric: Metric, judged: JudgedSet) -> tuple[Scores, Scores]:
    """The score of each reply, and that of each system's replies together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)  # replies of which no word has a vector
        scores = metric.score(judged.examples)
        if metric.counter() is None and metric.observer() is None:
            return _with_means(scores, judged)
        systems = {name: [judged.examples[row] for row in own] for name, own in _rows_by_system(judged).items()}
        return scores, np.array(list(corpus_scores(metric, systems).values()))


def _with_means(scores: Scores, judged: JudgedSet) -> tuple[Scores, Scores]:
    """The score of each reply, and the mean of each system."""
    return scores, np.array([_mean(scores[own]) for own in _rows_by_system(judged).values()])


def _rows_by_system(judged: JudgedSet) -> dict[str, Ints]:
    names = dict.fromkeys(judged.systems.tolist())
    return {name: np.flatnonzero(judged.systems == name) for name in names}


def _agreement(scores: Scores, corpus: Scores, judged: JudgedSet) -> list[str]:
    """Correlation over the systems: at corpus level with and without S_20, and by the means over replies."""
    rows, people = _rows_by_system(judged), judged.human("overall")
    human = np.array([people[own].mean() for own in rows.values()])
    kept = np.array([name != OUTLIER for name in rows])
    return [
        f"{correlate(corpus, human).coefficient:.3f}",
        f"{correlate(corpus[kept], human[kept]).coefficient:.3f}",
        _system_level(judged, scores),
        _system_level(judged, np.nan_to_num(scores)),
    ]


def _mean(scores: Scores) -> float:
    """The mean of the scored replies; NaN if there is none."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else math.nan


def _system_level(judged: JudgedSet, scores: Scores) -> str:
    table = system_level(ScoredSet(judged, "overall", {"metric": scores}))
    if table is None:
        raise DataError("holds fewer than three systems: expected those of DSTC6", file=judged.name)
    return cell_text(table.rows[0].measured["pearson"].interval)
