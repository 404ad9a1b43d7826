"""METEOR's speed beside its peers, and how often it gives what the original program gives.

    python benchmarks/meteor.py ../shared/data/judged/humod.jsonl.gz ... \\
        [--jar models-cache/meteor/meteor-1.5.jar] [--wordnet models-cache/wordnet] [--paraphrases <table>]

Speed is in pairs of one reply and one reference per second of processor time, on one core, over pairs of 4 to 12 words;
"first call" has to stem and look up every word, later calls use the cached results. The original's time includes the
start of Java. Equality is over all pairs, lower-cased and split at white space for both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.arrays import Ints, Ragged
from rejoinder.metrics.meteor.matching import MeteorParameters
from rejoinder.metrics.meteor.metric import corpus_statistics, reference_statistics, score_from_statistics
from rejoinder.metrics.meteor.paraphrase import ParaphraseTable
from rejoinder.show.text import grid
from rejoinder.text import words as stemming
from rejoinder.text import words as wordnet

Pair = tuple[list[str], list[str]]  # the words of a reply and of its reference
Encoded = tuple[list[str], Ragged, Ragged, Ints]
PARAMETERS = MeteorParameters()
FOR_SPEED, FOR_EQUALITY, FOR_NLTK = 20_000, 20_000, 2_000


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judged", nargs="+", type=Path)
    parser.add_argument("--jar", type=Path)
    parser.add_argument("--wordnet", type=Path, help="the database files, for NLTK")
    parser.add_argument("--paraphrases", type=Path)
    arguments = parser.parse_args()
    pairs = [pair for path in arguments.judged for pair in read_pairs(path)]
    table = ParaphraseTable.read(arguments.paraphrases) if arguments.paraphrases else None
    short = [pair for pair in pairs if 4 <= len(pair[0]) <= 12 and 4 <= len(pair[1]) <= 12]
    print_speed(sample(short, FOR_SPEED), arguments.jar, arguments.wordnet, table)
    if arguments.jar:
        print_equality(sample(pairs, FOR_EQUALITY), arguments.jar, table, arguments.paraphrases)


def read_pairs(path: Path) -> list[Pair]:
    """Each reply with each of its first three references."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [
        (record["response"].lower().split(), reference.lower().split())
        for record in records
        for reference in record["references"][:3]
    ]


def sample(pairs: list[Pair], size: int) -> list[Pair]:
    """A random sample of the pairs, always the same."""
    return random.Random(0).sample(pairs, min(size, len(pairs)))


def encoded(pairs: list[Pair]) -> Encoded:
    """The pairs encoded for the kernel."""
    codes: dict[str, int] = {}

    def rows(side: int) -> Ragged:
        return Ragged.of([[codes.setdefault(word, len(codes)) for word in pair[side]] for pair in pairs])

    replies, references = rows(0), rows(1)
    return list(codes), replies, references, np.arange(len(pairs))


def scores_of(
    words: list[str], replies: Ragged, references: Ragged, owner: Ints, table: ParaphraseTable | None = None
) -> NDArray[np.float64]:
    """Our score of each pair."""
    statistics = reference_statistics(words, replies, references, owner, PARAMETERS, table)
    return score_from_statistics(statistics, PARAMETERS)


def print_speed(pairs: list[Pair], jar: Path | None, database: Path | None, table: ParaphraseTable | None) -> None:
    """Pairs per second, ours and the peers'."""
    cases = encoded(pairs)
    words = np.mean([len(row) for pair in pairs for row in pair])
    print(f"{len(pairs)} pairs of {words:.1f} words, {len(cases[0])} distinct words\n")
    stemming.stem.cache_clear()
    wordnet.synsets.cache_clear()
    rates = {
        "rejoinder, first call": rate(len(pairs), lambda: scores_of(*cases)),
        "rejoinder": rate(len(pairs), lambda: scores_of(*cases)),
    }
    if table is not None:
        scores_of(*cases, table)
        rates["rejoinder, with paraphrases"] = rate(len(pairs), lambda: scores_of(*cases, table))
    if database is not None:
        rates["NLTK (another METEOR)"] = nltk_rate(pairs[:FOR_NLTK], database)
    if jar is not None:
        rates["METEOR 1.5"] = rate(len(pairs), lambda: original(pairs, jar, "-m", "exact stem synonym"))
    print(grid(("scorer", "pairs/s"), [(name, f"{value:,.0f}") for name, value in rates.items()]))


def rate(pairs: int, run: Callable[[], object]) -> float:
    """Pairs per second of processor time, that of child processes included."""
    before = time.process_time() + _children()
    run()
    return pairs / (time.process_time() + _children() - before)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def nltk_rate(pairs: list[Pair], database: Path) -> float:
    """Pairs per second of NLTK's METEOR, its WordNet loaded."""
    import nltk
    from nltk.corpus import wordnet as reader
    from nltk.translate.meteor_score import single_meteor_score

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(database, Path(folder, "corpora", "wordnet"))
        nltk.data.path.append(folder)  # NLTK reads from declared folders only
        single_meteor_score(["a"], ["b"], wordnet=reader)
        return rate(len(pairs), lambda: [single_meteor_score(reference, reply) for reply, reference in pairs])


def original(pairs: list[Pair], jar: Path, *options: str) -> tuple[NDArray[np.float64], float]:
    """What the original program prints: the score of each pair and that of the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("replies", "references")]
        for side, file in enumerate(files):
            Path(file).write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs), "utf-8")
        command = ["java", "-Dfile.encoding=UTF-8", "-XX:+UseSerialGC", "-Xmx3G", "-jar", str(jar), *files]
        run = subprocess.run([*command, "-l", "en", *options], capture_output=True, check=True)
    printed = run.stdout.decode("utf-8").splitlines()
    scores = [float(line.split("\t")[1]) for line in printed if line.startswith("Segment")]
    return np.array(scores), float(printed[-1].split()[-1])


def print_equality(pairs: list[Pair], jar: Path, table: ParaphraseTable | None, table_file: Path | None) -> None:
    """How often ours is the original's score."""
    cases = encoded(pairs)
    rows = []
    settings: list[tuple[str, ParaphraseTable | None, list[str]]] = [
        ("exact stem synonym", None, ["-m", "exact stem synonym"])
    ]
    # A table in our own format is taken to be the one that the original finds beside its jar.
    if table is not None and table_file is not None:
        settings.append(("with paraphrases", table, ["-a", str(table_file)] if table_file.suffix == ".gz" else []))
    for name, used, options in settings:
        theirs, their_corpus = original(pairs, jar, *options)
        statistics = reference_statistics(*cases, PARAMETERS, used)
        difference = abs(score_from_statistics(statistics, PARAMETERS) - theirs)
        within = [f"{(difference <= limit).mean():.4%}" for limit in (1e-12, 1e-3)]
        corpus = score_from_statistics(corpus_statistics(statistics)[np.newaxis], PARAMETERS)[0]
        rows.append((name, *within, f"{difference.max():.4f}", f"{corpus:.6f}", f"{their_corpus:.6f}"))
    header = ("modules", "equal", "within .001", "largest difference", "our corpus score", "theirs")
    print(f"\n{len(pairs)} pairs\n\n{grid(header, rows)}")


if __name__ == "__main__":
    main()
