"""The report is one closed file that says what it shows, how it was sampled, and what it leaves out."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from functools import partial
from html import unescape
from html.parser import HTMLParser

import pytest

from rejoinder._version import __version__
from rejoinder.errors import CallError
from rejoinder.scoring import page
from rejoinder.scoring.chosen_rows import rows_to_show
from rejoinder.scoring.replies_page import labelled_turns
from rejoinder.show.document import Section
from rejoinder.show.html import SCRIPTS, render_page
from rejoinder.show.markup import Html
from rejoinder.types import Example
from scored_replies import NAN, examples_for, hostile_table, random_table, render_report, table_of


class Page(HTMLParser):
    """Tags in order, and every address that an attribute could fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset")]


def words_of(report: str) -> str:
    """What a reader sees, without scripts and styles, each run of white space as one space."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", report, flags=re.DOTALL)
    return " ".join(unescape(re.sub("<[^>]+>", "", body)).split())


def data_of(report: str) -> dict[str, object]:
    found = re.search('<script type="application/json" id="replies-data">(.*?)</script>', report, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data


def test_the_same_input_gives_the_same_file() -> None:
    first, second = ((random_table(40), examples_for(random_table(40))) for _ in range(2))
    assert render_report(*first) == render_report(*second)


def test_the_file_is_closed() -> None:
    table = random_table(20)
    page = Page(render_report(table, examples_for(table)))
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert not {"img", "iframe", "object", "embed", "form", "base"} & set(page.tags)


def test_the_policy_names_our_scripts_and_nothing_else() -> None:
    table = random_table(20)
    report = render_report(table, examples_for(table))
    policy = unescape(re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', report)[1])  # type: ignore[index]
    scripts = re.findall(r"<script>(.*?)</script>", report, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert len(scripts) == len(SCRIPTS)
    assert policy.startswith("default-src 'none'; ")
    assert f"; script-src {allowed}; " in policy
    assert "http" not in policy


def test_header_tells_size_version_and_seed() -> None:
    table = dataclasses.replace(random_table(30), seed=7)
    words = words_of(render_report(table, examples_for(table), title="Nightly & more"))
    assert "Nightly & more" in words
    assert f"30 replies · 3 systems · 3 metrics · seed 7 · rejoinder {__version__}" in words
    assert "Which of the 3 systems is best?" in words
    assert "resamples, seed 7" in words


def test_without_texts_the_report_says_so() -> None:
    report = render_report(random_table(30), None)
    assert words_of(report).count("Texts are not shown") == 2
    assert "response" not in json.dumps(data_of(report)["rows"])
    assert "bubble" not in re.sub(r"<(script|style)\b.*?</\1>", "", report, flags=re.DOTALL)


def test_a_sample_is_called_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(120)
    monkeypatch.setattr(page, "rows_to_show", partial(rows_to_show, most=50))
    report = render_report(dataclasses.replace(table, seed=4), examples_for(table))
    assert "A random sample of 50 of 120 replies (seed 4)" in words_of(report)
    assert len(data_of(report)["rows"]) == 50  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_limit_of_the_table_is_5000() -> None:
    report = render_report(random_table(5003), None)
    assert "A random sample of 5,000 of 5,003 replies (seed 0)" in words_of(report)


def test_missing_scores_are_counted_and_embedded_as_null() -> None:
    table = table_of({"a": [0.5, NAN, NAN, 0.1], "b": [NAN] * 4}, ["x", "x", "y", "y"])
    report = render_report(table, examples_for(table))
    words = words_of(report)
    assert "2 replies could not be scored: x 1, y 1." in words
    assert "4 replies could not be scored: x 2, y 2." in words
    assert [row["scores"] for row in data_of(report)["rows"]] == [  # type: ignore[attr-defined]
        [0.5, None],
        [None, None],
        [None, None],
        [0.1, None],
    ]
    assert "nan" not in words.lower().split()


def test_the_corpus_score_is_shown_beside_the_mean() -> None:
    table = table_of({"bleu": [0.25, 0.75], "other": [0.25, 0.75]}, ["x", "x"])
    table = dataclasses.replace(table, corpus={"bleu": {"x": 0.123}, "other": {"x": 0.5}})
    words = words_of(render_report(table, None))
    assert "corpus" in words
    assert "0.123" in words


def test_only_a_significantly_better_mean_is_marked() -> None:
    rising = [number / 40 for number in range(10)]
    lower = [*rising, *(score + 0.5 for score in rising)]
    alike = [*rising, *(score + 0.01 for score in rising)]
    table = table_of({"perplexity": lower, "bleu": alike}, ["x"] * 10 + ["y"] * 10)
    report = render_report(table, None)
    comparison = report[report.index("The comparison</h2>") :].split("</section>")[0]
    assert re.findall('class="best">([^<]*)<', comparison) == ["0.113 [0.053, 0.167]"]
    assert "lower is better" in report


def test_a_single_system_has_nothing_to_compare() -> None:
    table = table_of({"bleu": [0.1, 0.3]}, ["", ""])
    words = words_of(render_report(table, examples_for(table)))
    assert "The mean bleu is 0.200" in words
    assert "There is only one system" in words
    assert "Disagreement needs at least two metrics that rank the replies." in words


def test_an_empty_table_makes_a_report() -> None:
    assert "0 replies." in words_of(render_report(table_of({"bleu": []}, []), {}))


def test_signatures_and_notes_are_shown() -> None:
    table = table_of({"bleu": [0.1]}, ["x"], notes=("Two replies are <empty>.",))
    words = words_of(render_report(table, None))
    assert "bleu|v:0" in words
    assert "Two replies are <empty>." in words


def test_a_section_body_that_nobody_escaped_is_refused() -> None:
    with pytest.raises(TypeError, match="must be Html"):
        render_page("t", [Section("Bad", ["<p>plain</p>"])])  # type: ignore[list-item]
    assert "<p>made</p>" in render_page("t", [Section("Good", [Html("<p>made</p>")])])


def test_texts_of_other_replies_are_refused() -> None:
    table = random_table(8)
    texts = examples_for(table)
    with pytest.raises(CallError, match="row 4 is 'id-3' in the scores and 'other' in the replies"):
        render_report(table, texts | {3: Example("other", (), "reply")})
    del texts[5]
    with pytest.raises(CallError, match="row 6 of the 8 scored replies is missing"):
        render_report(table, texts)


def test_a_table_without_metrics_is_refused() -> None:
    with pytest.raises(CallError, match="at least one metric"):
        render_report(table_of({}, ["x"]), None)


def test_hostile_texts_leave_no_element_behind() -> None:
    table, texts = hostile_table()
    report = render_report(table, texts, title="<img src=x onerror=window.hacked=1>")
    harmless = render_report(*(random_table(len(table)), examples_for(random_table(len(table)))), title="Plain")
    assert set(Page(report).tags) <= {*Page(harmless).tags, "optgroup"}  # replies of several lengths can be filtered
    report.encode("utf-8")
    assert "$title" in words_of(report)  # a placeholder of our template in a reply stays as it is


@pytest.mark.parametrize(
    ("speakers", "own"),
    [
        ((), [False, True, False]),
        (("u", "b", "u"), [False, True, False]),
        (("b", "u", "u"), [True, False, False]),
        (("u", "u", "u"), [False, False, False]),
        (("a", "b", "c"), [False, False, False]),
    ],
)
def test_own_turns_are_those_of_the_one_who_replies(speakers: tuple[str, ...], own: list[bool]) -> None:
    example = Example("1", ("one", "two", "three"), "reply", speakers=speakers)
    assert [turn.own for turn in labelled_turns(example)] == own


def test_older_turns_are_folded() -> None:
    table = table_of({"bleu": [0.1]}, ["x"])
    example = Example("id-0", tuple(f"turn {number}" for number in range(10)), "reply", system="x")
    report = render_report(table, {0: example})
    assert (
        report.index("7 earlier turns") < report.index("turn 0") < report.index("</details>") < report.index("turn 7")
    )
