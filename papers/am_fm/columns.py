"""Scores of the DSTC6 replies by AM and FM: one column per model, each computed once and cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from papers.am_fm.folds import Dstc6, sentences
from papers.cache import Arrays, Cache
from papers.inputs import Inputs
from papers.published.am_fm import DIMENSIONS, ORDER, SVD_SENTENCES
from rejoinder.evaluators.am_fm_parts import Am, Fm
from rejoinder.evaluators.base import Evaluator
from rejoinder.types import Dialogue, Scores

TOKENISED = "whitespace"
"""DSTC6 comes tokenised. Other corpora do not, so that both they and DSTC6 then go through `words`."""
CORPORA = {"DailyDialog": "dailydialog.train", "Self-dialogue": "self_dialogue.train"}
ORDERS = (1, 2, 3)
NGRAMS = "n-grams"
"""The column that holds how many n-grams the model of each order has, on average over the folds."""
CAUSAL_ITEMS = 200

Columns = Mapping[str, Scores]


def fm_name(order: int) -> str:
    """The column of FM with n-grams of an order."""
    return f"FM {order}-gram"


def cross_fitted(data: Dstc6, cache: Cache) -> Arrays:
    """AM and FM of each order with the paper's settings, each fold scored by models of the other folds' references."""
    models: dict[str, Evaluator] = {"AM": Am(dimensions=DIMENSIONS, tokenise=TOKENISED)}
    models |= {fm_name(order): Fm(order=order, tokenise=TOKENISED) for order in ORDERS}
    return cache.arrays("am-fm-cross-fitted", [_key(models), data.key], lambda: _cross_fitted(data, models))


def by_setting(data: Dstc6, cache: Cache) -> Arrays:
    """AM and bigram FM with other settings than the paper's, cross-fitted."""
    models: dict[str, Evaluator] = {
        "AM, mean of references": Am(refs="mean", tokenise=TOKENISED),
        "AM, centroid of references": Am(refs="centroid", tokenise=TOKENISED),
        "FM, mean of references": Fm(refs="mean", tokenise=TOKENISED),
        "FM, unknown words skipped": Fm(unknown="skip", tokenise=TOKENISED),
        "FM, Kneser-Ney": Fm(smoothing="kneser-ney", prune=0.0, tokenise=TOKENISED),
        "FM, absolute": Fm(fluency="absolute", tokenise=TOKENISED),
    }
    found = cache.arrays("am-fm-settings", [_key(models), data.key], lambda: _cross_fitted(data, models))
    return {name: found[name] for name in models}


def out_of_domain(data: Dstc6, inputs: Inputs, corpus: str) -> Arrays:
    """AM and bigram FM by models of another corpus, as many of its turns as the paper had tweets."""
    models: dict[str, Evaluator] = {"AM": Am(dimensions=DIMENSIONS), "FM": Fm(order=ORDER)}

    def make() -> Arrays:
        text = sentences([turn for dialogue in inputs.dialogues(corpus) for turn in dialogue.turns])
        return {name: model.fit(_text(name, text)).score(data.examples) for name, model in models.items()}

    return inputs.cache.arrays(f"am-fm-{corpus}", [_key(models), data.key], make)


def by_causal_model(data: Dstc6, model: str, bigram: Scores, cache: Cache) -> Columns:
    """FM of some items by a pretrained model, and by bigrams for comparison; NaN for all other items."""
    items = np.random.default_rng(data.seed).permutation(int(data.item_of.max()) + 1)[:CAUSAL_ITEMS]
    rows = np.flatnonzero(np.isin(data.item_of, items))
    fm = Fm(lm=model, tokenise=TOKENISED)

    def make() -> Arrays:
        return {"FM": fm.fit().score(data.rows(rows))}

    found = cache.arrays("am-fm-causal", [fm.signature, CAUSAL_ITEMS, data.key], make)
    columns = {name: np.full(len(data.examples), np.nan) for name in ("FM, SmolLM2", "FM, bigrams, the same items")}
    columns["FM, SmolLM2"][rows] = found["FM"]
    columns["FM, bigrams, the same items"][rows] = bigram[rows]
    return columns


def _cross_fitted(data: Dstc6, models: Mapping[str, Evaluator]) -> Arrays:
    columns = {name: np.full(len(data.examples), np.nan) for name in models}
    ngrams: dict[str, list[int]] = {fm_name(order): [] for order in ORDERS}
    for text, rows in data.parts():
        examples = data.rows(rows)
        for name, model in models.items():
            fitted = model.clone().fit(_text(name, text))
            columns[name][rows] = fitted.score(examples)
            if name in ngrams:
                ngrams[name].append(len(fitted.model_.model.levels[-1]))  # type: ignore[attr-defined]
    return columns | {NGRAMS: np.array([np.mean(counts or [0]) for counts in ngrams.values()])}


def _text(name: str, text: Sequence[Dialogue]) -> Sequence[Dialogue]:
    """The training sentences of a part: the semantic space of AM is made from fewer."""
    return text[:SVD_SENTENCES] if name.startswith("AM") else text


def _key(models: Mapping[str, Evaluator]) -> list[str]:
    return [model.signature for model in models.values()]
