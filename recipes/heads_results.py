"""The measurements of `default` with several heads beside today's; `default_heads.py evaluate` writes the page.

Nothing that is measured here taught the network: the labels of the seven sets, humod, PandaLM and mutual.train, a
quarter of DBDC3's dialogues, the written pairs. The blend is fitted on the other sets in turn.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from recipes.blend_results import MEASURED, sets_of, shown, stem
from scipy.stats import mannwhitneyu, wilcoxon

from rejoinder.arrays import Bools, Floats
from rejoinder.data.judged import JudgedSource
from rejoinder.data.source import read
from rejoinder.evaluators.blend.blend import Blend, standard_on_scale
from rejoinder.evaluators.blend.columns import LabelledRows
from rejoinder.evaluators.blend.fitting import choose_models, compared, mean_agreement
from rejoinder.evaluators.calibration import assess
from rejoinder.evaluators.encoder.encoder import Encoder
from rejoinder.learning.run import TrainingRun
from rejoinder.registry import load
from rejoinder.show.text import number_text
from rejoinder.stats.correlation import pearson, spearman
from rejoinder.stats.resampling import mean_interval
from rejoinder.types import Example

HERE = Path(__file__).resolve().parent
TODAY = ("default@1", "default-fast", "fluency")
"""The members of today's `default`."""
Scorer = Callable[[Sequence[Example]], Floats]


@dataclass(frozen=True)
class Line:
    """A row of the page."""

    what: str
    today: str
    now: str
    asked: str = ""


