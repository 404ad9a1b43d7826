"""The page `am-fm-dstc6`: the tables and figures of D'Haro et al. 2019 on DSTC6, next to ours.

Nothing is chosen on what is tested: 10 dimensions, bigrams and lambda .8 are the paper's settings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from papers.am_fm.columns import (
    CORPORA,
    NGRAMS,
    TOKENISED,
    Columns,
    by_causal_model,
    by_setting,
    cross_fitted,
    fm_name,
    out_of_domain,
)
from papers.am_fm.dimensions import DIMENSIONS, by_dimension
from papers.am_fm.figures import dimension_plot, lambda_plot, reply_plots
from papers.am_fm.folds import Dstc6, sentences
from papers.am_fm.measures import (
    HEADER,
    Measured,
    fitted_lambda,
    measured,
    mixed,
    random_halves,
    reply_agreement,
    system_means,
    table_rows,
)
from papers.cache import Arrays
from papers.documents import Document
from papers.inputs import DSTC6, Inputs
from papers.published.am_fm import (
    NEXT_RATING,
    ORDER,
    OUTLIER,
    OUTLIER_RATING,
    TABLE_1,
    TABLE_1_SYSTEMS,
    TABLE_2,
    TABLE_3,
    ExampleReply,
)
from rejoinder.evaluators.am_fm import AmFm
from rejoinder.metrics.embedding import EmbeddingAverage
from rejoinder.metrics.pragmatic import Pm
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.probing import cell_text
from rejoinder.types import Example, Scores

LAMBDAS = [round(0.1 * step, 1) for step in range(11)]
PLACEHOLDERS = {"<no_reply>", "<URL>"}
"""The whole text of 578 replies, 310 of them S_20's."""
BEST_SYSTEM = "S_17"
"""The system that the replies of Table 3 are from."""

INTRODUCTION = f"""\
# AM-FM on DSTC6

20 systems answered 2,000 customer-service tweets. Each tweet has 11 references, and each reply has 10 raters (Hori &
Hori 2017). D'Haro et al. 2019 report how well the systems' mean AM, FM and AM-FM agree with people. Their training
text, 18,692 tweets of agents, is not public. We used this instead:

- **cross-fitted**: items are divided into five folds, and each fold is scored by models that were trained on the
  references of the other folds (about 17,000, of which AM uses 10,000), except those that occur word for word in the
  fold itself. No reply is scored by a model that saw the references of its item. This text is from the same domain, as
  the paper's was. It is closer to the tested references than tweets would be, because it was written for the same task.
- **DailyDialog, Self-dialogue**: 18,692 turns of a corpus from another domain (10,000 for AM).

10 dimensions, bigrams and lambda .8 are the paper's settings, which it chose on the test data itself; here they were
fixed before anything was measured. r is Pearson's and rho Spearman's correlation over systems. Brackets are 95 %
intervals over items for these 20 systems; they say nothing about other systems. One system lies far from all others:
people give S_20 {OUTLIER_RATING:.2f} on average, and the others {NEXT_RATING:.2f} or more.
Therefore each figure is also shown without S_20, and with each system left out in turn (the lowest and the highest
result). The conclusions are in
[am-fm.md](../reference/am-fm.md#the-papers-findings-reproduced-or-not)."""

TABLE_1_TEXT = "## Table 1: AM-FM, system by system"

FIGURE_1_TEXT = """\
## Figure 1: AM by dimension

As in the paper, the dimensions are the first ones of a single space with 2,500 dimensions. Here, items are divided into
two halves, and each half is scored with a space learned from 10,000 references of the other half.

![AM by dimension](am-fm-dimensions.svg)"""

TABLE_2_TEXT = "## Table 2: FM by the order of its n-grams"

FIGURE_2_TEXT = f"""\
## Figure 2: AM-FM by lambda

An asterisk in the figure means: without S_20. The paper gives no numbers for its curves in Figures 1 and 2, so that
there are none to compare with ours, apart from {TABLE_1.column("Pearson")["AM-FM"]:.3f} for lambda .8.

![AM-FM by lambda](am-fm-lambda.svg)"""

SETTINGS_TEXT = """\
## Other settings than the paper's, cross-fitted

Each row uses the replies that it can score. A model that skips unknown words cannot score a reply without any known
word. Nearly all such replies are by S_20, and its mean is higher without them."""

CAUSAL_TEXT = "SmolLM2 (135M) was pretrained elsewhere; it scored 200 items."

FIGURE_3_TEXT = """\
## Figure 3: single replies

Pearson's correlation over the 2,000 replies of one system, and over all 40,000 replies. "Human halves" is the
correlation between five raters of each reply and the other five, averaged over 100 random divisions; the figure shows
one division and 300 of the replies. The embedding average is 0 where no word of a reply has a vector.

![single replies](am-fm-sentences.svg)"""

