"""The page `ruber-transfer`: RUBER trained on one corpus and tested on another, both ways.

Table 4 of Tao et al. 2018, who go from Douban to Baidu Tieba, and the rows of RUBER in Table 4 of Zhao et al. 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from papers.documents import Document
from papers.inputs import Inputs
from papers.published import ruber, zhao2020
from papers.ruber.baselines import BASELINES, baselines
from papers.ruber.models import OTHER, PRETRAINED, SETS, Models
from papers.ruber.study import Study, check_encoders
from papers.ruber.trainings import trainings
from rejoinder.trusting.probing import cell_text

SCORES = ("s_R", "s_U", "min", "geometric", "arithmetic", "max")

INTRODUCTION = """\
# RUBER from one corpus to another

RUBER (Tao et al. 2018) learns from dialogues without ratings. How much does it lose on replies from a corpus that
it was not trained on? Table 4 of Tao et al. goes from Douban to Baidu Tieba, neither of which is public with human
scores. Table 4 of Zhao et al. 2020 goes from DailyDialog to PersonaChat and back, on the judged replies that are used
here. r is Pearson's and rho Spearman's correlation with the mean of all ratings over 900 replies; brackets are 95 %
intervals over contexts.

Of PersonaChat, we have only the validation and test dialogues, not the training dialogues that Zhao et al. had. The
models of PersonaChat learn from its validation dialogues. Those of DailyDialog learn from as many dialogues as give
about the same number of replies, so that both directions can be compared. The GRU has learned little from them: with
all training dialogues of DailyDialog and more epochs, much less is lost on PersonaChat
([ruber-figures.md](ruber-figures.md)).

The next table lists the models, which were trained on dialogues alone. Dialogues that contain a judged context, or the
last two turns of one, are left out. The last column counts judged replies whose context a model was nevertheless
trained on."""

BOTH_WAYS_TEXT = """\
## Both ways

- *own*: r of the model that was trained on the corpus of the tested replies.
- *other*: r of the model that was trained on the other corpus.
- *test split*: r / rho of the model of the other corpus on the 90 test replies of Zhao et al., without ratings far from
  the median of their reply, which they drop too.
- *theirs*: what Zhao et al. report for it, with a hierarchical RUBER; the paper does not say how it combines the
  scores."""

TAO_TEXT = """\
## Compared with Tao et al. 2018

Each cell has r / rho, ours by models that were trained on the other corpus, on all replies. The first rows need no
training: one rater against the mean of the others, and word overlap."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is trained."""

    budget: str = "equal"
    """`equal`: about as many replies of both corpora; `full` and `small` as on the page `ruber-figures`."""
    encoders: tuple[str, ...] = ("GRU", PRETRAINED)
    """The encoders that are measured."""
    resamples: int = 400


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """The trained models, then all sections in order."""
    check_encoders(inputs, settings.encoders)
    study = Study(Models(inputs, settings.budget), settings.encoders, settings.resamples)
    document = Document("ruber-transfer")
    document.text(INTRODUCTION)
    trainings(study, document)
    for section in sections:
        SECTIONS[section](study, document)
    return document


def both_ways(study: Study, document: Document) -> None:
    """Each set by a model of its own corpus and by one of the other."""
    rows = [[corpus, *row] for corpus in study.replies for row in transfer_rows(study, corpus, SCORES)]
    document.text(BOTH_WAYS_TEXT)
    document.table(["tested on", "encoder", "score", "own", "other", "difference", "test split", "theirs"], rows)


def transfer_rows(study: Study, corpus: str, scores: Sequence[str]) -> list[list[str]]:
    """Encoder, score, r of a model of this corpus and of one of the other, their difference, the test split, theirs."""
    published = zhao2020.TABLE_4.correlations(zhao2020.RUBER)[SETS[OTHER[corpus]], SETS[corpus]]
    replies, rows = study.replies[corpus], []
    for encoder in study.encoders:
        for score in scores:
            own, other = study.untuned(corpus, corpus, encoder)[score], study.transferred(corpus, encoder, score)
            found = study.compared_on(corpus, own, other)
            on_test = study.agreement_on_test(other, replies).text(2)
            theirs = published.text() if score == "arithmetic" and encoder != "MiniLM" else ""
            ours = (f"{found.correlation_a:.3f}", f"{found.correlation_b:.3f}", cell_text(found.difference))
            rows.append([encoder, score, *ours, on_test, theirs])
    return rows


def tao(study: Study, document: Document) -> None:
    """The figures of Tao et al. next to ours."""
    published = ruber.TABLE_4.correlations()
    found = [baselines(study, replies) for replies in study.replies.values()]
    rows = []
    for row in BASELINES:
        theirs = published[row].text(3) if row in published else ""
        rows.append([row, theirs, *(each[row].text() for each in found for _ in study.encoders)])
    for score in SCORES:
        ours = [
            study.agreement(study.transferred(corpus, encoder, score), replies).text()
            for corpus, replies in study.replies.items()
            for encoder in study.encoders
        ]
        rows.append([score, published[score].text(3), *ours])
    names = [f"{OTHER[corpus]} -> {corpus}, {encoder}" for corpus in study.replies for encoder in study.encoders]
    document.text(TAO_TEXT)
    document.table(["", "Tao et al., Douban -> Baidu Tieba", *names], rows)


SECTIONS: Mapping[str, Callable[[Study, Document], None]] = {"both_ways": both_ways, "tao": tao}
"""In the order of the page."""
