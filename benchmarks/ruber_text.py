"""The words between the tables of the RUBER study."""

from __future__ import annotations

INTRODUCTION = """\
# RUBER: figures

How RUBER agrees with people on the replies that roberta-eval (Zhao et al. 2020) had judged: 100 contexts each of
DailyDialog and PersonaChat, nine replies to a context, four raters a reply. r is Pearson's, rho Spearman's correlation.
Brackets are 95 % intervals over contexts. What it is and how it is trained: [ruber.md](ruber.md).

- *all*: 900 replies, the mean of all ratings. Tuned scores are of five folds: a model is tuned on the replies to other
  contexts.
- *test split*: the 90 replies that the paper reports, ratings that stray from the median dropped as it drops them. It
  was cut by reply, so that the other replies to a tested context are in the training split: a figure to hold beside the
  paper's, and no more.
- *theirs*: roberta-eval's RUBER, a hierarchical one. Which blend it has, the paper does not say.

The models, each trained on dialogues alone. Dialogues that hold a judged context, whole or by its last two turns, are
left out; the last column counts judged replies whose context a model was trained on all the same.

{trainings}

Tuned models went on from these. Nothing was chosen on these replies."""
SECTION_RUBER = """
## Beside ruber's own figures

ruber's replies are Chinese and were never released. r / rho; all replies of each set.
"""
SECTION_DIFFERENCE = """
## Other encoders against the GRU

Differences of r over all replies, by bootstrap over contexts; p by permutation.
"""
SECTION_TRANSFER = """
## From DailyDialog to PersonaChat

Models without labels, all replies of PersonaChat; r / rho on the test split beside theirs.
"""
SECTION_WITHOUT = """
## Without true replies

DailyDialog, GRU. Replies that were really given are their own reference, so that s_R is 1 for them. Theirs: r on the
test split (roberta-eval, Table 1). SD: the standard deviation of the score.
"""
SECTION_FIGURE = """
## s_U by human score

As ruber's Figure 1: replies in five equal groups by their human score, lowest first, and the mean s_U of each. ruber
shows true replies only, of which there are too few here, and gives no numbers.

![mean s_U by fifth of human scores](ruber-quantiles.svg)
"""
SECTION_FINDINGS = """
## What holds

By r over all replies; brackets are 95 % intervals of differences, which count where they are clear of 0.
"""


def section_set(corpus: str) -> str:
    """The heading of one judged set's table."""
    return f"\n## {corpus}, models trained on {corpus}\n"
