"""The top of a report asks a question and answers it in the words of the result."""

from __future__ import annotations

import re
from html import unescape

from rejoinder.comparing.comparison import question_of
from rejoinder.show.document import VerdictText
from rejoinder.show.html import TERMS, blocks_html, glossary, with_tooltips


def plain(markup: str) -> str:
    return unescape(re.sub("<[^>]+>", "", markup))


def test_the_question_depends_on_the_number_of_systems() -> None:
    assert question_of(["old", "new"]) == "Which is better: old or new?"
    assert question_of("abc") == "Which of the 3 systems is best?"


def test_terms_are_explained_once_and_the_words_stay() -> None:
    sentences = ["No significant difference <b>.", "Nothing differs significantly with 80% power. Primary metric: p."]
    marked = with_tooltips(sentences)
    assert [plain(sentence) for sentence in marked] == sentences
    assert "".join(marked).count("<abbr") == 3
    assert "<b>" not in "".join(marked)


def test_every_term_is_in_the_glossary() -> None:
    words = plain(glossary())
    assert all(name in words and text in words for name, text in TERMS.items())


def test_an_endless_sentence_is_cut() -> None:
    assert len(plain("".join(blocks_html([VerdictText(["x" * 5000])])))) < 1000
