"""Trains the word vectors that come with the package (docs/reference/word-vectors.md is their card).

    python recipes/word_vectors.py train DATA      # writes src/rejoinder/resources/conversational-50d.{npy,txt}
    python recipes/word_vectors.py select DATA     # the settings that were tried, on development text
    python recipes/word_vectors.py measure DATA    # the card's figures; --glove FILE adds another set beside ours

DATA holds dialogues/<corpus>.<split>.jsonl.gz and judged/<name>.jsonl.gz. Needs gensim. For a repeatable result
there is one seed and one worker, and PYTHONHASHSEED is 0 (the script starts itself again where it is not).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import pearsonr, rankdata, spearmanr

from rejoinder.arrays import Floats
from rejoinder.text.tokens import tokenise
from rejoinder.text.vectors import SHIPPED_VECTORS, WordVectors, load_vectors

CORPORA = ("self_dialogue", "chitchat", "personachat", "topicalchat")  # free for any use
DIMS, MIN_COUNT, SEED = 50, 3, 1
LONGEST = 10_000  # gensim drops the rest of a longer sentence
RESOURCES = Path(__file__).resolve().parents[1] / "src" / "rejoinder" / "resources"
METRICS = ("average", "extrema", "greedy")


@dataclass(frozen=True, slots=True)
class Settings:
    """How vectors are trained, then finished."""

    skip_gram: bool = True
    subwords: bool = False
    """fastText: a word's vector has a share in those of its character n-grams."""
    across_turns: bool = True
    """The window runs on over a whole dialogue."""
    window: int = 10
    negative: int = 5
    subsample: float = 1e-3
    epochs: int = 5
    components: int = 1
    """How many principal components are taken out (Mu and Viswanath 2018)."""
    smoothing: float = 3e-4
    """a: a vector is shortened by a / (a + the word's frequency) (Arora et al. 2017); 0: it is left as it is."""


CHOSEN = Settings()
FINISHES = tuple((components, smoothing) for components in (0, 1, 2) for smoothing in (0.0, 1e-2, 1e-3, 3e-4, 1e-4))
TRIED = (
    *(dataclasses.replace(CHOSEN, components=components, smoothing=smoothing) for components, smoothing in FINISHES),
    dataclasses.replace(CHOSEN, skip_gram=False),
    dataclasses.replace(CHOSEN, subwords=True),
)


# --- text


def read_rows(path: Path) -> pl.DataFrame:
    """A row a line of a file."""
    return pl.read_ndjson(path, infer_schema_length=None)


def treebank(texts: pl.Series) -> pl.Series:
    """Tokens with contractions apart, as the Penn Treebank has them: do n't, it 's."""
    spaced = tokenise(texts, "words", lowercase=True).list.join(" ").str.replace_all("’", "'")
    apart = spaced.str.replace_all(r"(\w)(n't|'(?:s|m|re|ll|ve|d))\b", "$1 $2")
    together = apart.str.replace_all(r"(^| )' (s|m|re|ll|ve|d)\b", "$1'$2")  # the text had it apart already
    return tokenise(together, "whitespace", lowercase=False)


def training_tokens(texts: pl.Series) -> pl.Series:
    """Tokens in the ways that metrics and corpora write them, each utterance in one way.

    Of twenty utterances fourteen go by our tokeniser ("don't"), two by the Treebank ("do n't", "it 's"), two by our
    tokeniser after the Treebank ("do n't", "it ' s"), one with every apostrophe apart ("do n ' t"), one with none
    ("don t"): the pieces get vectors of their own.
    """
    straight = texts.str.replace_all("’", "'")
    whole = tokenise(straight, "words", lowercase=True)
    split = treebank(straight)
    joined = split.list.join(" ")
    ruled = tokenise(joined, "words", lowercase=False)
    pieces = tokenise(joined.str.replace_all("'", " ' "), "words", lowercase=False)
    bare = tokenise(straight.str.replace_all("'", " "), "words", lowercase=True)
    turn = pl.int_range(len(texts), eager=True) % 20
    frame = pl.DataFrame({"turn": turn, "whole": whole, "split": split, "ruled": ruled, "pieces": pieces, "bare": bare})
    chosen = (
        pl.when(pl.col("turn") < 14)
        .then("whole")
        .when(pl.col("turn") < 16)
        .then("split")
        .when(pl.col("turn") < 18)
        .then("ruled")
        .when(pl.col("turn") == 18)
        .then("pieces")
        .otherwise("bare")
    )
    return frame.select(tokens=chosen)["tokens"]


