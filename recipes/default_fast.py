"""Trains `default-fast`, the evaluator that needs no neural encoder (docs/reference/default-fast.md).

    python recipes/default_fast.py words ENCODER -o words.txt         # a vector a word, by a sentence encoder
    python recipes/default_fast.py train ROWS... --vectors words.txt --dialogues FILE... -o FOLDER
    python recipes/default_fast.py measure FOLDER JUDGED...           # Spearman's correlation on judged sets

ROWS are JSON lines with `context`, `response` and a teacher's `score` from 1 to 5. Dialogues say which words follow
which. All text must be free for any use where the folder is to be given away. Needs the extra `train`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from rejoinder.data.dialogues import DialogueSource
from rejoinder.data.judged import JudgedSource
from rejoinder.evaluators.static.static import Static
from rejoinder.learning.data import labels
from rejoinder.registry import load
from rejoinder.text.vectors import SHIPPED, load_vectors
from rejoinder.types import Dialogue, Example, JudgedExample

DIMS = 128
DIALOGUES = 16_000
"""Dialogues at most: each turn of them costs 8 bytes of the folder, to tell later that it was trained on."""
MOST_JUDGED = 10_000


def words(arguments: argparse.Namespace) -> None:
    """Writes a vector for each word that the shipped vectors know, in GloVe's format."""
    from rejoinder.encoders.text_encoder import TextEncoder

    listed = load_vectors().words
    vectors = TextEncoder.start(arguments.encoder, max_length=16).encode(listed, quiet=False)
    with Path(arguments.output).open("w", encoding="utf-8") as lines:
        for word, vector in zip(listed, principal(vectors, DIMS), strict=True):
            lines.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")


def principal(vectors: NDArray[np.float32], dims: int) -> NDArray[np.float32]:
    """The vectors less their mean, in the directions in which they differ most. (words, dims)"""
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)  # by rising variance
    reduced: NDArray[np.float32] = centred @ directions[:, ::-1][:, :dims]
    return reduced


def train(arguments: argparse.Namespace) -> None:
    """Trains and saves."""
    judged = [row for path in arguments.rows for row in teacher_rows(Path(path))]
    spoken = sample([dialogue for path in arguments.dialogues for dialogue in DialogueSource(path)], DIALOGUES)
    print(f"{len(judged):,} replies with scores, {len(spoken):,} dialogues", flush=True)
    begun = time.process_time()
    student = Static(vectors=arguments.vectors, scale=(1.0, 5.0)).fit(spoken, judged, seed=arguments.seed)
    print(f"trained in {time.process_time() - begun:.0f} s of one core", flush=True)
    student.save(arguments.output)
    size = sum(path.stat().st_size for path in Path(arguments.output).iterdir())
    print(f"{arguments.output}: {size / 1e6:.1f} MB, {len(student.known_.levels[1]):,} pairs of words")


def teacher_rows(path: Path) -> Iterator[JudgedExample]:
    """Replies with the teacher's score; those to one context share its text."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            example = Example(f"{path.stem}-{number}", tuple(row["context"]), row["response"])
            yield JudgedExample(example, {"teacher": (float(row["score"]),)})


def sample(dialogues: Sequence[Dialogue], most: int) -> list[Dialogue]:
    """At most so many of the dialogues, always the same."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(dialogues))[:most])
    return [dialogues[place] for place in chosen.tolist()]


def measure(arguments: argparse.Namespace) -> None:
    """Prints a Markdown table of correlations."""
    student = load(arguments.folder)
    print("| set | dimension | replies | Spearman |\n|---|---|---|---|")
    for path in arguments.judged:
        judged = [item for item in JudgedSource(path).judged() if item.example.context]
        dimension = arguments.dimension or next(iter(judged[0].scores))
        examples, human = labels(judged, dimension)
        chosen = np.random.default_rng(0).permutation(len(examples))[:MOST_JUDGED]
        scores = student.score([examples[place] for place in chosen.tolist()])
        correlation = spearmanr(scores, human[chosen], nan_policy="omit").statistic
        print(
            f"| {Path(path).name.partition('.')[0]} | {dimension} | {len(chosen):,} | {correlation:.3f} |", flush=True
        )


def main() -> None:
    """Runs one of the three commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("words")
    making.add_argument("encoder", help="a Hugging Face name or a folder")
    making.add_argument("-o", "--output", required=True)
    making.set_defaults(run=words)
    training = commands.add_parser("train")
    training.add_argument("rows", nargs="+")
    training.add_argument("--vectors", default=SHIPPED)
    training.add_argument("--dialogues", nargs="*", default=[])
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("-o", "--output", required=True)
    training.set_defaults(run=train)
    measuring = commands.add_parser("measure")
    measuring.add_argument("folder")
    measuring.add_argument("judged", nargs="+")
    measuring.add_argument("--dimension", help="by default the first")
    measuring.set_defaults(run=measure)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
