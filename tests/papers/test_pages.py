"""The pages of docs/results and the code that makes them agree, as far as that can be told without making them."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import papers
from papers.__main__ import main
from papers.conclusions import CONCLUSIONS
from papers.documents import Document
from papers.making import PROGRAM
from papers.pages import PAGES, find_page
from papers.papers import add_conclusions
from papers.published import PAPERS, Paper, State
from places import DOCS
from rejoinder.errors import CallError, UnknownNameError

RESULTS = DOCS / "results"
COLLECTED = {
    "default-blend",
    "faults",
    "known-truths",
    "language-identification",
    "llm-judge",
    "mutation-testing",
    "reliability",
    "simulated-crowd",
}
"""Pages that collect the output of several commands, each of which they name."""
TRAIN_ALONE = {"torch", "transformers", "sklearn", "gensim"}


def page(name: str) -> str:
    return (RESULTS / f"{name}.md").read_text(encoding="utf-8")


def texts_of(module: object) -> list[str]:
    """The paragraphs of a page's module that do not depend on the data."""
    written = [text for name, text in vars(module).items() if name.endswith("_TEXT") or name == "INTRODUCTION"]
    return [part.strip() for text in written for part in re.split(r"\{[^}]*\}|\n\n", text)]


def test_every_page_is_there_and_no_other() -> None:
    assert {path.stem for path in RESULTS.glob("*.md")} == set(PAGES) | COLLECTED


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_the_command_that_made_it(name: str) -> None:
    (made,) = re.findall(r"^Made by `(.*)`\.$", page(name), re.MULTILINE)
    assert made.startswith(f"{PROGRAM} {name} ")
    assert page(name).rstrip().endswith(f"{made}`.")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_text_that_the_code_writes(name: str) -> None:
    found = texts_of(PAGES[name].load())
    assert found
    optional = "SmolLM2 (135M) was pretrained elsewhere"
    missing = [text for text in found if text not in page(name) and not text.startswith(optional)]
    assert not missing


@pytest.mark.parametrize("name", sorted(set(PAGES) - {"papers"}))
def test_a_page_ends_with_the_conclusions_about_it(name: str) -> None:
    expected = Document(name)
    add_conclusions(expected, name)
    assert page(name).rpartition("\n\nMade by")[0].endswith("\n\n".join(expected.blocks))


@pytest.mark.parametrize("name", PAGES)
def test_figures_and_links_of_a_page_exist(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page(name)):
        assert (RESULTS / target).exists(), target


def test_the_list_of_the_papers_is_up_to_date(tmp_path: Path) -> None:
    assert main(["papers", "-o", str(tmp_path / "papers.md")]) == 0
    assert (tmp_path / "papers.md").read_text(encoding="utf-8") == page("papers")


def test_a_table_leads_to_its_page_and_section() -> None:
    assert find_page("adem-table-5") == ("adem-figures", ("left_out",))
    assert find_page("zhao2020-table-3") == ("evaluator-studies", ("table_3",))
    assert find_page("adem-table-11") == ("adem-speed", ())
    assert find_page("dstc6") == ("dstc6", ())
    with pytest.raises(CallError, match=r"no page shows adem-table-10 \(data no longer public: "):
        find_page("adem-table-10")
    with pytest.raises(UnknownNameError, match="did you mean adem-table-"):
        find_page("adem-table-55")


def test_only_what_cannot_be_measured_has_no_page() -> None:
    without = {item.key(paper): item.state for paper in PAPERS for item in paper.items if not item.page}
    assert set(without.values()) <= {State.NOT_PUBLIC, State.NOTHING_MEASURED}
    assert [key for key, state in without.items() if state is State.NOT_PUBLIC] == ["adem-table-10"]


def test_every_table_leads_to_a_section_that_exists() -> None:
    for paper in PAPERS:
        for item in paper.items:
            assert not item.section or item.section in PAGES[item.page].load().SECTIONS, item.key(paper)


def test_every_paper_has_conclusions_with_their_pages() -> None:
    assert set(CONCLUSIONS) == {paper.key for paper in PAPERS}
    assert {each.page for found in CONCLUSIONS.values() for each in found} <= set(PAGES)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_a_conclusion_is_drawn_from_each_table_that_has_a_page(paper: Paper) -> None:
    measured = {item.number for item in paper.items if item.page}
    assert {number for each in CONCLUSIONS[paper.key] for number in each.items} == measured


def test_a_table_ends_with_its_own_conclusions() -> None:
    document = Document("made")
    add_conclusions(document, "adem-table-4")
    assert [block for block in document.blocks if block.startswith("## ")] == [
        "## What Lowe et al. 2017 conclude, and what holds here"
    ]
    [rows] = [block.splitlines()[2:] for block in document.blocks if block.startswith("| ")]
    assert len(rows) == 1
    assert rows[0].startswith("| over the means of systems it agrees with people almost perfectly")


def test_without_an_output_the_page_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["papers"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("# The papers' tables and figures\n")
    assert told.rstrip().endswith("Made by `python -m papers papers`.")
    assert not list(tmp_path.iterdir())


def test_the_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in PAGES)
    assert "none" not in told
    assert max(map(len, told.splitlines())) < 140
    assert "data no longer public: the judged Twitter replies of Liu et al. 2016" in " ".join(told.split())
    for name, below in {
        "adem-figure-6 +VHRED": "nothing measured: a diagram",
        r"adem-table-5 +one system left out of training \(page adem-figures\)": "on other data: zhao2020",
    }.items():
        assert re.search(rf"^  {name}\n +{below}", told, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no page was named"),
        (["dstc6", "-o", "p.md"], "no data folder was given"),
        (["dstc6", "--data", ".", "-o", "p.txt"], "cannot write .txt"),
        (["dstc6", "--data", ".", "-o", "p.md"], "expected judged/dstc6_t2.systems.json in the folder of --data"),
        (["dstc6", "--data", ".", "-o", "p.md", "--sections", "metoer"], "did you mean meteor?"),
        (["dstc6", "--data", ".", "-o", "p.md", "--set", "glov=x"], "did you mean glove?"),
        (["ruber-table-4", "--data", "."], "models-cache/minilm does not exist: save all-MiniLM-L6-v2 there"),
        (["adem-table-4", "--data", "."], "models-cache/minilm does not exist: save all-MiniLM-L6-v2 there"),
        (["metric-figures", "--data", ".", "--set", "resamples=0"], "setting resamples: expected at least 1, not 0"),
        (["metric-figures", "--data", ".", "--set", "sets="], "setting sets: expected at least one value"),
        (["adem-figures", "--data", ".", "-o", "p.md", "--set", "sets=humd"], "did you mean humod?"),
        (["ruber-figures", "--data", ".", "-o", "p.md", "--set", "encoders=gru"], "did you mean GRU?"),
        (
            ["ruber-figures", "--data", ".", "-o", "p.md", "--set", "encoders=GRU", "--set", "budget=smal"],
            "did you mean small?",
        ),
    ],
)
def test_a_wrong_call_is_one_line(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments]) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    names = [each.name for each in pkgutil.walk_packages(papers.__path__, "papers.") if ".train_" not in each.name]
    assert len(names) > 30
    code = f"import sys, {', '.join(names)}; print(*sorted({TRAIN_ALONE} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_command_starts_without_arrays() -> None:
    code = "import sys, papers.__main__, papers.published; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
