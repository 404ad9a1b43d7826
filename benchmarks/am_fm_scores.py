"""Scores of the DSTC6 replies by AM and FM, no reply being scored by a model that saw its item's references.

*Cross-fitted*: items are cut into folds; a fold is scored by models of the other folds' references, which are in-domain
text, as the paper's was. *Out of domain*: one model of another corpus scores all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from rejoinder.arrays import Ints, Ragged
from rejoinder.data.dialogues import DialogueSource
from rejoinder.evaluators.am_fm.parts import Am, Fm, sentences_of
from rejoinder.evaluators.am_fm.semantic_space import SemanticSpace
from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.data import TrainingData
from rejoinder.meta.judged import JudgedSet, read_judged
from rejoinder.metrics.batch import TextOptions, encode
from rejoinder.types import Dialogue, Example, Scores

SENTENCES = 18_692
"""As many as the paper counted n-grams in."""
SVD_SENTENCES = 10_000
"""As many as the paper's semantic space was made from."""
DIMENSIONS = (10, 25, 50, 100, 250, 500, 1000, 2500)
ORDERS = (1, 2, 3)
TOKENISED = "whitespace"
"""DSTC6 comes tokenised; other corpora do not, so that both then go through `words`."""


@dataclass(frozen=True, eq=False)
class Dstc6:
    """The judged replies, with folds of their items."""

    judged: JudgedSet
    folds: int = 5
    seed: int = 0

    @classmethod
    def read(cls, path: str | Path, folds: int = 5) -> Dstc6:
        """From the judged set's file."""
        return cls(read_judged(path), folds)

    @property
    def examples(self) -> Sequence[Example]:
        """All replies."""
        return self.judged.examples

    @cached_property
    def human(self) -> Scores:
        """The mean rating of each reply."""
        return self.judged.human("overall")

    @cached_property
    def item_of(self) -> Ints:
        """The number of each reply's item."""
        return np.array([int(example.context_id) for example in self.examples])

    @cached_property
    def references(self) -> dict[int, tuple[str, ...]]:
        """Item -> its references."""
        return {int(example.context_id): example.references for example in self.examples}

    def fold_of(self, folds: int) -> dict[int, int]:
        """Item -> its fold."""
        items = sorted(self.references)
        order = np.random.default_rng(self.seed).permutation(len(items))
        return {item: int(place) % folds for item, place in zip(items, order, strict=True)}

    def parts(self, folds: int | None = None) -> Iterator[tuple[list[Dialogue], Ints]]:
        """For each fold: sentences of all other folds, and the rows to score."""
        folds = self.folds if folds is None else folds
        fold_of = self.fold_of(folds)
        fold_of_row = np.array([fold_of[item] for item in self.item_of.tolist()])
        for fold in range(folds):
            yield sentences(self.unseen(fold, fold_of), SENTENCES, self.seed), np.flatnonzero(fold_of_row == fold)

    def unseen(self, fold: int, fold_of: Mapping[int, int]) -> list[str]:
        """References of the other folds, save those that stand word for word in this one too."""
        own = {text.strip() for item, texts in self.references.items() if fold_of[item] == fold for text in texts}
        others = (text for item, texts in self.references.items() if fold_of[item] != fold for text in texts)
        return [text for text in others if text.strip() not in own]

    def rows(self, rows: Ints) -> list[Example]:
        """The replies of these rows."""
        return [self.examples[row] for row in rows.tolist()]


def sentences(texts: Sequence[str], most: int, seed: int) -> list[Dialogue]:
    """At most as many of the texts, drawn at random, each as a dialogue of one turn."""
    chosen = np.random.default_rng(seed).permutation(len(texts))[:most]
    return [Dialogue(str(place), (texts[place],)) for place in chosen.tolist()]


def corpus(path: Path, seed: int = 0) -> list[Dialogue]:
    """Turns of a dialogue corpus, as many as the paper had."""
    return sentences([turn for dialogue in DialogueSource(path) for turn in dialogue.turns], SENTENCES, seed)


def cross_fitted(data: Dstc6) -> tuple[dict[str, Scores], dict[int, float]]:
    """AM in 10 dimensions and FM of each order, and how many n-grams each order's model has on average."""
    columns = {name: np.full(len(data.examples), np.nan) for name in ("AM", *(f"FM {n}-gram" for n in ORDERS))}
    sizes: dict[int, float] = dict.fromkeys(ORDERS, 0.0)
    for text, rows in data.parts():
        examples = data.rows(rows)
        columns["AM"][rows] = Am(tokenise=TOKENISED).fit(text[:SVD_SENTENCES]).score(examples)
        for order in ORDERS:
            part = Fm(order=order, tokenise=TOKENISED).fit(text)
            columns[f"FM {order}-gram"][rows] = part.score(examples)
            sizes[order] += len(part.model_.model.levels[-1]) / data.folds  # type: ignore[attr-defined]
    return columns, sizes


