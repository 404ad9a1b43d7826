"""The programs that benchmarks/metrics.py measures beside ours, each called as its own documentation says.

A peer is made ready outside the clock (imports, word lists) and gives one score per pair, where it can. One that is not
installed raises ImportError, one whose data are missing raises FileNotFoundError: the table then says so.
"""

from __future__ import annotations

import atexit
import importlib
import math
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.arrays import Vectors
from rejoinder.metrics.batch import Batch, TextOptions
from rejoinder.metrics.overlap import as_strings
from rejoinder.text.vectors import load_vectors
from rejoinder.types import Example, Scores


@dataclass(frozen=True)
class Pairs:
    """Replies with one reference each."""

    responses: list[str]
    references: list[str]
    examples: list[Example]

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> Pairs:
        """From (reply, reference)."""
        examples = [Example(str(place), (), reply, (other,)) for place, (reply, other) in enumerate(pairs)]
        return cls([reply for reply, _ in pairs], [other for _, other in pairs], examples)

    def first(self, count: int) -> Pairs:
        """The first so many of them."""
        return Pairs(self.responses[:count], self.references[:count], self.examples[:count])

    def __len__(self) -> int:
        return len(self.examples)


Run = Callable[[Pairs], Scores | None]


@dataclass(frozen=True)
class Peer:
    """A program to measure."""

    name: str
    ready: Callable[[], Run]
    same: str = ""
    """Our metric that must give the same scores; "" where there is none."""
    slow: bool = True
    """Measured on fewer pairs."""
    starts: bool = False
    """A process of its own, whose start is measured apart and taken off."""
    note: str = ""


def per_pair(score: Callable[[str, str], float]) -> Run:
    """A loop over a function of (reply, reference)."""

    def run(pairs: Pairs) -> Scores:
        return np.array([score(*pair) for pair in zip(pairs.responses, pairs.references, strict=True)])

    return run


def sacrebleu_bleu() -> Run:
    """BLEU-4 per pair, sacreBLEU's defaults for sentences."""
    bleu = importlib.import_module("sacrebleu.metrics").BLEU(effective_order=True)
    scores = per_pair(lambda reply, reference: float(bleu.sentence_score(reply, [reference]).score) / 100)

    def run(pairs: Pairs) -> Scores | None:
        for tokeniser in (bleu.tokenizer, bleu.tokenizer._post_tokenizer):
            remembered: Any = type(tokeniser).__call__
            remembered.cache_clear()  # or the second run would find all texts tokenised
        return scores(pairs)

    return run


def nltk_bleu() -> Run:
    """BLEU-1..4 per pair in one call; of the four the last is kept."""
    bleu = importlib.import_module("nltk.translate.bleu_score")
    smoothing = bleu.SmoothingFunction().method3
    weights = [(1.0,), (1 / 2, 1 / 2), (1 / 3, 1 / 3, 1 / 3), (1 / 4, 1 / 4, 1 / 4, 1 / 4)]

    def score(reply: str, reference: str) -> float:
        return float(bleu.sentence_bleu([reference.split()], reply.split(), weights, smoothing)[3])

    return per_pair(score)


def bleuscore_pair() -> Run:
    """BLEU-4 per pair, unsmoothed."""
    compute = importlib.import_module("bleuscore").compute
    return per_pair(lambda reply, reference: float(compute([[reference]], [reply])["bleu"]))


def bleuscore_corpus() -> Run:
    """One BLEU-4 for all pairs together: all that its one call for many pairs can give."""
    compute = importlib.import_module("bleuscore").compute

    def run(pairs: Pairs) -> None:
        compute([[reference] for reference in pairs.references], pairs.responses)

    return run


def torchmetrics_bleu() -> Run:
    """BLEU-4 per pair, unsmoothed, tokenised as sacreBLEU does."""
    text = importlib.import_module("torchmetrics.functional.text")
    return per_pair(lambda reply, reference: float(text.sacre_bleu_score([reply], [[reference]])))


