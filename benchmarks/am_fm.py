"""am-fm on DSTC6: its tables and figures, ours beside theirs, as Markdown, with figures beside the page.

    python benchmarks/am_fm.py ../shared/data -o docs/results/am-fm-dstc6.md

Nothing is chosen on what is tested: dimension 10, bigrams and lambda .8 are the paper's. One thread, a few minutes.
`--lm models-cache/smollm2` adds FM by a causal language model, which takes far longer; `--speed` measures fitting and
scoring instead.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from am_fm_figures import write_dimensions, write_lambdas, write_sentences
from am_fm_published import BY_SYSTEM, FM_ORDERS, OUTLIER, TABLE_1, TABLE_3, Dialogue3
from am_fm_scores import (
    DIMENSIONS,
    Dstc6,
    by_causal_model,
    by_dimension,
    by_setting,
    corpus,
    cross_fitted,
    out_of_domain,
    sentences,
)
from rejoinder.arrays import Bools
from rejoinder.evaluators.am_fm.am_fm import AmFm
from rejoinder.metrics.embedding import EmbeddingAverage
from rejoinder.metrics.pragmatic import Pm
from rejoinder.stats.agreement.ceiling import split_half
from rejoinder.stats.correlation import correlate
from rejoinder.stats.fixed_systems import FixedSystems
from rejoinder.stats.intervals import Interval
from rejoinder.types import Example, Scores

LAMBDA = 0.8
LAMBDAS = [round(0.1 * step, 1) for step in range(11)]
MARKS = {"<no_reply>", "<URL>"}
"""What 578 replies consist of, 310 of them S_20's."""
CORPORA = {"DailyDialog": "dailydialog.train", "Self-dialogue": "self_dialogue.train"}
Columns = Mapping[str, Scores]


