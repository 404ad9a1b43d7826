"""Languages and repeated replies of a table, a verdict in spite of doubts, and what is never told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import rejoinder
from rejoinder.comparing.compare import compare_table
from rejoinder.data.contexts import Grouping
from rejoinder.errors import DataError
from rejoinder.metrics.batch import Batch
from rejoinder.scoring.check import check
from rejoinder.scoring.chosen_rows import rows_to_show
from rejoinder.scoring.reliability import Doubt, LanguageCounter, RepetitionCounter
from rejoinder.scoring.table import ScoreTable
from rejoinder.stats.means import Outcomes
from rejoinder.text.language import UNKNOWN_LANGUAGE, language, languages
from rejoinder.types import Example

FRENCH = "Je ne sais pas du tout ce que vous voulez dire."


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I don't know what you mean.", "en"),
        (FRENCH, "fr"),
        ("Das weiß ich leider auch nicht so genau.", "de"),
        ("はい", "ja"),
        ("네, 알겠습니다", "ko"),
        ("我不知道。", "zh"),
        ("", UNKNOWN_LANGUAGE),
        ("ok", UNKNOWN_LANGUAGE),
        ("42 :-)", UNKNOWN_LANGUAGE),
        ("\ud800", UNKNOWN_LANGUAGE),
        ("Gotcha.", UNKNOWN_LANGUAGE),
    ],
)
def test_the_language_of_a_text(text: str, code: str) -> None:
    assert language(text) == code


def test_only_the_beginning_of_a_text_is_read() -> None:
    assert languages(["I think so, too. " * 50 + FRENCH * 100]) == ["en"]


def replies(system: str, texts: list[str]) -> list[Example]:
    return [Example(f"{row}", (f"What about {row}?",), text, system=system) for row, text in enumerate(texts)]


def test_languages_are_counted_by_system_in_any_number_of_parts() -> None:
    examples = [*replies("a", [FRENCH, "I think so, too."]), *replies("b", [FRENCH, FRENCH])]
    first, second = LanguageCounter(("a", "b")), LanguageCounter(("a", "b"))
    first.add(Batch(examples[:3]), np.array([0, 0, 1]))
    second.add(Batch(examples[3:]), np.array([1]))
    first.merge(second.state())
    assert first.found() == {"a": {"en": 1, "fr": 1}, "b": {"fr": 2}}
    empty = LanguageCounter(("a",))
    empty.merge(empty.state())
    assert empty.found() == {}


QUIET = pytest.mark.filterwarnings("ignore::rejoinder.metrics.base.ScoreWarning")


@QUIET
def test_a_table_has_the_languages_where_a_metric_depends_on_them() -> None:
    examples = replies("a", [FRENCH, "I think so, too."])
    table = rejoinder.score(examples, ["default-fast"])
    assert table.languages == {"a": {"en": 1, "fr": 1}}
    assert table.to_dict()["languages"] == table.languages
    assert rejoinder.score(examples, ["length"]).languages == {}


def test_check_counts_languages_by_system() -> None:
    found = check([*replies("a", [FRENCH, "ok"]), *replies("b", ["I think so, too."])])
    assert found.languages == {"a": {"fr": 1, UNKNOWN_LANGUAGE: 1}, "b": {"en": 1}}
    assert "a: French 1, unknown 1; b: English 1" in str(found)


@QUIET
def test_one_reply_to_many_contexts_is_noted() -> None:
    said = ["I think so, too."] * 12 + [f"I like number {row}." for row in range(28)]
    table = rejoinder.score([*replies("a", said), *replies("b", [f"Yes, {row}." for row in range(40)])], ["length"])
    assert table.notes == ("one and the same reply of a is given to 12 of 40 contexts",)
    counter, other = RepetitionCounter(("",)), RepetitionCounter(("",))
    counter.add(Batch(replies("", said[:3])), np.zeros(3, np.int64))
    assert counter.notes() == []
    other.add(Batch(replies("", said)), np.zeros(40, np.int64))
    counter.merge(other.state())
    assert counter.notes() == ["one and the same reply is given to 12 of 40 contexts"]


@QUIET
def test_a_doubtful_metric_decides_where_that_is_allowed() -> None:
    rng, words = np.random.default_rng(0), ["go", "stay", "eat", "wait", "call"]
    lists = [f"You can:\n- {' '.join(rng.choice(words, 4))}\n- or not" for _ in range(20)]
    good = [f"That sounds really {word}, what are you going to do there?" for word in words * 4]
    examples = [*replies("a", lists), *replies("b", good)]
    refused = rejoinder.compare(examples, metrics=["default-fast"])
    assert not refused.decided
    assert refused.better is None
    decided = rejoinder.compare(examples, metrics=["default-fast"], allow_doubtful=True)
    assert decided.decided
    assert decided.decisive_verdicts[0].p_adjusted == refused.decisive_verdicts[0].p_adjusted
    [note] = [note for note in decided.notes if "in spite of a doubt" in note]
    assert note.startswith("decided in spite of a doubt: default-fast cannot judge 20 of 20 replies of a (")
    assert decided.table.doubts == refused.table.doubts
    with pytest.raises(rejoinder.RejoinderError, match="allow_doubtful"):
        rejoinder.compare(examples, metrics=["default-fast"], allow_doubtful="yes")  # type: ignore[arg-type]


def table(scores: dict[str, np.ndarray], **more: object) -> ScoreTable:
    """Two systems with the same contexts, the first half of each column and the second."""
    rows = len(next(iter(scores.values())))
    contexts = np.tile(np.arange(rows // 2), 2)
    return ScoreTable(
        scores=scores,
        signatures={label: f"{label}|v:0" for label in scores},
        system_names=("a", "b"),
        system_of=np.repeat(np.array([0, 1], np.int32), rows // 2),
        ranges=dict.fromkeys(scores, (0.0, 1.0)),
        grouping=Grouping(contexts, contexts),
        **more,  # type: ignore[arg-type]
    )


def test_rounded_copies_are_identical() -> None:
    a = np.random.default_rng(1).uniform(size=64)
    [verdict] = compare_table(table({"m": np.concatenate([a, np.round(a, 6)])})).verdicts
    assert verdict.outcome == "identical"
    assert verdict.outcomes == Outcomes(0.0, 1.0, 0.0)


def test_specificity_is_no_quality() -> None:
    a = np.random.default_rng(1).uniform(0, 0.5, size=30)
    [verdict] = compare_table(table({"specificity": np.concatenate([a, a + 0.4])})).verdicts
    assert verdict.outcome == "higher"
    assert verdict.better is None


def test_what_contradicts_the_labels_is_not_shown_first() -> None:
    scores = table({"m": np.array([0.9, 0.5, 0.2, 0.1, 0.4, 0.6])})
    assert rows_to_show(scores).contrasts[0] == (0, 3)
    labelled = replace(scores, labels=np.array([1.0, np.nan, 1.0, 5.0, np.nan, 5.0]))
    shown = rows_to_show(labelled).contrasts
    assert shown[-1] == (0, 3)
    assert len(shown) == 3


@QUIET
def test_doubts_count_what_does_not_apply() -> None:
    examples = [*replies("a", [FRENCH, "Do:\n- this\n- that", "I think so, too."])]
    assert rejoinder.score(examples, ["default-fast"]).doubts["default-fast"]["a"] == Doubt(
        3, 2, {"in another language than English": 1, "with lists, headings, tables or code": 1}, 1
    )


def test_a_field_that_may_hold_human_scores_is_named() -> None:
    rows = [{"id": "1", "response": "Hi.", "context": ["Hello."], "human": 3}]
    with pytest.raises(DataError, match="--field scores=human"):
        rejoinder.trust(rows, metrics=["length"])


GERMAN = ("Ja, gerne.", "Ja, bitte.", "Na klar!", "Kein Problem.", "Bis dann.", "Ach so.", "Na gut.", "Geht klar.")
SHORT = ("Me too.", "Oh, really?", "I see.", "Good idea!", "No way!", "Haha, yeah.", "I'm sorry.", "Why not?")
LONG_GERMAN = ("Das weiß ich leider auch nicht genau.", "Ich gehe morgen mit meiner Schwester ins Kino.")


def said(
    system: str, replies: Sequence[str], question: str = "What do you do at the weekend, my friend?"
) -> list[Example]:
    return [
        Example(str(n), (f"{question} {n}",), replies[n % len(replies)], system=system) for n in range(3 * len(replies))
    ]


def test_short_replies_of_a_system_are_told_together() -> None:
    assert {language(reply) for reply in GERMAN} == {"unknown"}, "none of them can be told alone"
    found = rejoinder.compare(said("old", SHORT), said("new", GERMAN), metrics="default-fast", resamples=20)
    assert found.table.languages == {"old": {"en": 24}, "new": {"de": 24}}
    first = found.sentences[0]
    assert first.startswith(
        "Not decided: default-fast cannot judge 24 of 24 replies of new (21 in German, not English, "
    )
    assert "24 of 24 replies of new are in German, although the users write English." in found.sentences
    doubt = found.table.doubts["default-fast"]["new"]
    assert (doubt.doubtful, doubt.inapplicable) == (24, 21)
    assert "old" not in found.table.doubts["default-fast"]
    same = rejoinder.compare(said("old", SHORT[:4]), said("new", SHORT[4:]), metrics="default-fast", resamples=20)
    assert same.decided


def test_few_short_replies_say_nothing_of_the_language() -> None:
    found = rejoinder.compare(said("old", SHORT[:2]), said("new", GERMAN[:2]), metrics="default-fast", resamples=20)
    assert found.table.languages["new"] == {"unknown": 6}


def test_replies_in_the_language_of_the_users_are_not_named() -> None:
    asked = {"question": "Was machst du am Wochenende mit deinen Freunden?"}
    found = rejoinder.compare(
        said("old", LONG_GERMAN[::-1], **asked), said("new", LONG_GERMAN, **asked), metrics="default-fast", resamples=20
    )
    assert not found.decided
    assert not found.coverage


def test_pools_do_not_depend_on_the_order() -> None:
    batches = [
        Batch(said("a", GERMAN[:4])),
        Batch(said("a", GERMAN[4:])),
        Batch(said("a", [f"Nr. {n}!" for n in range(80)])),
    ]
    states = []
    for order in ((0, 1, 2), (2, 1, 0)):
        whole = LanguageCounter(("a",))
        for place in order:
            part = LanguageCounter(("a",))
            part.add(batches[place], np.zeros(len(batches[place]), np.int64))
            whole.merge(part.state())
        states.append((whole.found(), {key: row for pool in whole.pools for key, row in pool.items()}))
    assert states[0] == states[1]


@pytest.mark.parametrize(
    "reply",
    [
        "<p>Sure!</p><ul><li>Milk</li><li>Eggs</li></ul>",
        "* Lasagne\n* Tiramisu\n* Risotto\n* Gnocchi",
        "1. Amélie\n2. La Haine\n3. Le Samouraï\n4. La Jetée",
        "| Ville | Pays |\n|---|---|\n| Paris | France |",
        "```sql\nselect nombre, apellido from clientes;\n```",
        "👍👍👍 🎉🎉 😘😘😘",
        "https://example.org/de/seite/hilfe-und-kontakt",
    ],
)
def test_markup_lists_and_emoji_are_no_language(reply: str) -> None:
    assert language(reply) == "unknown"


def test_the_language_of_what_is_marked_up_is_found() -> None:
    assert language(f"<p>{LONG_GERMAN[0]}</p>") == language(f"- {LONG_GERMAN[1]}\n- Ja") == "de"
    assert language("Das geht so 👍: `pip install x`. Danach ist alles gut.") == "de"


def test_replies_that_repeat_each_other_are_visible_everywhere() -> None:
    """Each of eight sentences is diverse in itself; a system that says nothing else is not."""
    eight = [
        f"I would {verb} the {noun} tomorrow." for verb in ("see", "buy", "sell", "paint") for noun in ("car", "cat")
    ]
    many = [f"I would see {n} boats and {7 * n} birds." for n in range(24)]
    one, other = said("eight", eight), said("many", many)[:24]
    compared = rejoinder.compare(one, other, metrics="distinct-2", resamples=20)
    whole = compared.table.diversity()["distinct-2"]
    means = compared.table.summary()["distinct-2"]
    assert means["eight"].mean == means["many"].mean == 1, "no mean shows it"
    assert whole["eight"] < 0.2 < whole["many"]
    row = next(line for line in compared.text(100).splitlines() if line.startswith("distinct-2 of all replies"))
    assert row.split()[4:] == [f"{whole['eight']:.3f}", f"{whole['many']:.3f}"]
    assert "distinct-2 of all replies" in compared.page()
    assert any(note.startswith("only 8 different replies of eight are given to 24 contexts") for note in compared.notes)
    assert not any("replies of many" in note for note in compared.notes)
    with pytest.warns(
        UserWarning, match="only 8 different replies of eight are given to 24 contexts, one of them to 3"
    ):
        table = rejoinder.score(one, metrics=["distinct-2"], resamples=20)
    assert f"distinct-2 of all replies  {whole['eight']:.3f}" in " ".join(table.text().split()).replace(
        "replies ", "replies  "
    )
    alone = rejoinder.compare(said("a", many)[:24], said("b", many[::-1])[:24], metrics="length", resamples=20)
    assert not alone.table.diversity()
