"""The columns of the page: scorers, and their scores of a judged set.

A scorer is a metric by its name, the folder of a trained evaluator, a pretrained encoder whose cosine with the last
turn is the score, or a file of out-of-fold scores. Contexts that an evaluator was trained on are left out.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np

from papers.cache import Arrays
from papers.evaluators.sets import Part
from papers.inputs import Inputs
from papers.published.judged_sets import SEMI, ZERO
from rejoinder.arrays import Bools
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import DataError, LeakageError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.simple import EncoderCosine
from rejoinder.learning.data import examples_digest
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.registry import load, shipped_folder
from rejoinder.types import Scores

Kind = Literal["metric", "shipped", "evaluator", "cosine", "scores"]
NOT_YET = "not measured yet"
_LACKING = {"references": "no references", "context": "no contexts"}


@dataclass(frozen=True)
class Column:
    """A scorer's scores of a set, or the reason why there are none."""

    scores: Scores | None
    reason: str = ""
    left_out: int = 0
    """Replies whose context it was trained on."""


@dataclass(frozen=True)
class Scorer:
    """A named column of the table."""

    name: str
    setting: str
    kind: Kind
    source: str
    """A metric's name, that of an evaluator in the package, or a folder or file within the models' folder."""
    targets: str = ""
    """Which targets apply to it: those of `default`, of `mpnet`, or none."""

    def found(self, inputs: Inputs) -> FoundScorer:
        """The scorer, with its model loaded from a folder of models."""
        home = shipped_folder(self.source) if self.kind == "shipped" else inputs.models / self.source
        return FoundScorer(self, inputs, home)


SCORERS = (
    Scorer("BLEU-2", ZERO, "metric", "bleu-2"),
    Scorer("ROUGE-L", ZERO, "metric", "rouge-l"),
    Scorer("METEOR", ZERO, "metric", "meteor"),
    Scorer("embedding average", ZERO, "metric", "embedding-average"),
    Scorer("cosine, minilm", ZERO, "cosine", "minilm"),
    Scorer("cosine, mpnet", ZERO, "cosine", "mpnet"),
    Scorer("default-zero", ZERO, "evaluator", "default-zero", targets="default"),
    Scorer("mpnet, zero labels", ZERO, "scores", "evaluator-table/mpnet-zero.jsonl"),
    Scorer("default@1, as it ships", SEMI, "shipped", "default@1"),
    Scorer(
        "default, with labels of the set's other contexts",
        SEMI,
        "scores",
        "evaluator-table/default.jsonl",
        targets="default",
    ),
    Scorer("default-fast, as it ships", SEMI, "shipped", "default-fast"),
    Scorer("mpnet, with labels", SEMI, "scores", "evaluator-table/mpnet.jsonl", targets="mpnet"),
)
"""The columns of the page; a folder or file that does not exist leaves its column "not measured yet".

A file of scores has `judged`, `id`, `score` and `"out_of_fold": true` on each line; `judged` is the name of a set, or a
name with /test for its published test split, by a model that was trained on the published rest.
"""


@dataclass(frozen=True)
class FoundScorer:
    """A scorer and where its model is."""

    scorer: Scorer
    inputs: Inputs
    home: Path

    def column(self, part: Part, judged: JudgedSet, *, compute: bool = True) -> Column:
        """Its scores: from a file, from the cache, or computed and then kept there."""
        if part.unusable:
            return Column(None, part.unusable)
        if self.scorer.kind != "metric" and not self.home.exists():
            return Column(None, NOT_YET)
        if self.scorer.kind == "scores":
            return self._from_file(part, judged)
        lacking = [need for need in sorted(self.metric.needs) if not any(getattr(e, need) for e in judged.examples)]
        if lacking:
            return Column(None, _LACKING[lacking[0]])
        name, key = f"scores-{_slug(part.scored_as)}-{_slug(self.scorer.name)}", [self._key, _digest(judged)]
        cache = self.inputs.cache
        if not compute and not cache.arrays_path(name, key).exists():
            return Column(None, NOT_YET)
        found = cache.arrays(name, key, lambda: self._score(judged))
        return Column(found["scores"], left_out=int(found["trained_on"].sum()))

    @cached_property
    def metric(self) -> Metric:
        """What scores, loaded."""
        if self.scorer.kind == "cosine":
            return EncoderCosine(encoder=str(self.home), against="last-turn").fit()
        made: Metric = load(self.home if self.scorer.kind == "evaluator" else self.scorer.source)
        if self.scorer.setting == ZERO and isinstance(made, Evaluator) and made.fitted.judged:
            count = made.fitted.judged
            raise LeakageError(f"{self.scorer.name} was fitted on {count} judged replies: not without labels")
        return made

    @cached_property
    def _key(self) -> list[str]:
        """Changes with what scores."""
        known = self.metric.signature if self.scorer.kind == "metric" else folder_digest(self.home)
        return [self.scorer.kind, known]

    def _score(self, judged: JudgedSet) -> Arrays:
        trained: Bools = np.zeros(len(judged), np.bool_)
        if isinstance(self.metric, Evaluator):
            trained = self.metric.trained_contexts.holds(judged.examples)
        rows = np.flatnonzero(~trained)
        scores = np.full(len(judged), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoreWarning)  # replies that cannot be scored are counted in the table
            found = self.metric.score([judged.examples[row] for row in rows])
        scores[rows] = found if self.metric.higher_is_better else -found
        return {"scores": scores, "trained_on": trained}

    def _from_file(self, part: Part, judged: JudgedSet) -> Column:
        found = self._rows.get(part.scored_as)
        if found is None:
            return Column(None, "no out-of-fold scores of the published split" if part.is_published_split else NOT_YET)
        return Column(np.array([found.get(example.id, np.nan) for example in judged.examples]))

    @cached_property
    def _rows(self) -> dict[str, dict[str, float]]:
        """Judged set -> id -> score, of a file of scores."""
        rows: dict[str, dict[str, float]] = {}
        file = str(self.home)
        for line, record in enumerate(_records(self.home), start=1):
            missing = [key for key in ("judged", "id", "score") if key not in record]
            if missing:
                raise DataError("expected judged, id, score, out_of_fold", file=file, line=line, field=missing[0])
            if record.get("out_of_fold") is not True:
                raise LeakageError(f"{file}:{line}: the score is not marked as out of fold")
            score = record["score"]
            of_set = rows.setdefault(record["judged"], {})
            if record["id"] in of_set:
                raise DataError(f"gives {record['id']!r} of {record['judged']} twice", file=file, line=line)
            of_set[record["id"]] = np.nan if score is None else float(score)
        return rows


def folder_digest(folder: Path) -> str:
    """A hash of all files in the folder."""
    digest = blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()


def _digest(judged: JudgedSet) -> str:
    return examples_digest(judged.examples)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