def by_setting(data: Dstc6) -> dict[str, Scores]:
    """AM and bigram FM with other settings than the paper's, cross-fitted."""
    made: dict[str, Callable[[], Evaluator]] = {
        "AM, mean of references": lambda: Am(refs="mean", tokenise=TOKENISED),
        "AM, centroid of references": lambda: Am(refs="centroid", tokenise=TOKENISED),
        "FM, mean of references": lambda: Fm(refs="mean", tokenise=TOKENISED),
        "FM, unknown words passed over": lambda: Fm(unknown="skip", tokenise=TOKENISED),
        "FM, Kneser-Ney": lambda: Fm(smoothing="kneser-ney", prune=0.0, tokenise=TOKENISED),
        "FM, absolute": lambda: Fm(fluency="absolute", tokenise=TOKENISED),
    }
    columns = {name: np.full(len(data.examples), np.nan) for name in made}
    for text, rows in data.parts():
        for name, make in made.items():
            known = text[:SVD_SENTENCES] if name.startswith("AM") else text
            columns[name][rows] = make().fit(known).score(data.rows(rows))
    return columns


def out_of_domain(data: Dstc6, text: list[Dialogue]) -> dict[str, Scores]:
    """AM and bigram FM by models of another corpus."""
    return {
        "AM": Am().fit(text[:SVD_SENTENCES]).score(data.examples),
        "FM": Fm().fit(text).score(data.examples),
    }


def by_causal_model(data: Dstc6, lm: str, bigram: Scores, items: int = 200) -> dict[str, Scores]:
    """FM of some items by a pretrained model that saw none of them as far as anyone knows, and by bigrams beside."""
    rows = np.flatnonzero(np.isin(data.item_of, np.random.default_rng(data.seed).permutation(2000)[:items]))
    columns = {name: np.full(len(data.examples), np.nan) for name in ("FM, SmolLM2", "FM, bigrams, the same items")}
    columns["FM, SmolLM2"][rows] = Fm(lm=lm, tokenise=TOKENISED).fit().score(data.rows(rows))
    columns["FM, bigrams, the same items"][rows] = bigram[rows]
    return columns


def by_dimension(data: Dstc6) -> dict[int, Scores]:
    """AM in each number of dimensions, as in the paper the first ones of one space; items in two halves."""
    columns = {dimensions: np.full(len(data.examples), np.nan) for dimensions in DIMENSIONS}
    for text, rows in data.parts(2):
        known = sentences_of(TrainingData(tuple(text[:SVD_SENTENCES])), TextOptions(TOKENISED))
        space = SemanticSpace.of(*known, max(DIMENSIONS), data.seed)
        for dimensions, scores in _growing(space, data.rows(rows)).items():
            columns[dimensions][rows] = scores
    return columns


def _growing(space: SemanticSpace, examples: Sequence[Example]) -> dict[int, Scores]:
    """AM with more and more dimensions: sums over those before are kept, and each text is projected once."""
    texts = pl.Series([text for example in examples for text in (example.response, *example.references)])
    distinct = texts.unique(maintain_order=True)
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    vocabulary, rows = encode(distinct, TextOptions(TOKENISED))
    points = space.points(Ragged(space.numbers(vocabulary.to_list())[rows.values], rows.offsets))
    own = np.repeat([place[example.response] for example in examples], [len(e.references) for e in examples])
    theirs = np.array([place[text] for example in examples for text in example.references])
    starts = np.cumsum([0, *(len(example.references) for example in examples)])[:-1]
    dot, left, right = (np.zeros(len(own)) for _ in range(3))
    found: dict[int, Scores] = {}
    before = 0
    for dimensions in DIMENSIONS:
        part = points[:, before:dimensions]
        lengths = (part.astype(np.float64) ** 2).sum(axis=1)
        left, right = left + lengths[own], right + lengths[theirs]
        for start in range(0, len(own), 20_000):
            pairs = slice(start, start + 20_000)
            dot[pairs] += np.einsum("ij,ij->i", part[own[pairs]], part[theirs[pairs]])
        norm = np.sqrt(left * right)
        cosines = np.divide(dot, norm, out=np.zeros(len(dot)), where=norm > 0)
        found[dimensions] = np.maximum.reduceat(np.clip(cosines, 0, 1), starts)
        before = dimensions
    return found