def rouge_score() -> Run:
    """The F-measure per pair."""
    scorer = importlib.import_module("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    return per_pair(lambda reply, reference: float(scorer.score(reference, reply)["rougeL"].fmeasure))


def rouge_score_rs() -> Run:
    """The F-measure per pair, one call each."""
    scorer = importlib.import_module("rouge_score_rs").RougeScorer(["rougeL"])
    return per_pair(lambda reply, reference: float(scorer.score(reference, reply)["rougeL"].fmeasure))


def rouge_score_rs_batch() -> Run:
    """The F-measure per pair, one call for all."""
    scorer = importlib.import_module("rouge_score_rs").RougeScorer(["rougeL"])

    def run(pairs: Pairs) -> Scores:
        return np.array([one["rougeL"].fmeasure for one in scorer.score_batch(pairs.references, pairs.responses)])

    return run


def rapidfuzz_lcs() -> Run:
    """The common subsequence alone, of texts that were tokenised before the clock started."""
    process, distance = importlib.import_module("rapidfuzz.process"), importlib.import_module("rapidfuzz.distance")
    kept: dict[int, tuple[list[str], list[str]]] = {}

    def run(pairs: Pairs) -> None:
        if len(pairs) not in kept:  # the first of several runs, so never the best one
            tokens = Batch(pairs.examples).tokens(TextOptions())
            kept[len(pairs)] = as_strings(tokens.responses), as_strings(tokens.references)
        process.cpdist(*kept[len(pairs)], scorer=distance.LCSseq.similarity, dtype=np.int32)

    return run


def torchmetrics_rouge() -> Run:
    """The F-measure per pair."""
    text = importlib.import_module("torchmetrics.functional.text")

    def score(reply: str, reference: str) -> float:
        return float(text.rouge_score(reply, reference, rouge_keys="rougeL")["rougeL_fmeasure"])

    return per_pair(score)


def nltk_meteor(wordnet: Path) -> Run:
    """NLTK's METEOR, which has other parameters and another search than METEOR 1.5."""
    nltk = importlib.import_module("nltk")
    if not (wordnet / "data.noun").exists():
        raise FileNotFoundError(f"no WordNet database in {wordnet}")
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(wordnet, Path(folder, "corpora", "wordnet"))
    nltk.data.path.insert(0, folder)  # NLTK reads from declared folders only
    score = importlib.import_module("nltk.translate.meteor_score").single_meteor_score
    score(["a"], ["b"])  # loads WordNet
    return per_pair(lambda reply, reference: float(score(reference.lower().split(), reply.lower().split())))


def meteor_jar(jar: Path) -> Run:
    """METEOR 1.5 with its exact, stem and synonym modules."""
    if not jar.exists() or shutil.which("java") is None:
        raise FileNotFoundError(f"no {jar}, or no Java")
    original = importlib.import_module("meteor").original  # benchmarks/meteor.py

    def run(pairs: Pairs) -> Scores:
        split = [
            (reply.lower().split(), other.lower().split())
            for reply, other in zip(pairs.responses, pairs.references, strict=True)
        ]
        scores: Scores = original(split, jar, "-m", "exact stem synonym")[0]
        return scores

    return run


def pycocoevalcap_cider() -> Run:
    """What every tool of that family prints as CIDEr; texts are split at spaces."""
    cider = importlib.import_module("pycocoevalcap.cider.cider").Cider()

    def run(pairs: Pairs) -> Scores:
        references = {place: [text] for place, text in enumerate(pairs.references)}
        return np.array(
            cider.compute_score(references, {place: [text] for place, text in enumerate(pairs.responses)})[1]
        )

    return run


def sacrebleu_chrf() -> Run:
    """chrF2 per pair, sacreBLEU's defaults."""
    chrf = importlib.import_module("sacrebleu.metrics").CHRF()
    return per_pair(lambda reply, reference: float(chrf.sentence_score(reply, [reference]).score) / 100)


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|\S")


def plain_embedding_loop(vectors: str) -> Run:
    """Average, extrema and greedy matching as the papers define them, pair by pair; of the three greedy is kept."""
    known = load_vectors(vectors)
    table = dict(zip(known.words, np.asarray(known.matrix, np.float32), strict=True))

    def embed(text: str) -> list[Vectors]:
        words = (word.replace("’", "'") for word in _WORD.findall(text.lower()))
        return [table[word] for word in words if word in table]

    def cosine(left: Vectors, right: Vectors) -> float:
        return float(np.dot(left, right) / (np.linalg.norm(left) * np.linalg.norm(right)))

    def extrema(words: list[Vectors]) -> Vectors:
        highest, lowest = np.max(words, axis=0), np.min(words, axis=0)
        chosen: Vectors = np.where(highest >= -lowest, highest, lowest)
        return chosen

    def one_way(these: list[Vectors], those: list[Vectors]) -> float:
        return sum(max(cosine(word, other) for other in those) for word in these) / len(these)

    def score(reply: str, reference: str) -> float:
        own, theirs = embed(reply), embed(reference)
        if not own or not theirs:
            return math.nan
        cosine(np.mean(own, axis=0), np.mean(theirs, axis=0))
        cosine(extrema(own), extrema(theirs))
        return (one_way(own, theirs) + one_way(theirs, own)) / 2

    return per_pair(score)


def quietly(ready: Callable[[], Any]) -> Any:
    """What `ready` gives, without the warnings that peers have for each other's versions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ready()
