"""One verdict first: the primary metric, secondary evidence, margins, dialogues, and how much fits on a screen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.comparing import compare
from rejoinder.comparing.compare import compare_table
from rejoinder.data.contexts import Grouping
from rejoinder.errors import CallError
from rejoinder.scoring.table import ScoreTable
from rejoinder.show.text import width
from rejoinder.stats.means import needed_examples

Records = list[dict[str, Any]]


def replies(texts: list[str], references: bool = False, context: bool = True, **more: Any) -> Records:
    found: Records = []
    for n, text in enumerate(texts):
        record: dict[str, Any] = {"id": f"{n}", "response": text, **more}
        if references:
            record["references"] = ["a b c d e f g h"]
        if context:
            record["context"] = [f"question {n}"]
        found.append(record)
    return found


GOOD = ["a b c d e f", "a b c d", "b c d e f g", "c d e f g h", "a b c d e", "d e f g h", "a b c", "e f g h"]
BAD = ["x a y z", "u v w b", "q r s t c", "k l m n", "o p a q", "r s b t", "u c v w", "x y z d"]


def table(columns: dict[str, Any], dialogues: int = 0, **more: Any) -> ScoreTable:
    """Scores (systems, contexts) by metric."""
    systems, contexts = next(iter(columns.values())).shape
    of = np.tile(np.arange(contexts), systems)
    clusters = of // (contexts // dialogues) if dialogues else of
    return ScoreTable(
        {label: values.reshape(-1) for label, values in columns.items()},
        more.pop("signatures", {label: label for label in columns}),
        tuple(f"s{place}" for place in range(systems)),
        np.repeat(np.arange(systems), contexts).astype(np.int32),
        grouping=Grouping(of, clusters, "dialogue" if dialogues else "context"),
        resamples=9,
        **more,
    )


def test_the_primary_metric() -> None:
    a, b = replies(BAD, references=True), replies(GOOD, references=True)
    both = ["rouge-l", "length"]
    assert rejoinder.compare(a, b, metrics=both).primary.metric == "rouge-l"
    chosen = rejoinder.compare(a, b, metrics=both, primary="length")
    assert (chosen.primary.metric, chosen.better) == ("length", None)
    assert "Primary metric: length, as chosen." in chosen.sentences
    with pytest.raises(CallError, match=r"^unknown primary metric 'lenght'; did you mean length\?$"):
        rejoinder.compare(a, b, metrics=both, primary="lenght")
    only = rejoinder.compare(a, b, metrics="rouge-l")
    assert only.sentences[0].startswith("B is better than A by ")
    assert "Primary" not in str(only)


def test_the_primary_metric_where_none_is_named() -> None:
    a, b = (replies(texts, references=True, context=False) for texts in (BAD, GOOD))
    compared = rejoinder.compare(a, b)
    assert compared.primary.metric == "bleu-2"
    assert "Primary metric: bleu-2, the first that these data allow." in compared.sentences
    assert any(note.startswith("left out default") for note in compared.table.notes)
    told = compared.to_dict()
    assert (told["primary"], told["decided_by"]) == ("bleu-2", "bleu-2")


def test_variants_of_one_metric_are_one_voice() -> None:
    a, b = replies(BAD, references=True), replies(GOOD, references=True)
    compared = rejoinder.compare(a, b, metrics=["distinct-1", "bleu-1", "bleu-2", "bleu-3", "rouge-l"])
    assert {voice.name: set(voice.winners) for voice in compared.voices} == {
        "bleu (3 variants)": {"B"},
        "rouge-l": {"B"},
    }
    assert any("B is better on bleu (3 variants) and rouge-l" in sentence for sentence in compared.sentences)
    (voice,) = rejoinder.compare(a, b, metrics=["bleu-1", "bleu-2", "rouge-l"]).voices
    assert voice.name == "rouge-l", "variants of the primary metric have none"


def test_secondary_metrics_are_corrected_together() -> None:
    rng = np.random.default_rng(0)
    columns = {f"m{n}": rng.normal(size=(2, 30)) for n in range(6)}
    columns["m0"][1] += 2
    compared = compare_table(table(columns), primary="m0")
    (first,) = compared.decisive_verdicts
    assert first.p_adjusted == first.result.p_value
    smallest = min(compared.secondary_verdicts, key=lambda verdict: verdict.result.p_value)
    assert smallest.p_adjusted == pytest.approx(min(1, 5 * smallest.result.p_value))
    assert smallest.level == pytest.approx(0.05 / 5)


def test_the_advice_uses_the_corrected_level() -> None:
    rng = np.random.default_rng(0)
    compared = compare_table(table({"m": rng.normal(size=(8, 12))}))
    verdict = compared.verdicts[0]
    assert verdict.outcome == "open"
    assert verdict.level == pytest.approx(0.05 / 28)
    assert verdict.needed == needed_examples(verdict.result.power_effect, alpha=0.05 / 28)
    assert f"about {verdict.needed - 12:,.0f} more contexts would detect it with 80% power" in verdict.sentence()
    too_few = compare_table(table({"m": rng.normal(size=(8, 10))})).verdicts[0]
    assert too_few.sentence().endswith("; at least 11 contexts are needed.")  # 2^-10 < .05 / 28 < 2^-9


def test_turns_of_a_dialogue_are_permuted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """No difference, 20 dialogues of 10 turns, 200 data sets: 5 % plus three standard errors; by turn it is 40 %."""
    monkeypatch.setattr(compare, "FIRST_PERMUTATIONS", 199)
    rng = np.random.default_rng(3)
    of = np.repeat(np.arange(20), 10)
    wrong = {20: 0, 0: 0}
    for _ in range(200):
        values = rng.normal(size=(2, 20))[:, of] + rng.normal(size=(2, 200))
        for dialogues in wrong:
            wrong[dialogues] += compare_table(table({"m": values}, dialogues)).better is not None
    assert wrong[20] <= 0.095 * 200
    assert wrong[0] > 0.2 * 200


def test_a_false_better_among_secondary_metrics_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No difference, 8 metrics, 200 data sets: 5 % plus three standard errors; without the correction 20 % and more."""
    monkeypatch.setattr(compare, "FIRST_PERMUTATIONS", 199)
    rng = np.random.default_rng(4)
    wrong, alone = 0, 0
    for _ in range(200):
        common = rng.normal(size=(2, 40))
        columns = {f"m{n}": 0.55 * common + 0.83 * rng.normal(size=(2, 40)) for n in range(8)}
        found = compare_table(table(columns)).secondary_verdicts
        wrong += any(verdict.better for verdict in found)
        alone += any(verdict.result.p_value < 0.05 for verdict in found)
    assert wrong <= 0.095 * 200
    assert alone > 0.15 * 200