@cache
def training_dialogues(data: Path) -> list[list[list[str]]]:
    """The tokens of each utterance of each dialogue."""
    paths = [path for corpus in CORPORA for path in sorted((data / "dialogues").glob(f"{corpus}.*.jsonl.gz"))]
    dialogues = pl.concat([read_rows(path).select("turns") for path in paths]).with_row_index("dialogue")
    turns = dialogues.explode("turns").drop_nulls()
    tokens = turns.with_columns(tokens=training_tokens(turns["turns"]))
    print(f"{len(dialogues)} dialogues, {len(turns)} utterances, {tokens['tokens'].list.len().sum()} tokens")
    found: list[list[list[str]]] = tokens.group_by("dialogue", maintain_order=True).agg("tokens")["tokens"].to_list()
    return found


# --- training


@cache
def trained(data: Path, settings: Settings) -> tuple[list[str], Floats, Floats]:
    """Words by falling frequency, how often each came, and their vectors as trained. (words,) (words, dims)"""
    from gensim.models import FastText, Word2Vec

    sentences: list[list[str]] = []
    for utterances in training_dialogues(data):
        if settings.across_turns:
            words = [word for utterance in utterances for word in utterance]
            sentences += [words[start : start + LONGEST] for start in range(0, len(words), LONGEST)]
        else:
            sentences += utterances
    model = (FastText if settings.subwords else Word2Vec)(
        sentences,
        vector_size=DIMS,
        min_count=MIN_COUNT,
        sg=int(settings.skip_gram),
        window=settings.window,
        negative=settings.negative,
        sample=settings.subsample,
        epochs=settings.epochs,
        seed=SEED,
        workers=1,
    ).wv
    words = list(model.index_to_key)
    counts = np.array([model.get_vecattr(word, "count") for word in words], np.float64)
    return words, counts, model.vectors.astype(np.float64)


def finished(data: Path, settings: Settings) -> WordVectors:
    """The vectors as they are shipped: without their main components, lengths set, in half precision."""
    words, counts, matrix = trained(data, dataclasses.replace(settings, components=0, smoothing=0.0))
    if settings.components:
        matrix = matrix - matrix.mean(axis=0)
        _, _, axes = np.linalg.svd(matrix, full_matrices=False)
        main = axes[: settings.components]
        matrix = matrix - matrix @ main.T @ main
    if settings.smoothing:
        matrix = matrix * (settings.smoothing / (settings.smoothing + counts / counts.sum()))[:, None]
    return WordVectors.of(words, matrix.astype(np.float16), name=SHIPPED_VECTORS)


# --- similarity of two texts, as the embedding metrics have it (Liu et al. 2016)


def similarities(vectors: WordVectors, tokens: pl.Series, pairs: NDArray[np.int64]) -> dict[str, Floats]:
    """Average, extrema and greedy of each pair of rows; NaN where a text has no known word. (pairs,)"""
    matrix = vectors.matrix.astype(np.float32)
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    rows = [found[found >= 0] for found in map(vectors.lookup, tokens.to_list())]
    pooled = np.full((2, len(rows), vectors.dims), np.nan)
    for text, known in enumerate(rows):
        if len(known):
            some = matrix[known]
            largest, smallest = some.max(axis=0), some.min(axis=0)
            pooled[:, text] = some.mean(axis=0), np.where(largest >= -smallest, largest, smallest)
    greedy = np.full(len(pairs), np.nan)
    for number, (one, other) in enumerate(pairs):
        if len(rows[one]) and len(rows[other]):
            cosines = unit[rows[one]] @ unit[rows[other]].T
            greedy[number] = (cosines.max(axis=0).mean() + cosines.max(axis=1).mean()) / 2
    length = np.linalg.norm(pooled, axis=2)
    inner = (pooled[:, pairs[:, 0]] * pooled[:, pairs[:, 1]]).sum(axis=2)
    average, extrema = inner / (length[:, pairs[:, 0]] * length[:, pairs[:, 1]])
    return {"average": average, "extrema": extrema, "greedy": greedy}


