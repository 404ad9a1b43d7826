"""One vocabulary: no name has two meanings, and no help text, message or page uses a word that another one replaced."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import rejoinder
from places import DOCS
from rejoinder.cli import VERBS, build_parser
from rejoinder.show.html import TERMS

SOURCE = Path(rejoinder.__file__).parent
MODULES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
GLOSSARY = (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8")

SAME_MEANING = {
    "ReplyMetric": "a metric as deepeval, evaluate or torchmetrics wants it; each inherits from that tool's class",
    "add_arguments": "the options of a verb that is not a function",
    "run": "runs a verb that is not a function",
    "main": "the entry point: of the package, and of the command line that it calls",
    "train": "the verb `train`",
}
"""Names that several modules define, with the one meaning that they have in all of them."""


# Names.


def where(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def defined(tree: ast.Module) -> Iterator[str]:
    """The public classes and types of a module, and its public functions."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign) and re.match("[A-Z][a-z]", ast.unparse(node.targets[0])):
            yield ast.unparse(node.targets[0])


def test_no_class_and_no_type_has_two_meanings() -> None:
    found = defaultdict(list)
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(where(path))
        for name in defined(tree):
            if name[0].isupper() and where(path) not in found[name]:
                found[name].append(where(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1 and name not in SAME_MEANING} == {}


def imported() -> dict[str, set[str]]:
    """Name -> the modules of ours from which others import it."""
    found = defaultdict(set)
    for tree in MODULES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rejoinder"):
                for alias in node.names:
                    found[alias.name].add(str(node.module))
    return found


def test_no_function_that_others_import_has_two_meanings() -> None:
    defining = defaultdict(set)
    for path, tree in MODULES.items():
        for name in defined(tree):
            if not name.startswith("_"):
                defining[name].add(where(path))
    shared = {name for name in imported() if len(defining[name]) > 1}
    assert {name: defining[name] for name in shared - SAME_MEANING.keys()} == {}


def test_no_name_that_others_import_comes_from_two_modules() -> None:
    """Constants, too; a module may have the name of a function that it is about."""
    constants = defaultdict(set)
    for path, tree in MODULES.items():
        module = ".".join(["rejoinder", *path.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
        for node in tree.body:
            names = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for name in names:
                if isinstance(name, ast.Name) and module in imported_from.get(name.id, ()):
                    constants[name.id].add(module)
    assert {name: modules for name, modules in constants.items() if len(modules) > 1} == {}


imported_from = imported()


def test_public_names_are_those_of_one_place() -> None:
    assert len(set(rejoinder.__all__)) == len(rejoinder.__all__)
    former = rejoinder._FORMER
    assert not former.keys() & set(rejoinder.__all__)
    assert {present for present, _ in former.values()} <= set(rejoinder.__all__)


# Words.


REPLACED = {
    r"human[- ]scores?\b": "rating",
    r"\bjudge?ments?\b": "rating, or preference",
    r"`meta\b(?!\.json|`\))": "trust",
    r"\brejoinder meta\b": "rejoinder trust",
    r"\bmeta[- ](?:evaluat|report|analys)\w*": "trust, or pooled",
    r"\bmeta data\b": "metadata",
    r"\b(?:learning stud|stud(?:y|ies) of (?:a )?(?:metric|evaluator|trained))\w*": "probe, or experiment",
    r"\binterrupted study\b": "interrupted experiment",
    r"\bgrids? of (?:cells|fits)\b": "experiment",
    r"\bheadlines?\b(?!\(\))": "verdict",
    r"\bthe findings?\b(?! that| of the paper)": "verdict, or sentences",
    r"\bthe recommendation\b": "verdict",
    r"\b(?:no|show|prints?|with) remarks?\b|\bremarks,": "notes",
    r"\b(?:not|is|are) settled\b|\bunsettled\b": "significant, or decided",
    r"\bannotators\b": "raters",
    r"\bmeta_evaluate|\bmeta_analyse|\bplan_precision|\bcompare_pairwise": "trust, trust, plan, prefer",
    r"\brejoinder distill\b|`distill\b": "distil",
    r"\b(?:a|score|summary) frames?\b": "data frame, or table",
    r"\bmodel(?:'s)? home\b|\bhome folder of (?:a|the) model\b": "folder",
    r"\b(?:metric|evaluator)s?'s? readings?\b": "score",
    r"\bentr(?:y|ies) of (?:a|the) (?:release|history)\b": "release",
}
"""A word in the sense in which another one replaced it, as a regular expression -> the word to use."""

EXAMPLES = (
    "the mean human score of a reply",
    "each judgement is one score",
    "`meta judged.jsonl` shows which metric agrees",
    "rejoinder meta judged.jsonl",
    "a meta-evaluation of five metrics",
    "scores and their meta data",
    "Studies of metrics look for errors",
    "resumes an interrupted study",
    "the grid of fits and tests",
    "the headline of the report",
    "Each table comes with the findings",
    "the interval after the recommendation",
    "show no remarks",
    "two pairs are not settled",
    "How far do the annotators agree?",
    "meta_evaluate(judged)",
    "rejoinder distill --teacher default",
    "a file, a frame or a list",
    "the model's home is opened",
    "the metric's reading",
    "an entry of the history",
)
"""One text for each pattern, which it finds."""

FINE = (
    "`scores.meta.json` names the score file",
    'such as `{"data": [...], "meta": {...}}`',
    "human ratings, and the score of a judge",
    "the paper's findings, reproduced or not",
    "it measures how well raters agree",
    "A file that could be read in two ways is refused, and the message contains an option that settles it",
    "a study in which people rate replies",
    "the entry point of a package; a baseline for --baseline",
    "a pandas data frame",
    "a random-effects model over judged sets",
    "the finding that both parts together are better",
)
"""Texts that contain such words in another sense."""


def replaced(text: str) -> list[str]:
    """What should be said otherwise."""
    return [f"{match[0]!r}: {word}" for pattern, word in REPLACED.items() for match in re.finditer(pattern, text, re.I)]


def test_each_pattern_finds_its_example() -> None:
    for (pattern, word), text in zip(REPLACED.items(), EXAMPLES, strict=True):
        assert re.search(pattern, text, re.I), (pattern, word)


@pytest.mark.parametrize("text", FINE)
def test_ordinary_words_are_not_found(text: str) -> None:
    assert replaced(text) == []


def helps() -> Iterator[tuple[str, str]]:
    """The help of each verb, and of what is below it."""
    parser = build_parser()
    yield "rejoinder", parser.format_help()
    from rejoinder.cli.train import overview

    yield "train", overview()
    for verb in VERBS:
        below = next(action for action in parser._actions if action.dest == "verb").choices[verb]  # type: ignore[index]
        yield verb, below.filled().format_help()


def test_the_help_uses_no_replaced_word() -> None:
    found = dict(helps())
    assert {verb: replaced(text) for verb, text in found.items() if replaced(text)} == {}
    assert len(found) > 20


PAGES = sorted(
    {*DOCS.glob("guide/*.md"), *DOCS.glob("reference/*.md"), DOCS / "index.md", DOCS.parent / "README.md"}
    | {
        DOCS.parent / "CONTRIBUTING.md",
        DOCS / "design" / "architecture.md",
        *SOURCE.rglob("*.md"),
        *SOURCE.rglob("*.html"),
    }
)
FORMER_NAMES = re.compile(r"^The names before 0\.2 .*?until 0\.3\.$", re.MULTILINE | re.DOTALL)
"""The paragraph that says how things were named."""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_pages_use_no_replaced_word(page: Path) -> None:
    text = FORMER_NAMES.sub("", page.read_text(encoding="utf-8"))
    if page.name == "CONTRIBUTING.md":
        text = re.sub(r"The folders of `tests/` have older names.*?`adapters`\.", "", text, flags=re.DOTALL)
    assert replaced(text) == []


@pytest.mark.parametrize("page", sorted(DOCS.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_use_no_replaced_word(page: Path) -> None:
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    assert replaced("\n".join("".join(cell["source"]) for cell in cells)) == []


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of each string with more than one word: messages and docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


@pytest.mark.parametrize("path", MODULES, ids=where)
def test_messages_and_docstrings_use_no_replaced_word(path: Path) -> None:
    found = [
        f"line {line}: {problem}"
        for line, text in texts(MODULES[path])
        if "before 0.2" not in text and "is now" not in text
        for problem in replaced(text)
    ]
    assert found == []


# The glossary.


def table(heading: str) -> dict[str, str]:
    """The rows of the first table after a heading."""
    part = GLOSSARY.partition(f"{heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (?!word|term|---)(.+?) \| (.+) \|$", part, re.MULTILINE))


def test_every_word_of_the_glossary_has_one_meaning_in_order() -> None:
    words = table("# Glossary")
    assert list(words) == sorted(words, key=str.lower)
    assert len(set(words.values())) == len(words)
    assert not words.keys() & TERMS.keys()
    assert replaced("\n".join(words.values())) == []


def test_the_terms_of_reports_are_in_the_glossary() -> None:
    assert table("## Terms of reports") == TERMS