def main() -> None:
    """Write the page, or print the speed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with judged/ and dialogues/")
    parser.add_argument("-o", "--output", type=Path, help="the page; figures go beside it")
    parser.add_argument("--speed", action="store_true", help="measure fitting and scoring instead")
    parser.add_argument("--lm", help="a causal language model for FM, which scores 200 of the items")
    arguments = parser.parse_args()
    data = Dstc6.read(arguments.data / "judged" / "dstc6_t2.jsonl.gz")
    if arguments.speed:
        print_speed(data)
        return
    output: Path = arguments.output
    page = Page(data, arguments.data / "dialogues", output.parent, arguments.lm)
    output.write_text("\n".join(page.parts()) + "\n", encoding="utf-8")


class Page:
    """The whole study."""

    def __init__(self, data: Dstc6, dialogues: Path, figures: Path, lm: str | None = None) -> None:
        self.data, self.figures, self.lm = data, figures, lm
        self.columns, self.sizes = cross_fitted(data)
        self.am, self.fm = self.columns["AM"], self.columns["FM 2-gram"]
        self.total = mixed(self.am, self.fm)
        self.others = {
            name: out_of_domain(data, corpus(dialogues / f"{file}.jsonl.gz")) for name, file in CORPORA.items()
        }

    def parts(self) -> list[str]:
        """Section after section."""
        sections = (
            self.table_1,
            self.figure_1,
            self.table_2,
            self.figure_2,
            self.settings,
            self.figure_3,
            self.table_3,
        )
        made = "--lm models-cache/smollm2 " if self.lm else ""
        command = f"python benchmarks/am_fm.py ../shared/data {made}-o docs/results/am-fm-dstc6.md"
        return [INTRODUCTION, *(part for section in sections for part in section()), f"\nMade by `{command}`."]

    def table_1(self) -> list[str]:
        """AM-FM by system, and what it reaches with and without S_20."""
        measured = self.level({"AM-FM": self.total, "AM": self.am, "FM": self.fm})
        more = {f"AM-FM, from {name}": mixed(parts["AM"], parts["FM"]) for name, parts in self.others.items()}
        said = np.array([example.response.strip() not in MARKS for example in self.data.examples])
        more["AM-FM, without replies that are a mark alone"] = np.where(said, self.total, np.nan)
        more["AM-FM, lambda fitted on other items"] = self.fitted(np.ones(len(self.total), np.bool_))
        more["AM-FM, lambda fitted on other items without S_20"] = self.fitted(self.data.judged.systems != OUTLIER)
        published = {"AM-FM": TABLE_1, "FM": FM_ORDERS[2][1]}
        names, means = self.means({"AM-FM": self.total, "AM": self.am, "FM": self.fm})
        human = self.means({"human": self.data.human})[1]["human"]
        rows = [
            [name, f"{human[k]:.3f}", f"{BY_SYSTEM[name]:.4f}", *(f"{column[k]:.4f}" for column in means.values())]
            for k, name in enumerate(names)
        ]
        return [
            SECTION_1,
            markdown(HEADER, self.rows({**measured, **self.level(more)}, published)),
            "\nBy system:\n",
            markdown(["system", "people", "AM-FM, theirs", "AM-FM, ours", "AM, ours", "FM, ours"], rows),
        ]

    def figure_1(self) -> list[str]:
        """AM by dimension, and AM-FM with it."""
        columns = by_dimension(self.data)
        measured = self.level({str(d): columns[d] for d in DIMENSIONS})
        every, kept = ([each[key] for each in measured.values()] for key in ("pearson", "kept"))
        write_dimensions(self.figures / "am-fm-dimensions.svg", DIMENSIONS, every, kept)
        together = self.level({str(d): mixed(columns[d], self.fm) for d in DIMENSIONS})
        tables = [
            markdown(["dimensions", *HEADER[2:]], [[name, *rest] for name, _, *rest in self.rows(found, {})])
            for found in (measured, together)
        ]
        return [SECTION_F1, tables[0], "\nAM-FM with AM of so many dimensions, lambda .8:\n", tables[1]]

    def table_2(self) -> list[str]:
        """FM by order."""
        measured = self.level({f"FM {n}-gram": self.columns[f"FM {n}-gram"] for n in FM_ORDERS})
        rows = self.rows(measured, {f"FM {n}-gram": value for n, (_, value) in FM_ORDERS.items()})
        sizes = [[f"{FM_ORDERS[n][0]:,}", f"{self.sizes[n]:,.0f}"] for n in FM_ORDERS]
        rows = [[row[0], *size, *row[1:]] for row, size in zip(rows, sizes, strict=True)]
        return [SECTION_2, markdown([HEADER[0], "n-grams, theirs", "ours", *HEADER[1:]], rows)]

    def figure_2(self) -> list[str]:
        """AM-FM by lambda."""
        lines: dict[str, list[Interval]] = {}
        rows = []
        sources = {"DSTC6, cross-fitted": {"AM": self.am, "FM": self.fm}, **self.others}
        for name, parts in sources.items():
            measured = self.level({str(x): mixed(parts["AM"], parts["FM"], x) for x in LAMBDAS})
            lines[name] = [m["pearson"] for m in measured.values()]
            lines[f"{name}, without S_20"] = [m["kept"] for m in measured.values()]
            shown = {"r": "pearson", "r without S_20": "kept", "rho": "spearman", "rho without S_20": "kept spearman"}
            for label, key in shown.items():
                rows.append([f"{name}, {label}", *(f"{m[key].estimate:.3f}" for m in measured.values())])
        write_lambdas(self.figures / "am-fm-lambda.svg", LAMBDAS, lines)
        return [SECTION_F2, markdown(["text", *map(str, LAMBDAS)], rows)]

    def settings(self) -> list[str]:
        """Other settings than the paper's."""
        columns = by_setting(self.data)
        if self.lm:
            columns |= by_causal_model(self.data, self.lm, self.fm)
        unscored = [f"{int(np.isnan(column).sum()):,}" for column in columns.values()]
        rows = [
            [name, count, *rest]
            for (name, _, *rest), count in zip(self.rows(self.level(columns), {}), unscored, strict=True)
        ]
        return [SECTION_SETTINGS + LM_NOTE * bool(self.lm), markdown([HEADER[0], "not scored", *HEADER[2:]], rows)]

    def figure_3(self) -> list[str]:
        """Single replies of the best, the median and the worst system."""
        names, means = self.means({"human": self.data.human})
        ranked = [names[k] for k in np.argsort(-means["human"])]
        chosen = {"best": ranked[0], "median": ranked[len(ranked) // 2], "worst": ranked[-1]}
        average = np.nan_to_num(EmbeddingAverage(tokenise="whitespace").score(self.data.examples))
        rows, points = [], {}
        for role, name in {**chosen, "all systems": ""}.items():
            mine = np.flatnonzero((self.data.judged.systems == name) | (not name))
            human, ratings = self.data.human[mine], self.data.judged.ratings["overall"][mine]
            halves = split_half(ratings, within_items=True)
            found = [correlate(column[mine], human).coefficient for column in (self.total, average)]
            rows.append([role, name, f"{human.mean():.2f}", *(f"{r:.3f}" for r in (*found, halves.mean))])
            if name:
                both = ((self.total[mine], human), (average[mine], human))
                points[f"{name} ({role})"] = (*both, random_halves(ratings))
        write_sentences(self.figures / "am-fm-sentences.svg", points)
        header = ["", "system", "people", "AM-FM", "embedding average", "human halves"]
        return [SECTION_F3, markdown(header, rows)]

    def table_3(self) -> list[str]:
        """The five example dialogues."""
        rows = [self.example_row(number, dialogue) for number, dialogue in enumerate(TABLE_3, start=1)]
        header = [
            "",
            "hypothesis",
            "people",
            "theirs: AM, FM, total",
            "ours, 11 references",
            "ours, its ground truth alone",
            "PM",
        ]
        return [SECTION_3, markdown(header, rows)]

    def example_row(self, number: int, dialogue: Dialogue3) -> list[str]:
        """One dialogue: scored by what the other folds' references taught."""
        place = next(
            k for k, e in enumerate(self.data.examples) if int(e.context_id) == dialogue.item and e.system == "S_17"
        )
        example = self.data.examples[place]
        truth = example.references[-1]  # what was said; the other ten were written for the challenge
        alone = Example(example.id, (), example.response, (truth,))
        fold_of = self.data.fold_of(self.data.folds)
        texts = self.data.unseen(fold_of[dialogue.item], fold_of)
        model = AmFm(tokenise="whitespace").fit(sentences(texts, 18_692, 0))
        by_truth = (model.am.score([alone])[0], model.fm.score([alone])[0], model.score([alone])[0])
        with_all = (self.am[place], self.fm[place], self.total[place])
        checks = (Pm().score([alone])[0], Pm(refs="mean").score([example])[0])
        theirs = (dialogue.am, dialogue.fm, dialogue.total)
        return [
            str(number),
            example.response.strip().replace("|", "\\|"),
            f"{self.data.human[place]:.1f}",
            *(", ".join(f"{value:.3f}" for value in values) for values in (theirs, with_all, by_truth)),
            f"{checks[0]:.2f} by its ground truth, {checks[1]:.2f} on average",
        ]

    def fitted(self, usable: Bools) -> Scores:
        """AM-FM of each fold, with the lambda that suits the systems best on the usable replies of all other folds."""
        found = np.full(len(self.total), np.nan)
        fold_of = self.data.fold_of(self.data.folds)
        fold = np.array([fold_of[item] for item in self.data.item_of.tolist()])
        for number in range(self.data.folds):
            human, am, fm = self.system_means([self.data.human, self.am, self.fm], (fold != number) & usable)
            tried = [correlate(mixed(am, fm, x), human).coefficient for x in np.linspace(0, 1, 101)]
            mine = fold == number
            found[mine] = mixed(self.am[mine], self.fm[mine], int(np.argmax(tried)) / 100)
        return found

    def system_means(self, columns: Sequence[Scores], rows: Bools) -> list[Scores]:
        """The mean of each column by system, over some rows."""
        codes = np.unique(self.data.judged.systems[rows], return_inverse=True)[1]
        return [np.bincount(codes, column[rows]) / np.bincount(codes) for column in columns]

    def means(self, columns: Columns) -> tuple[list[str], dict[str, Scores]]:
        """Systems in their order, and the mean of each column by system."""
        names = list(BY_SYSTEM)
        systems = self.data.judged.systems
        return names, {
            key: np.array([np.nanmean(column[systems == name]) for name in names]) for key, column in columns.items()
        }

    def level(self, columns: Columns) -> dict[str, dict[str, Interval]]:
        """Each column at the level of systems: with all, without S_20, and leaving each system out in turn."""
        return {name: self.measured(column) for name, column in columns.items()}

    def measured(self, column: Scores) -> dict[str, Interval]:
        """One metric's correlations over systems, by the replies that it could score."""
        known, systems = ~np.isnan(column), self.data.judged.systems
        found: dict[str, Interval] = {}
        for which, rows in (("", known), ("kept", known & (systems != OUTLIER))):
            fixed = FixedSystems.of(column[rows, None], self.data.human[rows], systems[rows], self.data.item_of[rows])
            found[which or "pearson"] = fixed.intervals("pearson", 500, 0)[0]
            found[f"{which} spearman".strip()] = fixed.intervals("spearman", 500, 0)[0]
            if not which:
                found["left out"] = left_out(fixed.means[:, 1], fixed.means[:, 0])
        return found

    def rows(self, measured: Mapping[str, Mapping[str, Interval]], published: Mapping[str, float]) -> list[list[str]]:
        """Table rows: theirs, then ours."""
        return [
            [
                name,
                f"{published[name]:.3f}" if name in published else "",
                *(shown(each[key]) for key in ("pearson", "spearman", "kept", "kept spearman")),
                f"{each['left out'].low:.3f} .. {each['left out'].high:.3f}",
            ]
            for name, each in measured.items()
        ]


HEADER = ["", "theirs, r", "ours, r", "ours, rho", "r without S_20", "rho without S_20", "r, one system left out"]


def mixed(am: Scores, fm: Scores, weight: float = LAMBDA) -> Scores:
    """The weighted mean of AM and FM."""
    return weight * am + (1 - weight) * fm


def left_out(scores: Scores, human: Scores) -> Interval:
    """Pearson with all systems, and the lowest and highest without one of them."""
    each = [correlate(np.delete(scores, k), np.delete(human, k)).coefficient for k in range(len(human))]
    return Interval(correlate(scores, human).coefficient, min(each), max(each))


def random_halves(ratings: Scores, seed: int = 0) -> tuple[Scores, Scores]:
    """The means of five raters of each reply, drawn at random, and of the other five."""
    order = np.random.default_rng(seed).permuted(np.tile(np.arange(ratings.shape[1]), (len(ratings), 1)), axis=1)
    mixed = np.take_along_axis(ratings, order, axis=1)
    half = ratings.shape[1] // 2
    return np.nanmean(mixed[:, :half], axis=1), np.nanmean(mixed[:, half:], axis=1)


def print_speed(data: Dstc6) -> None:
    """Fitting on 20,000 sentences, and replies scored a second, each with 11 references of its own."""
    texts = [text for references in data.references.values() for text in references][:20_000]
    started, used = time.perf_counter(), time.process_time()
    model = AmFm(tokenise="whitespace").fit(sentences(texts, 20_000, 0))
    clock, cpu = time.perf_counter() - started, time.process_time() - used
    print(f"fit on {len(texts):,} sentences: {clock:.1f} s, {cpu:.1f} s of CPU")
    started, used = time.perf_counter(), time.process_time()
    model.score(data.examples)
    clock, cpu = time.perf_counter() - started, time.process_time() - used
    count = len(data.examples)
    print(f"{count:,} replies with 11 references: {count / clock:,.0f} a second, {count / cpu:,.0f} a CPU second")


def shown(interval: Interval) -> str:
    """Estimate and bounds."""
    return f"{interval.estimate:.3f} [{interval.low:.2f}, {interval.high:.2f}]"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ["---"] * len(header), *rows])