# --- development: texts that belong together against texts that do not; no judged reply is looked at


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of texts, of which the first half belong together and the second half do not."""

    texts: pl.Series
    pairs: NDArray[np.int64]

    def areas(self, vectors: WordVectors) -> list[float]:
        """Of each metric, how often a pair that belongs together is the nearer of two (area under the ROC curve)."""
        half = len(self.pairs) // 2
        areas = []
        for values in similarities(vectors, tokenise(self.texts, "words", lowercase=True), self.pairs).values():
            ranks = rankdata(np.where(np.isnan(values), -np.inf, values))
            areas.append((ranks[:half].mean() - (half + 1) / 2) / half)
        return areas


def matching(texts: pl.Series, true: NDArray[np.int64]) -> Matching:
    """The true pairs, and as many in which each first text meets another pair's second."""
    shift = int(np.random.default_rng(SEED).integers(1, len(true)))
    return Matching(texts, np.concatenate([true, np.stack([true[:, 0], np.roll(true[:, 1], shift)], axis=1)]))


def development(data: Path) -> dict[str, Matching]:
    """Two human replies to one context (DailyDialog++), and an utterance with the next one."""
    dialogues = data / "dialogues"
    replies = read_rows(dialogues / "dailydialogpp_positives.all.jsonl.gz")["references"]
    two = replies.filter(replies.list.len() >= 2).list.head(2).explode()
    names = ("dailydialog.valid", "empatheticdialogues.valid")
    turns = pl.concat([read_rows(dialogues / f"{name}.jsonl.gz")["turns"] for name in names])
    adjacent = turns.filter(turns.list.len() >= 2).list.head(2).explode()
    return {
        "two replies": matching(two, np.arange(len(two)).reshape(-1, 2)),
        "next utterance": matching(adjacent, np.arange(len(adjacent)).reshape(-1, 2)),
    }


def select(data: Path, glove: Path | None) -> None:
    """Prints how each of the tried settings does on development text."""
    tasks = development(data)
    if glove:
        print_areas(str(glove.stem), load_vectors(glove), tasks)
    for settings in TRIED:
        changed = {
            name: value for name, value in dataclasses.asdict(settings).items() if value != getattr(CHOSEN, name)
        }
        print_areas(", ".join(f"{k} {v}" for k, v in changed.items()) or "chosen", finished(data, settings), tasks)


def print_areas(label: str, vectors: WordVectors, tasks: dict[str, Matching]) -> None:
    """A line of a Markdown table: the areas of each metric on each task, and their mean."""
    cells = [label]
    for task in tasks.values():
        areas = task.areas(vectors)
        cells += [f"{area:.3f}" for area in areas] + [f"{np.mean(areas):.4f}"]
    print("| " + " | ".join(cells) + " |", flush=True)


# --- judged replies: looked at once, for the card


def judged(data: Path, name: str, dimension: str, most: int) -> pl.DataFrame:
    """Judged replies with the mean rating; a sample where there are more than `most`."""
    rows = read_rows(data / "judged" / f"{name}.jsonl.gz")
    human = pl.col("scores").struct.field(dimension).list.mean().alias("human")
    context = pl.col("context").list.join("\n").alias("context")
    kept = rows.select("response", "references", human, context).drop_nulls("human")
    return kept.sample(most, seed=SEED) if len(kept) > most else kept


def best_over_references(vectors: WordVectors, replies: pl.DataFrame, split: bool) -> dict[str, Floats]:
    """Of each metric, the similarity to the nearest reference. (replies,)"""
    owners = replies.select(pl.int_range(pl.len()).alias("reply"), "references").explode("references").drop_nulls()
    texts = pl.concat([replies["response"], owners["references"].rename("response")])
    tokens = treebank(texts) if split else tokenise(texts, "words", lowercase=True)
    reply = owners["reply"].to_numpy()
    pairs = np.stack([reply, len(replies) + np.arange(len(owners))], axis=1)
    best = {}
    for metric, values in similarities(vectors, tokens, pairs).items():
        best[metric] = np.full(len(replies), np.nan)
        np.fmax.at(best[metric], reply, values)
    return best


