"""RUBER on the judged replies of roberta-eval, the papers' figures beside ours, as Markdown with a figure beside it.

    python benchmarks/ruber.py ../shared/data --minilm models-cache/minilm -o docs/results/ruber-figures.md

Models are trained once and kept in `--models`. `--budget small` trains less, for a machine that is busy; `--speed`
measures training and scoring instead. Settings were fixed before the judged replies were looked at.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from am_fm_figures import STYLE
from rejoinder.evaluators.ruber.unref import NONE
from rejoinder.meta.panels import Curve
from rejoinder.report.figures import line_plot
from rejoinder.stats.bootstrap_correlation import bootstrap_correlations
from rejoinder.stats.compare_correlations import CorrelationComparison, compare_correlations
from rejoinder.stats.correlation import correlate
from rejoinder.stats.intervals import Interval
from rejoinder.types import Scores
from ruber_models import (
    BUDGETS,
    CORPORA,
    ENCODERS,
    SETS,
    TUNED,
    Columns,
    Models,
    Replies,
    by_split,
    grouped,
    pooled,
    untuned,
)
from ruber_published import DAILYDIALOG, PERSONACHAT, RETRIEVAL, SEQ2SEQ, TRANSFER, WITHOUT_TRUE, Two
from ruber_speed import print_speed
from ruber_text import (
    INTRODUCTION,
    SECTION_DIFFERENCE,
    SECTION_FIGURE,
    SECTION_FINDINGS,
    SECTION_RUBER,
    SECTION_TRANSFER,
    SECTION_WITHOUT,
    section_set,
)

SCORES = ("s_R", "s_U", "min", "geometric", "arithmetic", "max", *TUNED)
QUANTILES = 5


def main() -> None:
    """Write the page, or print the speed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with judged/ and dialogues/")
    parser.add_argument("-o", "--output", type=Path, help="the page; the figure goes beside it")
    parser.add_argument("--models", type=Path, default=Path("models-cache/ruber"), help="where trained models are kept")
    parser.add_argument("--minilm", type=Path, default=Path("models-cache/minilm"), help="the pretrained encoder")
    parser.add_argument("--hred", type=Path, help="a trained hred that DailyDialog's hierarchical form starts from")
    parser.add_argument("--budget", choices=list(BUDGETS), default="full")
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=list(ENCODERS), help="GRU first")
    parser.add_argument("--speed", action="store_true", help="measure training and scoring instead")
    arguments = parser.parse_args()
    if arguments.speed:
        print_speed(arguments.data)
        return
    folder, budget = arguments.models / arguments.budget, BUDGETS[arguments.budget]
    models = Models(arguments.data, folder, arguments.minilm, budget, arguments.hred)
    output: Path = arguments.output
    page = Page(models, output.parent, arguments.budget, tuple(arguments.encoders))
    output.write_text("\n".join(page.parts()) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Page:
    """The whole study."""

    models: Models
    figures: Path
    budget: str
    encoders: tuple[str, ...] = ENCODERS

    @cached_property
    def replies(self) -> dict[str, Replies]:
        """Corpus -> its judged replies."""
        return {corpus: Replies.read(self.models.data, name) for corpus, name in SETS.items()}

    @cached_property
    def measured(self) -> dict[tuple[str, str], tuple[Columns, Columns]]:
        """Corpus and encoder -> scores of all replies, and those tuned on the published split, of a model of it."""
        found = {}
        for corpus, replies in self.replies.items():
            for encoder in self.encoders:
                model = self.models.model(corpus, encoder)
                columns = untuned(model, replies)
                found[corpus, encoder] = (columns | grouped(model, replies), columns | by_split(model, replies))
        return found

    @cached_property
    def transferred(self) -> dict[str, Columns]:
        """Encoder -> what its DailyDialog model gives the replies of PersonaChat."""
        replies = self.replies["PersonaChat"]
        return {encoder: untuned(self.models.model("DailyDialog", encoder), replies) for encoder in self.encoders}

    def column(self, corpus: str, encoder: str, score: str) -> Scores:
        """One column over all replies."""
        return self.measured[corpus, encoder][0][score]

    def parts(self) -> list[str]:
        """Section after section."""
        sections = (
            self.sets,
            self.ruber,
            self.difference,
            self.transfer,
            self.without_true,
            self.figure,
            self.findings,
        )
        small = "" if self.budget == "full" else f"--budget {self.budget} "
        small += "" if self.models.hred is None else "--hred FOLDER "
        small += "" if self.encoders == ENCODERS else f"--encoders {' '.join(self.encoders)} "
        command = f"python benchmarks/ruber.py ../shared/data {small}-o docs/results/ruber-figures.md"
        return [
            INTRODUCTION.format(trainings=self.trainings()),
            *(part for section in sections for part in section()),
            f"\nMade by `{command}`.",
        ]

    def trainings(self) -> str:
        """What each model was trained on."""
        rows = []
        for corpus in CORPORA:
            for encoder in self.encoders:
                model = self.models.model(corpus, encoder)
                seen = sum(int(model.trained_contexts.holds(each.examples).sum()) for each in self.replies.values())
                start = "" if model.start == NONE else "a trained `hred`"
                sizes = (f"{model.fitted.dialogues:,}", start, str(model.epochs), str(model.turns_read), str(seen))
                rows.append([corpus, encoder, *sizes])
        header = [
            "corpus",
            "encoder",
            "dialogues",
            "started from",
            "epochs at most",
            "turns read",
            "judged replies seen",
        ]
        return markdown(header, rows)

    def sets(self) -> list[str]:
        """Each judged set: all replies, and the published test split."""
        parts = []
        for corpus, theirs in (("DailyDialog", DAILYDIALOG), ("PersonaChat", PERSONACHAT)):
            replies, rows = self.replies[corpus], []
            pool = pooled(replies)
            rows.append(self.row(replies, "", "pool", pool, pool, None))
            for encoder in self.encoders:
                everything, split = self.measured[corpus, encoder]
                for score in SCORES:
                    if score != "s_R" or encoder == self.encoders[0]:
                        published = theirs.get(score) if encoder != "MiniLM" else None
                        rows.append(self.row(replies, encoder, score, everything[score], split[score], published))
            parts += [section_set(corpus), markdown(HEADER, rows)]
        return parts

    def row(
        self, replies: Replies, encoder: str, score: str, everything: Scores, split: Scores, theirs: Two | None
    ) -> list[str]:
        """Correlations with people over all replies, and over the published test replies."""
        contexts, test = replies.judged.contexts, replies.test
        both = bootstrap_correlations(everything, replies.human, contexts)
        tested = bootstrap_correlations(split[test], replies.cleaned[test], contexts[test])
        return [
            encoder,
            score,
            *(shown(each[kind][0]) for each in (both, tested) for kind in ("pearson", "spearman")),
            "" if theirs is None else f"{theirs[0]:.2f} / {theirs[1]:.2f}",
        ]

    def ruber(self) -> list[str]:
        """ruber's own figures beside ours."""
        rows = []
        for score in RETRIEVAL:
            cells = [f"{r:.3f} / {rho:.3f}" for r, rho in (RETRIEVAL[score], SEQ2SEQ[score])]
            for corpus, replies in self.replies.items():
                column = pooled(replies) if score == "pool" else self.column(corpus, "GRU", score)
                cells.append(" / ".join(f"{value:.3f}" for value in correlations(column, replies.human)))
            rows.append([score, *cells])
        header = ["", "ruber, retrieval", "ruber, Seq2Seq", "ours, GRU, DailyDialog", "ours, GRU, PersonaChat"]
        return [SECTION_RUBER, markdown(header, rows)]

    def difference(self) -> list[str]:
        """By how much other encoders are above the GRU."""
        if len(self.encoders) == 1:
            return []
        rows = []
        for corpus in SETS:
            for encoder in self.encoders[1:]:
                for score in ("s_U", "arithmetic", *TUNED):
                    found = self.compared(corpus, ("GRU", score), (encoder, score))
                    rows.append([corpus, encoder, score, shown(found.difference), f"{found.p_value:.3f}"])
        return [SECTION_DIFFERENCE, markdown(["set", "encoder", "score", "r above the GRU's", "p"], rows)]

    def compared(self, corpus: str, first: tuple[str, str], second: tuple[str, str]) -> CorrelationComparison:
        """The second of two columns against the first, over all replies of a set."""
        replies = self.replies[corpus]
        lower, higher = (self.column(corpus, *which) for which in (first, second))
        return compare_correlations(lower, higher, replies.human, replies.judged.contexts)

    def transfer(self) -> list[str]:
        """PersonaChat by models of DailyDialog."""
        replies, rows = self.replies["PersonaChat"], []
        for encoder in self.encoders:
            for score in ("s_R", "s_U", "arithmetic"):
                own, theirs = self.column("PersonaChat", encoder, score), self.transferred[encoder][score]
                found = compare_correlations(own, theirs, replies.human, replies.judged.contexts)
                test = replies.test
                on_test = correlations(theirs[test], replies.cleaned[test])
                published = TRANSFER.get(score)
                rows.append(
                    [
                        encoder,
                        score,
                        f"{found.correlation_a:.3f}",
                        f"{found.correlation_b:.3f}",
                        shown(found.difference),
                        " / ".join(f"{value:.2f}" for value in on_test),
                        f"{published[0]:.2f} / {published[1]:.2f}" if published and encoder != "MiniLM" else "",
                    ]
                )
        header = ["encoder", "score", "PC, r", "DD -> PC, r", "difference", "test split", "theirs"]
        return [SECTION_TRANSFER, markdown(header, rows)]

    def without_true(self) -> list[str]:
        """DailyDialog with and without replies that were really given."""
        replies = self.replies["DailyDialog"]
        rows = []
        for score in ("s_R", "s_U", "arithmetic"):
            column = self.column("DailyDialog", "GRU", score)
            cells = []
            for rows_used in (np.ones(len(column), np.bool_), ~replies.true):
                found = bootstrap_correlations(
                    column[rows_used], replies.human[rows_used], replies.judged.contexts[rows_used]
                )
                cells += [shown(found["pearson"][0]), f"{np.nanstd(column[rows_used]):.2f}"]
            theirs = (DAILYDIALOG[score][0], WITHOUT_TRUE[score][0])
            rows.append([score, *cells, *(f"{value:.2f}" for value in theirs)])
        count = int(replies.true.sum())
        header = ["", "r, all", "SD", f"r, without {count} true replies", "SD", "theirs, all", "theirs, without"]
        return [SECTION_WITHOUT, markdown(header, rows)]

    def figure(self) -> list[str]:
        """ruber's Figure 1."""
        lines, rows = [], []
        for corpus, replies in self.replies.items():
            for encoder in self.encoders:
                means = by_quantile(self.column(corpus, encoder, "s_U"), replies.human)
                short = {"DailyDialog": "DD", "PersonaChat": "PC"}[corpus]
                lines.append(Curve(f"{short} {encoder}", range(1, QUANTILES + 1), means))
                rows.append([corpus, encoder, *(f"{mean:.3f}" for mean in means)])
        svg = str(
            line_plot(lines, label="mean s_U by human score", x_label="fifth of human scores", y_label="mean s_U")
        )
        opened = re.sub(r"^<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', svg)
        path = self.figures / "ruber-quantiles.svg"
        path.write_text(opened.replace(">", f"><style>{STYLE}</style>", 1) + "\n", encoding="utf-8")
        return [SECTION_FIGURE, markdown(["set", "encoder", *map(str, range(1, QUANTILES + 1))], rows)]

    def findings(self) -> list[str]:
        """The papers' findings and our targets, each with what the data say."""
        rows = [*self.claims(), *self.targets()]
        return [SECTION_FINDINGS, markdown(["claim", "holds", "figures"], rows)]

    def claims(self) -> list[list[str]]:
        """What the papers found; a difference counts where its interval is clear of 0."""
        worse, above, labels = {}, {}, {}
        rising = []
        for corpus in SETS:
            for encoder in self.encoders:
                name = f"{corpus} {encoder}"
                r = {score: self.r(corpus, encoder, score) for score in SCORES}
                lowest = min(("min", "geometric", "arithmetic"), key=r.__getitem__)
                part = max(("s_R", "s_U"), key=r.__getitem__)
                worse[name] = self.compared(corpus, (encoder, "max"), (encoder, lowest)).difference
                above[name] = self.compared(corpus, (encoder, part), (encoder, "arithmetic")).difference
                labels[name] = self.compared(corpus, (encoder, "arithmetic"), (encoder, TUNED[1])).difference
                means = by_quantile(self.column(corpus, encoder, "s_U"), self.replies[corpus].human)
                rising += [name] if (np.diff(means) > 0).all() else []
        return [
            ["max is the worst blend: the next worst is above it", *verdict(worse)],
            ["the arithmetic blend is above the better part", *verdict(above)],
            ["labels help the arithmetic blend", *verdict(labels)],
            ["transfer DailyDialog -> PersonaChat costs the arithmetic blend", *verdict(self.transfer_costs())],
            ["s_R collapses without true replies", *self.collapse()],
            [
                "mean s_U rises with each fifth of human scores",
                "yes" if len(rising) == len(worse) else "in part" if rising else "no",
                f"{len(rising)} of {len(worse)}: {', '.join(rising)}",
            ],
        ]

    def collapse(self) -> tuple[str, str]:
        """Whether s_R loses more than half of its r on DailyDialog without true replies."""
        replies = self.replies["DailyDialog"]
        near, other = self.column("DailyDialog", self.encoders[0], "s_R"), ~replies.true
        before = self.r("DailyDialog", self.encoders[0], "s_R")
        after = bootstrap_correlations(near[other], replies.human[other], replies.judged.contexts[other])["pearson"][0]
        return "yes" if after.high < before / 2 else "no", f"DailyDialog: {before:.3f}; without them {shown(after)}"

    def transfer_costs(self) -> dict[str, Interval]:
        """By how much a model of PersonaChat is above one of DailyDialog on PersonaChat."""
        replies = self.replies["PersonaChat"]
        return {
            encoder: compare_correlations(
                self.transferred[encoder]["arithmetic"],
                self.column("PersonaChat", encoder, "arithmetic"),
                replies.human,
                replies.judged.contexts,
            ).difference
            for encoder in self.encoders
        }

    def targets(self) -> list[list[str]]:
        """What was asked for before anything was measured."""
        blends = {
            ("DailyDialog", "arithmetic"): ("unsupervised blend on DailyDialog", 0.30),
            ("PersonaChat", "arithmetic"): ("unsupervised blend on PersonaChat", 0.40),
            ("DailyDialog", TUNED[1]): ("tuned blend on DailyDialog, grouped folds", 0.40),
        }
        rows = []
        for (corpus, score), (name, target) in blends.items():
            found = {encoder: self.r(corpus, encoder, score) for encoder in self.encoders}
            reached = [encoder for encoder, value in found.items() if value >= target]
            figures = ", ".join(f"{encoder} {value:.3f}" for encoder, value in found.items())
            rows.append([f"{name}: r of {target:.2f}", "by " + ", ".join(reached) if reached else "missed", figures])
        for corpus in SETS if "MiniLM" in self.encoders else ():
            found_difference = self.compared(corpus, ("GRU", "s_U"), ("MiniLM", "s_U")).difference
            clear = "yes" if found_difference.low > 0 else "no"
            rows.append([f"MiniLM's s_U clearly above the GRU's, {corpus}", clear, shown(found_difference)])
        return rows

    def r(self, corpus: str, encoder: str, score: str) -> float:
        """Pearson over all replies of a set."""
        return correlate(self.column(corpus, encoder, score), self.replies[corpus].human).coefficient


HEADER = ["encoder", "score", "all: r", "all: rho", "test split: r", "test split: rho", "theirs: r / rho"]


def verdict(differences: Mapping[str, Interval]) -> tuple[str, str]:
    """Whether differences are above 0 beyond doubt: everywhere, somewhere, nowhere; and the differences."""
    clear = [interval.low > 0 for interval in differences.values()]
    said = "yes" if all(clear) else "in part" if any(clear) else "not shown"
    return said, "; ".join(f"{name} {shown(interval)}" for name, interval in differences.items())


def correlations(column: Scores, human: Scores) -> tuple[float, float]:
    """Pearson and Spearman over what was scored."""
    known = ~np.isnan(column)
    return (
        correlate(column[known], human[known]).coefficient,
        correlate(column[known], human[known], "spearman").coefficient,
    )


def by_quantile(column: Scores, human: Scores) -> list[float]:
    """The mean of a column in each fifth of the human scores, lowest first."""
    order = np.argsort(human, kind="stable")
    return [float(np.nanmean(column[part])) for part in np.array_split(order, QUANTILES)]


def shown(interval: Interval) -> str:
    """Estimate and bounds."""
    return f"{interval.estimate:.3f} [{interval.low:.2f}, {interval.high:.2f}]"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ["---"] * len(header), *rows])


if __name__ == "__main__":
    main()