INTRODUCTION = """\
# AM-FM on DSTC6

20 systems answered 2,000 customer-service tweets; each has 11 references, and each reply 10 raters (Hori & Hori 2017).
am-fm (D'Haro et al. 2019) reports how AM, FM and their mean agree with people over the systems' means. Its training
text, 18,692 tweets of agents, cannot be had. In its place:

- **cross-fitted**: items are cut into five folds, and each fold is scored by models of the other folds' references
  (about 17,000; AM by 10,000 of them), without those that stand word for word in the fold itself. No reply is scored by
  a model that saw its item's references. This is in-domain text,
  as the paper's was, and nearer to the tested references than tweets are: it was written for the same task.
- **DailyDialog, Self-dialogue**: 18,692 turns of a corpus of another domain (10,000 for AM).

Dimension 10, bigrams and lambda .8 are the paper's, which it chose on the test data itself; here they were fixed before
anything was measured. r is Pearson's, rho Spearman's correlation over systems. Brackets are 95 % intervals over items,
the systems being given; what other systems would have shown they cannot tell. One system lies far from all others:
people give S_20 2.99, the others 3.31 or more. So each figure stands also without S_20, and with each system left out
in turn (lowest and highest). What follows from it all: [am-fm.md](am-fm.md#what-survives)."""
SECTION_1 = "\n## Table 1: AM-FM, system by system\n"
SECTION_F1 = """
## Figure 1: AM by dimension

As in the paper, the first dimensions of one space of 2,500. Items are in two halves here, each scored by a space of
10,000 references of the other half.

![AM by dimension](am-fm-dimensions.svg)
"""
SECTION_2 = "\n## Table 2: FM by the order of its n-grams\n"
SECTION_F2 = """
## Figure 2: AM-FM by lambda

An asterisk in the figure: without S_20. The paper gives its curves of Figures 1 and 2 as pictures only, so that no
figures of theirs can stand beside ours; it prints .891 for lambda .8.

![AM-FM by lambda](am-fm-lambda.svg)
"""
SECTION_SETTINGS = """
## Other settings than the paper's, cross-fitted

Each by the replies that it can score. Who passes over unknown words cannot score a reply of nothing else; nearly all
such replies are S_20's, whose mean is the higher for it.
"""
LM_NOTE = "SmolLM2 (135M) was pretrained elsewhere; it scored 200 items.\n"
SECTION_F3 = """
## Figure 3: single replies

Pearson over the 2,000 replies of one system, and over all 40,000. The human halves are five raters of each reply
against the other five, the mean of 100 random divisions; the figure shows one division, and 300 of the replies. The
embedding average is 0 where no word of a reply has a vector.

![single replies](am-fm-sentences.svg)
"""
SECTION_3 = """
## Table 3: the five examples

All are replies of S_17 to items of the test set. Theirs and ours keep the best of the 11 references. PM (1: nothing
speaks against the reply) is no part of the total.
"""

if __name__ == "__main__":
    main()
