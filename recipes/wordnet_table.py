"""Makes resources/wordnet.npz and resources/WORDNET-LICENSE from the database files of WordNet 3.0.

    python recipes/wordnet_table.py <folder with index.noun, data.noun, noun.exc, ...> src/rejoinder/resources

The table holds what a synonym test of single words needs and nothing else: each word with its synsets, and each
irregular form with the synsets of its base words. Synsets are told apart by their offset alone, as METEOR does:
282 offsets stand for several synsets, of different parts of speech, which therefore count as one. Entries of several
words are left out, because no token has a space. The same files always give the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
LICENCE_LINES = 29  # each file begins with the licence, its lines numbered


def synsets_of_words(folder: Path) -> dict[str, set[int]]:
    """Word -> offsets of its synsets, all parts of speech together."""
    synsets: dict[str, set[int]] = {}
    for part in PARTS_OF_SPEECH:
        for line in (folder / f"index.{part}").read_text("ascii").splitlines()[LICENCE_LINES:]:
            # lemma pos synset_cnt p_cnt [pointers] sense_cnt tagsense_cnt offset ...; see wndb(5WN)
            fields = line.split()
            word, count = fields[0], int(fields[2])
            synsets.setdefault(word, set()).update(map(int, fields[-count:]))
    return synsets


def bases_of_irregular_forms(folder: Path) -> dict[str, set[str]]:
    """Irregular form -> its base words, all parts of speech together."""
    bases: dict[str, set[str]] = {}
    for part in PARTS_OF_SPEECH:
        for line in (folder / f"{part}.exc").read_text("ascii").splitlines():
            form, *words = line.split()
            bases.setdefault(form, set()).update(words)
    return bases


def lines_as_bytes(lines: list[str]) -> NDArray[np.uint8]:
    """One line a string, as an array that can be stored without pickle."""
    return np.frombuffer("\n".join(lines).encode("ascii"), np.uint8)


def table(folder: Path) -> dict[str, NDArray[np.uint8] | NDArray[np.int32]]:
    """The arrays of wordnet.npz; rejoinder.text.words tells what each means."""
    of_word = synsets_of_words(folder)
    of_form = {
        form: set().union(*(of_word.get(base, set()) for base in bases))
        for form, bases in bases_of_irregular_forms(folder).items()
    }
    code_of_offset = {offset: code for code, offset in enumerate(sorted(set().union(*of_word.values())))}

    def arrays(synsets: dict[str, set[int]], name: str) -> dict[str, NDArray[np.uint8] | NDArray[np.int32]]:
        single = sorted(word for word in synsets if "_" not in word)
        codes = [sorted(code_of_offset[offset] for offset in synsets[word]) for word in single]
        return {
            name: lines_as_bytes(single),
            f"{name}_synset_counts": np.array([len(row) for row in codes], np.uint8),
            f"{name}_synsets": np.array([code for row in codes for code in row], np.int32),
        }

    return arrays(of_word, "words") | arrays(of_form, "forms")


def licence(folder: Path) -> str:
    """The licence text that the database files begin with."""
    numbered = (folder / "data.noun").read_text("ascii").splitlines()[:LICENCE_LINES]
    return "\n".join(line.strip().partition(" ")[2] for line in numbered) + "\n"


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    np.savez(arguments.output / "wordnet.npz", **table(arguments.folder))  # type: ignore[arg-type]
    (arguments.output / "WORDNET-LICENSE").write_text(licence(arguments.folder), "ascii")


if __name__ == "__main__":
    main()