def test_margins() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2, 60)) * 0.1

    def outcome(shift: float, margin: float | None, **more: Any) -> Any:
        return compare_table(table({"m": values + np.array([[0.0], [shift]])}, **more), margin=margin).verdicts[0]

    same = outcome(0.0, 0.1)
    assert (same.outcome, same.better) == ("equivalent", None)
    assert same.sentence().startswith("m: s0 and s1 are equivalent within 0.1 (s1 - s0: 90% interval [-0.0")
    assert same.to_dict()["margin"]["equivalent"] is True
    assert outcome(0.0, 0.02).outcome == "open"
    assert outcome(0.03, 0.03).no_worse == "s1"
    assert outcome(0.03, 0.03, higher_is_better={"m": False}).no_worse == "s0"
    better = outcome(0.05, 0.2)
    assert better.outcome == "better"
    assert better.sentence().endswith("; the difference is below the margin of 0.2.")
    assert outcome(-0.5, 0.1).sentence().startswith("m: s0 is better than s1 by ")
    with pytest.raises(CallError, match=r"^margin must be a number above 0, not 0$"):
        rejoinder.compare(replies(BAD), replies(GOOD), metrics="distinct-1", margin=0)


def test_a_margin_applies_to_the_primary_metric_only() -> None:
    rng = np.random.default_rng(1)
    compared = compare_table(table({"m": rng.normal(size=(2, 40)), "o": rng.normal(size=(2, 40))}), margin=3.0)
    assert [verdict.equivalence is not None for verdict in compared.verdicts] == [True, False]


def test_what_would_have_been_detected() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(2, 50))
    compared = compare_table(table({"m": values}))
    error = (values[1] - values[0]).std(ddof=1) / np.sqrt(50)
    assert compared.verdicts[0].detectable == pytest.approx((2.0096 + 0.8490) * error, rel=1e-3)  # t with 49 degrees
    assert f"A difference above {compared.verdicts[0].detectable:.3f} would have been detected with 80% power." in (
        compared.sentences
    )


@pytest.mark.slow
def test_21_systems_fit_on_a_screen() -> None:
    rng = np.random.default_rng(0)
    quality = np.linspace(0, 2, 21)[:, None]
    columns = {f"metric-{n}": rng.normal(size=(21, 10)) + quality for n in range(8)}
    found = table(columns)
    names = tuple(f"system-number-{n}" for n in range(21))
    found = ScoreTable(found.scores, found.signatures, names, found.system_of, grouping=found.grouping, resamples=9)
    text = compare_table(found, primary="metric-0").text(80)
    lines = text.splitlines()
    assert len(lines) <= 50
    assert max(map(width, lines)) <= 80
    assert all(name in text for name in names)


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_text_fits_the_terminal(columns: int) -> None:
    a, b = replies(BAD, references=True), replies(GOOD, references=True)
    compared = rejoinder.compare(a, b, metrics=["rouge-l", "bleu-2", "repetition(n=1)", "length"])
    for text in (compared.text(columns), compared.text(columns, details=True)):
        assert max(map(width, text.splitlines())) <= columns
    assert "↓ lower is better" in " ".join(compared.text(columns).split())


def test_an_empty_reply_is_the_worst_of_a_metric_of_which_less_is_better() -> None:
    with pytest.warns(rejoinder.ScoreWarning, match="1 reply is empty and scored the worst value of each metric"):
        scores = rejoinder.score(replies(["a b a b", ""]), ["repetition", "distinct-1"])
    assert scores["repetition"][1] == 1.0
    assert scores["distinct-1"][1] == 0.0
    compared = rejoinder.compare(replies([""] * 8), replies(GOOD), metrics="repetition")
    assert compared.better == "B"
    (verdict,) = compared.to_dict()["comparisons"]
    assert (verdict["better"], verdict["win_rate"], verdict["difference"]) == ("B", 1.0, -1.0)
    assert "0.000*" in str(compared)
