"""The page `dstc6`: our corpus scores of the 20 systems next to those that the organisers published."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from papers.documents import Document
from papers.inputs import DSTC6, Inputs
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.registry import load
from rejoinder.types import Example

SECTIONS = ("exact", "meteor", "embeddings")

EXACT = {**{f"Bleu_{n}": f"bleu-{n}" for n in (1, 2, 3, 4)}, "ROUGE_L": "rouge-l", "CIDEr": "cider"}
"""Their name -> ours. The text was tokenised and lower-cased by the organisers."""
EMBEDDING = {
    "EmbeddingAverageCosineSimilairty": "embedding-average",  # so spelt in what the organisers' tool prints
    "VectorExtremaCosineSimilarity": "vector-extrema",
    "GreedyMatchingScore": "greedy-matching",
}

INTRODUCTION = """\
# DSTC6: our scores beside the organisers'

In the sixth Dialog System Technology Challenge, 20 systems answered 2,000 customer-service tweets; each tweet has 11
references (Hori & Hori 2017). The organisers published what their tool, nlg-eval, printed for each system.
`tests/metrics/test_dstc6.py` checks that no figure of the first table differs from theirs by more than 0.00001."""

EXACT_TEXT = """\
## BLEU, ROUGE-L, CIDEr: the same

The text comes tokenised, so the setting is `tokenise=whitespace, lowercase=false`; all else is default. Each cell has
our score, then theirs. BLEU adds up the counts of all replies; ROUGE_L and CIDEr are means over replies. Their "CIDEr"
is CIDEr-D ([metrics.md](../reference/metrics.md#cider))."""

METEOR_TEXT = """\
## METEOR: close, given the paraphrase table

nlg-eval runs METEOR 1.5 with all four modules and with METEOR's own normaliser (`-norm`), which, among other things,
splits `<URL>` into several tokens, as our `words` tokeniser does. The paraphrase table does not come with this package;
its path can be given, as in `meteor(paraphrases=paraphrase-en.gz)`. The difference that remains with the table comes
from the normaliser: for S_1, METEOR itself prints the organisers' .204069 with `-norm`, and our .203921 when it is
given our tokens."""

EMBEDDINGS_TEXT = """\
## Embedding metrics: different vectors, hence different numbers

nlg-eval uses GloVe 6B in 300 dimensions. This package comes with its own vectors in 50 dimensions
([word-vectors.md](../reference/word-vectors.md)), from which the common direction was removed, so that averages of
unrelated texts are not all near 1. There are smaller differences: nlg-eval gives an unknown word the mean of all
vectors, and we skip it; nlg-eval tokenises with NLTK, and we use `words`; of two extremes of equal size, nlg-eval takes
the negative one. The formulas, and the maximum over references, are the same. The last column, where there is one, has
our code with GloVe 6B in 50 dimensions, the vectors closest to theirs that we had. Level and spread of the scores
depend on the vectors, but the order of the systems can be compared: `r` is the Pearson correlation with the organisers'
values over the 20 systems."""

Systems = Mapping[str, Sequence[Example]]
Column = Mapping[str, float]
"""System -> corpus score."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Files that are not part of the package."""

    paraphrases: str = ""
    """METEOR's paraphrase table; by default the one in the models' folder, if there is one."""
    glove: str = ""
    """A file of GloVe vectors in 50 dimensions."""


def make(inputs: Inputs, settings: Settings, sections: Sequence[str]) -> Document:
    """The three groups of metrics, one after the other."""
    theirs = inputs.dstc6_scores
    judged = inputs.judged(DSTC6)
    systems = {name: [each for each in judged.examples if each.system == name] for name in theirs}
    document = Document("dstc6")
    document.text(INTRODUCTION)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoreWarning)  # replies of which no word has a vector
        if "exact" in sections:
            _exact(document, systems, theirs)
        if "meteor" in sections:
            standard = inputs.models / "meteor" / "data" / "paraphrase-en.gz"
            _meteor(document, systems, theirs, settings.paraphrases or (str(standard) if standard.exists() else ""))
        if "embeddings" in sections:
            _embeddings(document, systems, theirs, settings.glove)
    return document


def _exact(document: Document, systems: Systems, theirs: Mapping[str, Column]) -> None:
    """What must be equal."""
    ours = {
        key: corpus_scores(load(name, tokenise="whitespace", lowercase=False), systems) for key, name in EXACT.items()
    }
    rows = [[system, *(f"{ours[key][system]:.6f} {theirs[system][key]:.6f}" for key in EXACT)] for system in theirs]
    furthest = [max(abs(ours[key][system] - theirs[system][key]) for system in theirs) for key in EXACT]
    rows.append(["largest difference", *(f"{value:.0e}" for value in furthest)])
    document.text(EXACT_TEXT)
    document.table(["system", *EXACT], rows)


def _meteor(document: Document, systems: Systems, theirs: Mapping[str, Column], paraphrases: str) -> None:
    """METEOR without and with the paraphrase table."""
    metrics = {"ours, no paraphrases": load("meteor")}
    if paraphrases:
        metrics["ours, with paraphrases"] = load("meteor", paraphrases=paraphrases)
    document.text(METEOR_TEXT)
    _columns(document, metrics, systems, {system: values["METEOR"] for system, values in theirs.items()})


def _embeddings(document: Document, systems: Systems, theirs: Mapping[str, Column], glove: str) -> None:
    """One table per metric."""
    document.text(EMBEDDINGS_TEXT)
    for key, name in EMBEDDING.items():
        metrics = {"ours": load(name)}
        if glove:
            metrics["ours, GloVe 50d"] = load(name, vectors=glove)
        document.text(f"### {name}")
        _columns(document, metrics, systems, {system: values[key] for system, values in theirs.items()})


def _columns(document: Document, metrics: Mapping[str, Metric], systems: Systems, theirs: Column) -> None:
    """One row per system, and below how far each column is from the organisers'."""
    ours = {label: corpus_scores(metric, systems) for label, metric in metrics.items()}
    rows = [
        [system, f"{value:.4f}", *(f"{column[system]:.4f}" for column in ours.values())]
        for system, value in theirs.items()
    ]
    expected = np.array(list(theirs.values()))
    columns = [np.array(list(column.values())) for column in ours.values()]
    rows.append(["largest difference", "", *(f"{np.abs(column - expected).max():.4f}" for column in columns)])
    rows.append(["r", "", *(f"{np.corrcoef(column, expected)[0, 1]:.3f}" for column in columns)])
    document.table(["system", "theirs", *ours], rows)


def corpus_scores(metric: Metric, systems: Systems) -> Column:
    """System -> its corpus score."""
    return {system: metric.corpus_score(replies) for system, replies in systems.items()}