TABLE_3_TEXT = """\
## Table 3: the five examples

All five are replies of S_17 to items of the test set. Both their scores and ours are those with the best of the 11
references. Ratings have their standard deviation after ±. PM, which is 1 if nothing speaks against the reply, is not
part of the total."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Results in addition to the paper's own tables."""

    lm: str = ""
    """The folder of a causal language model, which scores the fluency of 200 items; it takes long."""


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """Section after section."""
    document = Document("am-fm-dstc6")
    document.text(INTRODUCTION)
    study = Study(inputs, Dstc6(inputs.judged(DSTC6)), settings)
    for section in sections:
        SECTIONS[section](study, document)
    return document


@dataclass(frozen=True, eq=False)
class Study:
    """The scores that the sections share."""

    inputs: Inputs
    data: Dstc6
    settings: Settings

    @cached_property
    def columns(self) -> Arrays:
        """AM, and FM of each order, cross-fitted."""
        return cross_fitted(self.data, self.inputs.cache)

    @property
    def am(self) -> Scores:
        """AM, cross-fitted."""
        return self.columns["AM"]

    @property
    def fm(self) -> Scores:
        """Bigram FM, cross-fitted."""
        return self.columns[fm_name(ORDER)]

    @cached_property
    def total(self) -> Scores:
        """AM-FM, cross-fitted."""
        return mixed(self.am, self.fm)

    @cached_property
    def others(self) -> dict[str, Arrays]:
        """Corpus -> AM and FM by models of it."""
        return {name: out_of_domain(self.data, self.inputs, file) for name, file in CORPORA.items()}

    def measures(self, columns: Columns) -> dict[str, Measured]:
        """Each column against people."""
        return {name: measured(self.data, column) for name, column in columns.items()}


def table_1(study: Study, document: Document) -> None:
    """AM-FM by system, and its correlation with and without S_20."""
    columns = {"AM-FM": study.total, "AM": study.am, "FM": study.fm}
    columns |= {f"AM-FM, from {name}": mixed(parts["AM"], parts["FM"]) for name, parts in study.others.items()}
    said = np.array([example.response.strip() not in PLACEHOLDERS for example in study.data.examples])
    columns["AM-FM, without replies that are only a placeholder"] = np.where(said, study.total, np.nan)
    everything = np.ones(len(study.total), np.bool_)
    for name, usable in {"": everything, " without S_20": study.data.judged.systems != OUTLIER}.items():
        fitted = fitted_lambda(study.data, study.am, study.fm, usable)
        columns[f"AM-FM, lambda fitted on other items{name}"] = fitted
    published = {"AM-FM": TABLE_1.column("Pearson")["AM-FM"], "FM": TABLE_2.column("Pearson")[ORDER]}
    document.text(TABLE_1_TEXT)
    document.table(HEADER, table_rows(study.measures(columns), published))
    document.text("By system:")
    theirs = TABLE_1_SYSTEMS.column("AM-FM")
    ours = [system_means(study.data, list(theirs), column) for column in (study.total, study.am, study.fm)]
    people = system_means(study.data, list(theirs), study.data.human)
    rows = [
        [name, f"{people[k]:.3f}", f"{value:.4f}", *(f"{column[k]:.4f}" for column in ours)]
        for k, (name, value) in enumerate(theirs.items())
    ]
    document.table(["system", "people", "AM-FM, theirs", "AM-FM, ours", "AM, ours", "FM, ours"], rows)


def figure_1(study: Study, document: Document) -> None:
    """AM by dimension, and AM-FM with it."""
    columns = by_dimension(study.data, study.inputs.cache)
    alone = study.measures({str(d): columns[d] for d in DIMENSIONS})
    every, kept = ([each[key] for each in alone.values()] for key in ("pearson", "kept"))
    document.text(FIGURE_1_TEXT)
    document.figure("am-fm-dimensions", dimension_plot(DIMENSIONS, every, kept))
    together = study.measures({str(d): mixed(columns[d], study.fm) for d in DIMENSIONS})
    for introduction, found in (("", alone), ("AM-FM by the number of dimensions of AM, lambda .8:", together)):
        document.text(introduction)
        document.table(["dimensions", *HEADER[2:]], [[name, *rest] for name, _, *rest in table_rows(found, {})])


def table_2(study: Study, document: Document) -> None:
    """FM by order."""
    found = study.measures({fm_name(order): study.columns[fm_name(order)] for order in TABLE_2.rows})
    rows = table_rows(found, {fm_name(order): value for order, value in TABLE_2.column("Pearson").items()})
    sizes = zip(TABLE_2.column("n-grams").values(), study.columns[NGRAMS], strict=True)
    counts = [[f"{theirs:,}", f"{ours:,.0f}"] for theirs, ours in sizes]
    rows = [[row[0], *count, *row[1:]] for row, count in zip(rows, counts, strict=True)]
    document.text(TABLE_2_TEXT)
    document.table([HEADER[0], "n-grams, theirs", "ours", *HEADER[1:]], rows)


