"""DSTC6: our corpus scores for the 20 systems beside those that the organisers published, as Markdown.

    python benchmarks/dstc6.py ../shared/data/judged/dstc6_t2.jsonl.gz --glove glove.6B.50d.txt \\
        --paraphrases models-cache/meteor/data/paraphrase-en.gz > docs/results/dstc6.md

The published values are read from dstc6_t2.systems.json beside the replies. Without --paraphrases and --glove their
columns are left out.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.data.source import read
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.registry import load
from rejoinder.types import Example

EXACT = {**{f"Bleu_{n}": f"bleu-{n}" for n in (1, 2, 3, 4)}, "ROUGE_L": "rouge-l", "CIDEr": "cider"}
EMBEDDING = {
    "EmbeddingAverageCosineSimilairty": "embedding-average",  # so spelt in what the organisers' tool prints
    "VectorExtremaCosineSimilarity": "vector-extrema",
    "GreedyMatchingScore": "greedy-matching",
}

Published = dict[str, dict[str, float]]
Column = dict[str, float]  # system -> corpus score

INTRODUCTION = """\
# DSTC6: our scores beside the organisers'

In the sixth Dialog System Technology Challenge, 20 systems answered 2,000 customer-service tweets; each tweet has 11
references (Hori & Hori 2017). The organisers published what their tool, nlg-eval, printed for each system. These tables
are made by `benchmarks/dstc6.py`; `tests/metrics/test_dstc6.py` holds the first of them to 0.00001.
"""

SAME = """
## BLEU, ROUGE-L, CIDEr: the same

The text comes tokenised, so the setting is `tokenise=whitespace, lowercase=false`; all else is default. Each cell:
ours, then theirs. BLEU adds up the counts of all replies; ROUGE_L and CIDEr are means over replies. Their "CIDEr" is
CIDEr-D ([metrics.md](metrics.md#cider)).
"""

METEOR = """
## METEOR: close, given the paraphrase table

nlg-eval runs METEOR 1.5 with all four modules and METEOR's own normaliser (`-norm`), which, among other things, takes
`<URL>` apart, as our `words` tokeniser does. The paraphrase table does not come with this package; where it is given by
its path, `meteor(paraphrases=paraphrase-en.gz)`, what is left of the difference comes from that normaliser: for S_1
the program itself prints the organisers' .204069 with `-norm`, and our .203921 when it is given our tokens.
"""

EMBEDDINGS = """
## Embedding metrics: other vectors, so other numbers

nlg-eval uses GloVe 6B in 300 dimensions; we come with vectors of our own in 50 ([word-vectors.md](word-vectors.md)),
whose common direction was taken out, so that averages of unrelated texts are not all near 1. There are lesser
differences: nlg-eval gives an unknown word the mean of all vectors, where we pass over it; it tokenises by NLTK, where
we use `words`; of two extremes of equal size it takes the negative one. The formulas, and the maximum over references,
are the same. The last column is GloVe 6B in 50 dimensions through our code, the nearest kin to theirs that was at hand.
Level and spread depend on the vectors; what can be compared is the order of systems: `r` is the Pearson correlation
with the organisers' values over the 20 systems.
"""


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replies", type=Path)
    parser.add_argument("--paraphrases", help="METEOR's table")
    parser.add_argument("--glove", help="a file of word vectors")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ScoreWarning)  # replies of which no word has a vector
    beside = arguments.replies.with_name("dstc6_t2.systems.json")
    published: Published = json.loads(beside.read_text(encoding="utf-8"))["objective"]
    systems: dict[str, list[Example]] = {name: [] for name in published}
    for example in read(arguments.replies):
        systems[example.system].append(example)
    print(INTRODUCTION + SAME)
    print_exact(systems, published)
    print(METEOR)
    print_meteor(systems, published, arguments.paraphrases)
    print(EMBEDDINGS)
    print_embeddings(systems, published, arguments.glove)


def print_exact(systems: dict[str, list[Example]], published: Published) -> None:
    """What must be equal."""
    ours = {
        key: corpus_scores(load(name, tokenise="whitespace", lowercase=False), systems) for key, name in EXACT.items()
    }
    rows = [
        [system, *(f"{ours[key][system]:.6f} {published[system][key]:.6f}" for key in EXACT)] for system in published
    ]
    furthest = [max(abs(ours[key][system] - published[system][key]) for system in published) for key in EXACT]
    rows.append(["largest difference", *(f"{value:.0e}" for value in furthest)])
    print(markdown(["system", *EXACT], rows))


def print_meteor(systems: dict[str, list[Example]], published: Published, paraphrases: str | None) -> None:
    """METEOR without and with the table."""
    metrics = {"ours, no paraphrases": load("meteor")}
    if paraphrases is not None:
        metrics["ours, with paraphrases"] = load("meteor", paraphrases=paraphrases)
    theirs = {system: values["METEOR"] for system, values in published.items()}
    print_columns({label: corpus_scores(metric, systems) for label, metric in metrics.items()}, theirs)


def print_embeddings(systems: dict[str, list[Example]], published: Published, glove: str | None) -> None:
    """A table a metric."""
    for key, name in EMBEDDING.items():
        metrics = {"ours": load(name)}
        if glove is not None:
            metrics["ours, GloVe 50d"] = load(name, vectors=glove)
        theirs = {system: values[key] for system, values in published.items()}
        print(f"### {name}\n")
        print_columns({label: corpus_scores(metric, systems) for label, metric in metrics.items()}, theirs)
        print()


def corpus_scores(metric: Metric, systems: dict[str, list[Example]]) -> Column:
    """System -> its corpus score."""
    return {system: metric.corpus_score(replies) for system, replies in systems.items()}


def print_columns(ours: dict[str, Column], theirs: Column) -> None:
    """A row a system, and below how far each column is from the organisers'."""
    rows = [
        [system, f"{value:.4f}", *(f"{column[system]:.4f}" for column in ours.values())]
        for system, value in theirs.items()
    ]
    expected = np.array(list(theirs.values()))
    columns = [np.array(list(column.values())) for column in ours.values()]
    rows.append(["largest difference", "", *(f"{np.abs(column - expected).max():.4f}" for column in columns)])
    rows.append(["r", "", *(f"{np.corrcoef(column, expected)[0, 1]:.3f}" for column in columns)])
    print(markdown(["system", "theirs", *ours], rows))


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ["---"] * len(header), *rows])


if __name__ == "__main__":
    main()