def correlation(scores: Floats, human: Floats, groups: NDArray[np.int64], resamples: int = 1000) -> str:
    """Pearson and Spearman, each with a 95 % interval from resampling whole contexts."""
    known = ~np.isnan(scores)
    scores, human, groups = scores[known], human[known], groups[known]
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(resamples):
        rows = np.concatenate([members[group] for group in rng.integers(0, len(members), len(members))])
        drawn.append((pearsonr(scores[rows], human[rows])[0], spearmanr(scores[rows], human[rows])[0]))
    low, high = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    point = (pearsonr(scores, human)[0], spearmanr(scores, human)[0])
    return " / ".join(f"{point[k]:.3f} [{low[k]:.3f}, {high[k]:.3f}]" for k in range(2))


def print_correlations(sets: dict[str, tuple[WordVectors, bool]], data: Path) -> None:
    """A Markdown table: how each metric goes with people, under each set of vectors."""
    for name, dimension in (("gupta2019_dailydialog", "appropriateness"), ("humod", "relevance")):
        replies = judged(data, name, dimension, most=2000)
        human = replies["human"].to_numpy()
        groups = replies["context"].rank("dense").cast(pl.Int64).to_numpy()
        for label, (vectors, split) in sets.items():
            for metric, scores in best_over_references(vectors, replies, split).items():
                unscored = int(np.isnan(scores).sum())
                cells = (name, metric, label, correlation(scores, human, groups), str(unscored))
                print("| " + " | ".join(cells) + " |", flush=True)


def print_coverage(sets: dict[str, tuple[WordVectors, bool]], data: Path) -> None:
    """A Markdown table: the share of running words, and of different words, that each set knows."""
    for path in sorted((data / "judged").glob("*.jsonl.gz")):
        rows = read_rows(path)
        if "response" not in rows.columns:
            continue
        columns = [rows["response"]]
        if rows.schema.get("references") == pl.List(pl.String):
            columns.append(rows["references"].explode().drop_nulls().rename("response"))
        texts = pl.concat(columns)
        if not (texts != "").any():  # judged dialogues have no reply of their own
            continue
        cells = [path.name.removesuffix(".jsonl.gz")]
        for vectors, split in sets.values():
            tokens = treebank(texts) if split else tokenise(texts, "words", lowercase=True)
            counted = tokens.explode().drop_nulls().value_counts()
            word, count = counted.get_columns()
            known = vectors.lookup(word.to_list()) >= 0
            running = np.average(known, weights=count.to_numpy())
            cells.append(f"{100 * running:.1f} / {100 * known.mean():.1f}")
        print("| " + " | ".join(cells) + " |", flush=True)


def print_neighbours(vectors: WordVectors, words: Sequence[str], count: int = 6) -> None:
    """A Markdown table: the nearest words of some words, by cosine."""
    matrix = vectors.matrix.astype(np.float32)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    for word, row in zip(words, vectors.lookup(words), strict=True):
        nearest = np.argsort(-(unit @ unit[row]))[1 : count + 1]
        print(f"| {word} | {', '.join(vectors.words[i] for i in nearest)} |")


def measure(data: Path, glove: Path | None) -> None:
    """Prints the card's figures."""
    ours = load_vectors()
    print(f"{len(ours)} words, digest {ours.digest}")
    sets = {"ours": (ours, False)}
    if glove:
        other = load_vectors(glove)
        sets |= {glove.stem: (other, False), f"{glove.stem}, contractions split": (other, True)}
    print_neighbours(ours, "dog movie happy doctor don't n't yes football tomorrow pizza".split())
    print_coverage(sets, data)
    print_correlations(sets, data)


def train(data: Path) -> None:
    """Writes the set that comes with the package."""
    vectors = finished(data, CHOSEN)
    np.save(RESOURCES / f"{SHIPPED_VECTORS}.npy", vectors.matrix, allow_pickle=False)
    (RESOURCES / f"{SHIPPED_VECTORS}.txt").write_bytes(vectors.vocabulary)
    print(f"{len(vectors)} words, digest {vectors.digest}")


def main() -> None:
    """Runs one of the three commands."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["train", "select", "measure"])
    parser.add_argument("data", type=Path)
    parser.add_argument("--glove", type=Path, help="a vector file to measure beside ours")
    arguments = parser.parse_args()
    if arguments.command == "train":
        train(arguments.data)
    else:
        {"select": select, "measure": measure}[arguments.command](arguments.data, arguments.glove)


if __name__ == "__main__":
    main()