@dataclass(frozen=True)
class Measured:
    """What is measured: the new network and blend beside today's."""

    data: Path
    work: Path
    fitted: Blend
    network: Encoder
    most: int = 1 << 30
    """Rows of a file at most: to see that all steps work."""

    @property
    def scorers(self) -> Mapping[str, Scorer]:
        """Today's `default`, and the new one."""
        return {"today": load("default").score, "now": self.fitted.score}

    def lines(self) -> Iterator[Line]:
        """All rows, the slow ones last."""
        yield from self.contradictions()
        yield from self.reading_questions()
        yield self.breakdowns()
        yield from self.pandalm()
        yield from self.written()
        yield self.garbled()
        yield from self.left_out()
        yield from self.published()
        yield from self.speed()

    def contradictions(self) -> Iterator[Line]:
        """How often the corrected reply of a written pair scores above the contradicting one."""
        rows = rows_of(HERE.parent / "benchmarks/contradictions.jsonl")
        halves = [
            [Example(row["id"], tuple(row["context"]), row[half]) for row in rows]
            for half in ("correct", "contradicting")
        ]
        columns = {**self.scorers, "consistent": self.head("consistent")}
        right = {name: (np.sign(np.subtract(*map(score, halves))) + 1) / 2 for name, score in columns.items()}
        kinds = np.array([row["kind"] for row in rows])
        for kind in ("all", *dict.fromkeys(kinds.tolist())):
            chosen = np.ones(len(rows), bool) if kind == "all" else kinds == kind
            cells = {name: interval_of(found[chosen]) for name, found in right.items()}
            now = f"{cells['now']}; the head alone {cells['consistent']}"
            yield Line(
                f"written contradictions, {kind} ({chosen.sum()} pairs)",
                cells["today"],
                now,
                ".70" if kind == "all" else "",
            )

    def reading_questions(self, count: int = 1000) -> Iterator[Line]:
        """How often the right one of four replies scores highest; chance is .25."""
        rows = self.rows("choices/mutual.train.jsonl.gz")
        drawn = np.random.default_rng(0).permutation(len(rows))[: min(count, self.most)]
        chosen = [rows[number] for number in drawn.tolist()]
        examples = [Example(row["id"], tuple(row["context"]), option) for row in chosen for option in row["options"]]
        answers = np.array([row["answer"] for row in chosen])
        cells = {
            name: interval_of((score(examples).reshape(-1, 4).argmax(1) == answers).astype(float))
            for name, score in {
                **self.scorers,
                "consistent": self.head("consistent"),
                "fits": self.head("fits"),
            }.items()
        }
        now = f"{cells['now']}; heads: consistent {cells['consistent']}, fits {cells['fits']}"
        yield Line(f"mutual.train, {len(chosen)} questions", cells["today"], now, "shown")

    def breakdowns(self) -> Line:
        """Spearman's correlation with thirty raters on the dialogues that are left out."""
        from recipes.default_heads import left_out

        rows = [
            row for row in self.rows("judged/dbdc3_en_dev.jsonl.gz") if left_out(row["dialogue_id"]) and row["context"]
        ]
        rows = rows[: self.most]
        examples = [Example(row["id"], tuple(row["context"]), row["response"]) for row in rows]
        people = np.array([np.mean(row["scores"]["fits"]) for row in rows])
        cells = {
            name: number_text(spearman(score(examples), people).coefficient)
            for name, score in {**self.scorers, "fits": self.head("fits")}.items()
        }
        return Line(
            f"DBDC3, dialogues left out ({len(rows)} turns)",
            cells["today"],
            f"{cells['now']}; head fits {cells['fits']}",
            ".55",
        )

    def pandalm(self) -> Iterator[Line]:
        """How often the preferred reply scores higher, over all pairs, and where the worse one is the longer."""
        rows = [
            row
            for row in self.rows("preferences/pandalm.jsonl.gz")
            if row["a"].strip() and row["b"].strip() and row["votes"].count("a") != row["votes"].count("b")
        ][: self.most]
        first = np.array([1.0 if row["votes"].count("a") > row["votes"].count("b") else -1.0 for row in rows])
        halves = [[Example(row["id"], tuple(row["context"]), row[half]) for row in rows] for half in ("a", "b")]
        length = np.array([len(row["a"].split()) - len(row["b"].split()) for row in rows])
        columns = {name: np.subtract(*map(score, halves)) for name, score in self.scorers.items()}
        columns["preferred"] = np.subtract(*map(self.head("preferred"), halves))
        columns["longer"] = length.astype(float)
        prompts = np.unique([row["context"][0] for row in rows], return_inverse=True)[1]
        for what, chosen in (("all", np.ones(len(rows), bool)), ("the worse is longer", length * first < 0)):
            right = {name: (np.sign(found * first) + 1)[chosen] / 2 for name, found in columns.items()}
            cells = {name: interval_of(found, prompts[chosen]) for name, found in right.items()}
            gain = interval_of(right["now"] - right["longer"], prompts[chosen])
            now = f"{cells['now']}; head {cells['preferred']}; above the longer reply ({cells['longer']}) by {gain}"
            yield Line(
                f"PandaLM, {what} ({chosen.sum()} pairs)", cells["today"], now, ".68" if what == "all" else ".50"
            )

    def written(self) -> Iterator[Line]:
        """By how much good replies score above those of other kinds, written for the project."""
        examples = list(read(HERE.parent / "benchmarks/written_examples.jsonl"))
        kinds = dict.fromkeys(each.system for each in examples)
        scores = {name: score(examples) for name, score in self.scorers.items()}
        place = {(each.system, each.context): number for number, each in enumerate(examples)}
        contexts = [each.context for each in examples if each.system == "good"]
        for kind in kinds:
            if kind == "good":
                continue
            off = {
                name: np.array([found[place["good", each]] - found[place[kind, each]] for each in contexts])
                for name, found in scores.items()
            }
            cells = {name: f"{each.mean():+.2f} (p = {wilcoxon(each).pvalue:.3f})" for name, each in off.items()}
            yield Line(f"good above {kind} ({len(contexts)} written contexts)", cells["today"], cells["now"], "+.30")

    def garbled(self) -> Line:
        """The area under the ROC curve of intact above broken replies."""
        rows = rows_of(self.work / "garbled.jsonl")[: 2 * self.most]
        examples = [Example(row["id"], tuple(row["context"]), row["response"]) for row in rows]
        intact = np.array([row["scores"]["intact"][0] == 1 for row in rows])
        columns = {**self.scorers, "acceptable": self.head("acceptable")}
        cells = {name: number_text(area(score(examples), intact)) for name, score in columns.items()}
        return Line(
            f"garbled, AUC ({len(rows)} replies)",
            cells["today"],
            f"{cells['now']}; head acceptable {cells['acceptable']}",
            ".95",
        )

    def published(self) -> Iterator[Line]:
        """Pearson's and Spearman's correlation on the test part of the split that Zhao et al. 2020 published."""
        for name in ("zhao2020_dailydialog", "zhao2020_personachat"):
            judged = list(JudgedSource(str(self.data / "judged" / f"{name}.jsonl.gz")).judged())[: 8 * self.most]
            test = [item for item in judged if item.split == "test"]
            if len(test) < 3:
                continue
            people = np.array([np.mean(item.scores["overall"]) for item in test])
            cells = []
            for members in (TODAY, self.fitted.members):
                blend = Blend(members=members, models=("ridge",), dimension=("overall",))
                blend.fit((), [item for item in judged if item.split != "test"])
                scores = blend.score([item.example for item in test])
                cells.append(" / ".join(number_text(kind(scores, people).coefficient) for kind in (pearson, spearman)))
            yield Line(f"{name}, published split ({len(test)} replies)", cells[0], cells[1], "shown")

    def left_out(self) -> Iterator[Line]:
        """Spearman's correlation with people, each set predicted from the others, and the intervals of scores."""
        paths = sorted(map(str, (self.work / "sets").glob("*.jsonl")))
        sets = sets_of(paths)
        run = TrainingRun(member_scores=self.work / "scores", quiet=True)
        new = Blend(members=self.fitted.members, preferences=self.fitted.preferences)
        data = new._labelled(sets, run, new._preference_sets)
        old = with_columns(Blend(members=TODAY)._labelled(sets, run), load("default").columns_)
        kinds = ("ridge", "trees")
        today, now = (choose_models(each, kinds, "sets", 0).held_out for each in (old, data))
        names = [stem(each.name) for each in sets]
        parts = {name: data.sets == number for number, name in enumerate(names)}
        measured = [number for number, name in enumerate(names) if name in MEASURED]
        if measured:
            parts["mean of the seven"] = np.isin(data.sets, measured)
        for name, rows in parts.items():
            people = (data.human[rows], data.sets[rows])
            agreement, gain = compared(today[rows], now[rows], *people, data.groups[rows])
            before = number_text(mean_agreement(today[rows], *people))
            asked = {"mean of the seven": ".48", "humod": ".44"}.get(name, "")
            yield Line(
                f"{name}, left out ({rows.sum():,} replies)",
                before,
                f"{shown(agreement)}, gain {shown(gain, sign=True)}",
                asked,
            )
        found = [assess(standard_on_scale(each), data.human, data.groups) for each in (today, now)]
        cells = [f"{each.coverage.estimate:.1%} covered, {each.width:.2f} wide" for each in found]
        yield Line("90 % intervals of scores, left out", cells[0], cells[1], "88 to 92 %, at most 3.1")

    def speed(self) -> Iterator[Line]:
        """Replies per second with the threads of this process."""
        words = "so I went to the market and bought some bread and a few apples for my old friend".split()
        long, turn = " ".join((words * 8)[:120]), " ".join((words * 3)[:40])
        kinds = {"150 tokens after a turn of 50": (turn, long), "short": ("How was your day?", "Good, I went out.")}
        for what, (context, reply) in kinds.items():
            cells = {}
            examples = [Example(str(number), (f"{number} {context}",), f"{reply} {number}") for number in range(60)]
            for name, score in self.scorers.items():
                score(examples[:2])
                start = time.perf_counter()
                score(examples[2:])
                cells[name] = f"{58 / (time.perf_counter() - start):.0f}/s"
            yield Line(
                f"speed, replies of {what}", cells["today"], cells["now"], "10/s" if "150" in what else "no slower"
            )

    def head(self, name: str) -> Scorer:
        """One head of the network."""
        from rejoinder.metrics.batch import Batch

        return lambda examples: self.network.readings(Batch(list(examples)))[name]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The records of a file of the data."""
        with gzip.open(self.data / name, "rt", encoding="utf-8") as lines:
            return list(map(json.loads, lines))


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    with path.open(encoding="utf-8") as lines:
        return list(map(json.loads, lines))


def with_columns(data: LabelledRows, names: Sequence[str]) -> LabelledRows:
    """The columns of these names alone."""
    kept = np.isin(data.names, names)
    listed = tuple(name for name, keep in zip(data.names, kept, strict=True) if keep)
    return replace(data, columns=data.columns[:, kept], names=listed, owner=data.owner[kept], pairs=None)


def interval_of(values: Floats, groups: Any = None) -> str:
    """The mean with its 95 % interval."""
    return shown(mean_interval(values, groups), sign=False)


def area(scores: Floats, better: Bools) -> float:
    """How often a better reply scores above a worse one."""
    return float(mannwhitneyu(scores[better], scores[~better]).statistic / (better.sum() * (~better).sum()))


def page(lines: Sequence[Line], command: str) -> str:
    """The table in Markdown."""
    text = [
        "# `default` with several heads: results",
        "",
        "Each row measures today's `default` and the new one on the same replies; 95 % intervals resample contexts.",
        "Nothing that is measured here taught the network (`recipes/default_heads.py` says what did).",
        "",
        "| | today | new | asked |",
        "|---|---|---|---|",
        *(f"| {line.what} | {line.today} | {line.now} | {line.asked} |" for line in lines),
        "",
        f"    {command}",
        "",
    ]
    return "\n".join(text)
