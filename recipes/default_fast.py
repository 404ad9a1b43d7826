"""Trains `default-fast`, the evaluator that needs no neural encoder (docs/reference/default-fast.md).

    python recipes/default_fast.py words ENCODER -o words.txt       # one vector per word, by a sentence encoder
    python recipes/default_fast.py train TEACHER --vectors words.txt --dialogues FILE... -o FOLDER

TEACHER is the folder of an evaluator, or `default`: its scores are learned, of replies that are made from the
dialogues. All text must be free for any use where the folder is to be given away. Needs the extra `train`. How well the
result agrees with people, `rejoinder trust` tells.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.dialogues import DialogueSource
from rejoinder.evaluators.base import Evaluator
from rejoinder.evaluators.encoder.replay import CANDIDATE_KINDS, candidates_of
from rejoinder.evaluators.static.static import Static
from rejoinder.learning.run import TrainingRun
from rejoinder.registry import load
from rejoinder.text.vectors import SHIPPED_VECTORS, load_vectors
from rejoinder.training.distil import distill_static
from rejoinder.types import Dialogue

DIMS = 128
MOST_DIALOGUES = 16_000
"""Each turn of them costs 8 bytes of the folder, to tell later that it was trained on."""


def words(arguments: argparse.Namespace) -> None:
    """Write a vector for each word that the shipped vectors have, in GloVe's format."""
    from rejoinder.models.text_encoder import TextEncoder

    listed = load_vectors().words
    vectors = TextEncoder.start(arguments.encoder, max_length=16).encode(listed, quiet=False)
    with Path(arguments.output).open("w", encoding="utf-8") as lines:
        for word, vector in zip(listed, principal(vectors, DIMS), strict=True):
            lines.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")


def principal(vectors: NDArray[np.float32], dims: int) -> NDArray[np.float32]:
    """The first principal components of the vectors. (words, dims)"""
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)  # by increasing variance
    reduced: NDArray[np.float32] = centred @ directions[:, ::-1][:, :dims]
    return reduced


def train(arguments: argparse.Namespace) -> None:
    """Train and save."""
    teacher = load(arguments.teacher)
    if isinstance(teacher, Evaluator):
        teacher = teacher.with_calibration(None)  # the scores of its own, which differ more than calibrated ones
    dialogues = sample([dialogue for path in arguments.dialogues for dialogue in DialogueSource(path)], MOST_DIALOGUES)
    candidates = candidates_of(dialogues, arguments.contexts, arguments.seed, (*CANDIDATE_KINDS, "garbled"))
    print(f"{len(dialogues):,} dialogues, {len(candidates):,} candidates", flush=True)
    begun = time.process_time()
    student = distill_static(
        Static(vectors=arguments.vectors),
        teacher,
        dialogues,
        candidates,
        seed=arguments.seed,
        run=TrainingRun(quiet=False),
        scores_file=Path(f"{arguments.output}.teacher.jsonl"),
    )
    student.save(arguments.output)
    size = sum(path.stat().st_size for path in Path(arguments.output).iterdir())
    print(f"{arguments.output}: {size / 1e6:.1f} MB, {time.process_time() - begun:.0f} s of processor time")


def sample(dialogues: Sequence[Dialogue], most: int) -> list[Dialogue]:
    """At most so many of the dialogues, always the same."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(dialogues))[:most])
    return [dialogues[place] for place in chosen.tolist()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("words")
    making.add_argument("encoder", help="a Hugging Face name or a folder")
    making.add_argument("-o", "--output", required=True)
    making.set_defaults(run=words)
    training = commands.add_parser("train")
    training.add_argument("teacher", help="folder of an evaluator, or a name")
    training.add_argument("--vectors", default=SHIPPED_VECTORS, help="default: the shipped word vectors")
    training.add_argument("--dialogues", nargs="+", required=True)
    training.add_argument("--contexts", type=int, default=2600, help="contexts that replies are made for")
    training.add_argument("--seed", type=int, default=0)
    training.add_argument("-o", "--output", required=True)
    training.set_defaults(run=train)
    given = parser.parse_args(arguments)
    given.run(given)


if __name__ == "__main__":
    main()