def figure_2(study: Study, document: Document) -> None:
    """AM-FM by lambda."""
    lines: dict[str, list[Interval]] = {}
    rows = []
    labels = {"r": "pearson", "r without S_20": "kept", "rho": "spearman", "rho without S_20": "kept spearman"}
    for name, parts in {"DSTC6, cross-fitted": {"AM": study.am, "FM": study.fm}, **study.others}.items():
        found = study.measures({str(x): mixed(parts["AM"], parts["FM"], x) for x in LAMBDAS}).values()
        lines[name] = [each["pearson"] for each in found]
        lines[f"{name}, without S_20"] = [each["kept"] for each in found]
        for label, key in labels.items():
            rows.append([f"{name}, {label}", *(f"{each[key].estimate:.3f}" for each in found)])
    document.text(FIGURE_2_TEXT)
    document.figure("am-fm-lambda", lambda_plot(LAMBDAS, lines))
    document.table(["text", *map(str, LAMBDAS)], rows)


def other_settings(study: Study, document: Document) -> None:
    """AM and FM with other settings than the paper's."""
    columns = dict(by_setting(study.data, study.inputs.cache))
    if study.settings.lm:
        columns |= by_causal_model(study.data, study.settings.lm, study.fm, study.inputs.cache)
    unscored = [f"{int(np.isnan(column).sum()):,}" for column in columns.values()]
    rows = table_rows(study.measures(columns), {})
    document.text(SETTINGS_TEXT, CAUSAL_TEXT if study.settings.lm else "")
    document.table(
        [HEADER[0], "not scored", *HEADER[2:]],
        [[name, count, *rest] for (name, _, *rest), count in zip(rows, unscored, strict=True)],
    )


def figure_3(study: Study, document: Document) -> None:
    """Single replies of the best, the median and the worst system."""
    names = list(TABLE_1_SYSTEMS.rows)
    ranked = [names[k] for k in np.argsort(-system_means(study.data, names, study.data.human))]
    roles = {"best": ranked[0], "median": ranked[len(ranked) // 2], "worst": ranked[-1], "all systems": ""}
    average = np.nan_to_num(EmbeddingAverage(tokenise=TOKENISED).score(study.data.examples))
    rows, points = [], {}
    for role, name in roles.items():
        mine = np.flatnonzero((study.data.judged.systems == name) | (not name))
        human, ratings = study.data.human[mine], study.data.judged.ratings["overall"][mine]
        found = reply_agreement(study.data, mine, (study.total, average))
        rows.append([role, name, f"{human.mean():.2f}", *map(cell_text, found)])
        if name:
            both = ((study.total[mine], human), (average[mine], human))
            points[f"{name} ({role})"] = (*both, random_halves(ratings))
    document.text(FIGURE_3_TEXT)
    document.figure("am-fm-sentences", reply_plots(points))
    document.table(["", "system", "people", "AM-FM", "embedding average", "human halves"], rows)


def table_3(study: Study, document: Document) -> None:
    """The five example replies."""
    rows = [example_row(study, number, reply) for number, reply in enumerate(TABLE_3, start=1)]
    columns = ["people, theirs", "theirs: AM, FM, total", "ours, 11 references", "ours, its ground truth alone", "PM"]
    document.text(TABLE_3_TEXT)
    document.table(["", "hypothesis", "people", *columns], rows)


def example_row(study: Study, number: int, reply: ExampleReply) -> list[str]:
    """One reply, scored by models of the other folds' references."""
    systems, items = study.data.judged.systems, study.data.item_of
    (place,) = np.flatnonzero((items == reply.item) & (systems == BEST_SYSTEM)).tolist()
    example = study.data.examples[place]
    truth = example.references[-1]  # what was said; the other ten were written for the challenge
    alone = Example(example.id, (), example.response, (truth,))
    fold_of = study.data.fold_of_rows()
    texts = study.data.unseen(np.flatnonzero(fold_of == fold_of[place]))
    model = AmFm(tokenise=TOKENISED).fit(sentences(texts))
    by_truth = (model.am.score([alone])[0], model.fm.score([alone])[0], model.score([alone])[0])
    with_all = (study.am[place], study.fm[place], study.total[place])
    checks = (Pm().score([alone])[0], Pm(refs="mean").score([example])[0])
    theirs = (reply.am, reply.fm, reply.total)
    return [
        str(number),
        example.response.strip(),
        f"{study.data.human[place]:.1f} ± {np.nanstd(study.data.judged.ratings['overall'][place], ddof=1):.1f}",
        f"{reply.human:.1f} ± {reply.human_sd:.1f}",
        *(", ".join(f"{value:.3f}" for value in values) for values in (theirs, with_all, by_truth)),
        f"{checks[0]:.2f} by its ground truth, {checks[1]:.2f} on average",
    ]


SECTIONS: dict[str, Callable[[Study, Document], None]] = {
    "table_1": table_1,
    "figure_1": figure_1,
    "table_2": table_2,
    "figure_2": figure_2,
    "other_settings": other_settings,
    "figure_3": figure_3,
    "table_3": table_3,
}
"""In the order of the page."""
