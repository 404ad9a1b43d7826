"""The columns of the table of figures: who scores, and what they say of a judged set, kept in files.

A scorer is a metric by its name, the folder of a trained evaluator, a pretrained encoder whose cosine with the last
turn is the score, or a file of scores that are ready. Contexts that an evaluator was trained on are left out.
"""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluator_sets import Part
from rejoinder.data.digests import digest_of
from rejoinder.data.output import replacing
from rejoinder.errors import CallError, DataError, LeakageError
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.encoder_cosine import EncoderCosine
from rejoinder.meta.judged import JudgedSet
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.registry import load
from rejoinder.types import Scores

SETTINGS = ("zero", "semi")
KINDS = ("metric", "evaluator", "cosine", "scores")
NOT_YET = "not measured yet"
_NEEDS = {"references": "no references", "context": "no contexts"}


@dataclass(frozen=True)
class Column:
    """What a scorer says of a set; without scores, the reason."""

    scores: Scores | None
    reason: str = ""
    left_out: int = 0
    """Replies whose context it was trained on."""


@dataclass(frozen=True)
class Scorer:
    """A named column of the table."""

    name: str
    setting: str
    kind: str
    source: str
    """A metric's name with its parameters, a folder, or a file."""
    targets: str = ""
    """Whose targets it should reach: `default`, `mpnet`, or nobody's."""

    def column(self, part: Part, judged: JudgedSet, cache: Path, *, compute: bool = True) -> Column:
        """Its scores: ready, from the cache, or computed and then kept there."""
        if part.unusable:
            return Column(None, part.unusable)
        if self.kind != "metric" and not Path(self.source).exists():
            return Column(None, NOT_YET)
        if self.kind == "scores":
            return self._ready(part, judged)
        kept = cache / part.scored_as.replace("/", "-") / f"{_slug(self.name)}-{self._key(judged)}.jsonl"
        if kept.exists():
            return _read(kept)
        lacking = [need for need in sorted(self.needs) if not any(getattr(e, need) for e in judged.examples)]
        if lacking:
            return Column(None, _NEEDS[lacking[0]])
        if not compute:
            return Column(None, NOT_YET)
        scores, trained = self._score(judged)
        kept.parent.mkdir(parents=True, exist_ok=True)
        _write(kept, judged, scores, trained)
        return _read(kept)

    @cached_property
    def metric(self) -> Metric:
        """What scores, loaded."""
        if self.kind == "cosine":
            return self._cosine.fit()
        made: Metric = load(self.source)
        if self.setting == "zero" and isinstance(made, Evaluator) and made.fitted.judged:
            raise LeakageError(f"{self.name} was fitted on {made.fitted.judged} judged replies: not without labels")
        return made

    @property
    def needs(self) -> frozenset[str]:
        """What examples must have."""
        return self._cosine.needs if self.kind == "cosine" else self.metric.needs

    @property
    def _cosine(self) -> EncoderCosine:
        return EncoderCosine(encoder=self.source, against="last-turn")

    def _score(self, judged: JudgedSet) -> tuple[Scores, NDArray[np.bool_]]:
        trained = np.zeros(len(judged), np.bool_)
        if isinstance(self.metric, Evaluator):
            trained = self.metric.trained_contexts.holds(judged.examples)
        rows = np.flatnonzero(~trained)
        scores = np.full(len(judged), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoreWarning)  # replies that cannot be scored are counted in the table
            found = self.metric.score([judged.examples[row] for row in rows])
        scores[rows] = found if self.metric.higher_is_better else -found
        return scores, trained

    def _ready(self, part: Part, judged: JudgedSet) -> Column:
        found = self._rows.get(part.scored_as)
        if found is None:
            return Column(None, "no out-of-fold scores of the published split" if part.is_published_split else NOT_YET)
        return Column(np.array([found.get(example.id, np.nan) for example in judged.examples]))

    @cached_property
    def _rows(self) -> dict[str, dict[str, float]]:
        """Judged set -> id -> score, of a file of ready scores."""
        rows: dict[str, dict[str, float]] = {}
        for line, record in enumerate(_records(Path(self.source)), start=1):
            missing = [key for key in ("judged", "id", "score") if key not in record]
            if missing:
                raise DataError(
                    "expected judged, id, score, out_of_fold", file=self.source, line=line, field=missing[0]
                )
            if record.get("out_of_fold") is not True:
                raise LeakageError(f"{self.source}:{line}: the score is not said to be out of fold")
            score = record["score"]
            of_set = rows.setdefault(record["judged"], {})
            if record["id"] in of_set:
                raise DataError(f"gives {record['id']!r} of {record['judged']} twice", file=self.source, line=line)
            of_set[record["id"]] = np.nan if score is None else float(score)
        return rows

    def _key(self, judged: JudgedSet) -> str:
        """Changes with what scores and with what is scored."""
        known = self.metric.signature if self.kind == "metric" else folder_digest(Path(self.source))
        texts = ([e.id, e.context, e.response, e.references] for e in judged.examples)
        return digest_of([self.kind, known, digest_of(texts)])[:12]


def read_scorers(path: Path) -> list[Scorer]:
    """The scorers that a TOML file names, in its order."""
    scorers = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["scorer"]:
        kinds = [kind for kind in KINDS if kind in entry]
        unknown = entry.keys() - {"name", "setting", "targets", *KINDS}
        if len(kinds) != 1 or unknown or entry.get("setting") not in SETTINGS:
            raise CallError(f"{path}: expected name, setting ({', '.join(SETTINGS)}) and one of {KINDS}, not {entry}")
        source = entry[kinds[0]]
        scorers.append(Scorer(entry["name"], entry["setting"], kinds[0], source, entry.get("targets", "")))
    return scorers


def folder_digest(folder: Path) -> str:
    """Changes with any byte of any file in the folder."""
    digest = blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> Column:
    records = list(_records(path))
    scores = [np.nan if record["score"] is None else record["score"] for record in records]
    return Column(np.array(scores, np.float64), left_out=sum(record.get("trained_on", False) for record in records))


def _write(path: Path, judged: JudgedSet, scores: Scores, trained: NDArray[np.bool_]) -> None:
    with replacing(path) as file:
        for example, score, seen in zip(judged.examples, scores.tolist(), trained.tolist(), strict=True):
            row = {"id": example.id, "score": None if np.isnan(score) else score}
            file.write(json.dumps(row | ({"trained_on": True} if seen else {})) + "\n")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
