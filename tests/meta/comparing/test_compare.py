"""Two systems or more, paired or not, with a verdict in words."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

import rejoinder
from rejoinder.comparing.compare import compare_table
from rejoinder.data.contexts import Grouping
from rejoinder.errors import CallError
from rejoinder.metrics.overlap import Length
from rejoinder.scoring.table import ScoreTable

if TYPE_CHECKING:
    from running import WriteLines

Records = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Shortness(Length):
    """Length, as a metric of which less is better."""

    name: ClassVar[str] = "shortness"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)
    higher_is_better: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Long(Length):
    """Length, as a metric of which more is better."""

    name: ClassVar[str] = "long"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)


def replies(lengths: list[int], first: int = 0, **more: Any) -> Records:
    def words(n: int, length: int) -> str:
        return "".join(f"word{n}{letter} " for letter in "abcdefghijklm"[:length])

    return [
        {"id": f"{first + n}", "context": [f"question {first + n}"], "response": words(first + n, length), **more}
        for n, length in enumerate(lengths)
    ]


SHORT, LONG = replies([3, 4, 5, 4, 3, 4, 5, 4, 3, 6]), replies([6, 8, 7, 9, 6, 7, 9, 8, 7, 9])


def test_paired_by_context() -> None:
    compared = rejoinder.compare(SHORT, list(reversed(LONG)), metrics="length")
    (verdict,) = compared.verdicts
    assert (verdict.a, verdict.b, verdict.result.paired) == ("A", "B", True)
    assert verdict.result.mean_a == pytest.approx(4.1)
    assert verdict.result.mean_b == pytest.approx(7.6)
    assert verdict.result.difference.estimate == pytest.approx(3.5)
    assert verdict.result.outcomes.wins == 1.0
    assert verdict.significant
    assert compared.notes == ()


def test_the_order_of_replies_does_not_change_a_paired_comparison() -> None:
    first = rejoinder.compare(SHORT, LONG, metrics="length").to_dict()
    second = rejoinder.compare(SHORT, list(reversed(LONG)), metrics="length").to_dict()
    assert first["comparisons"] == second["comparisons"]


def test_every_reply_counts_equally_as_in_score() -> None:
    twice = [*LONG, *({**reply, "id": f"{reply['id']}b", "response": "word"} for reply in LONG[:5])]
    compared = rejoinder.compare(SHORT, twice, metrics="length")
    (verdict,) = compared.verdicts
    assert verdict.result.n_a == verdict.result.n_b == 10
    assert verdict.result.mean_b == pytest.approx(rejoinder.score(twice, "length")["length"].mean())
    assert compared.table.summary()["length"]["B"].mean == pytest.approx(verdict.result.mean_b)


def test_unpaired_where_the_contexts_differ() -> None:
    compared = rejoinder.compare(SHORT, replies([6, 8, 7, 9, 6, 7, 9, 8], first=100), metrics="length")
    (verdict,) = compared.verdicts
    assert (verdict.result.paired, verdict.result.n_a, verdict.result.n_b) == (False, 10, 8)
    told = "A and B are compared unpaired, on all their replies: they answered different contexts"
    assert (compared.coverage, compared.notes) == ((told,), ())
    assert compared.sentences[1] == f"{told}."


def test_a_partial_overlap_is_said() -> None:
    compared = rejoinder.compare(SHORT, LONG[:6] + replies([5], first=50), metrics=["length", Shortness()])
    told = "5 of 17 replies are not compared: A and B are compared on the 6 contexts that both answered"
    assert (compared.coverage, compared.notes) == ((told,), ()), "once, not once per metric"
    assert compared.sentences[1] == f"{told}."
    assert {verdict.result.n_a for verdict in compared.verdicts} == {6}


def test_a_small_overlap_does_not_throw_the_other_replies_away() -> None:
    some = replies([6, 8, 7, 9, 6, 7, 9, 8, 7, 9], first=7)  # contexts 7, 8 and 9 are shared
    compared = rejoinder.compare(SHORT, some, metrics="length")
    (verdict,) = compared.verdicts
    assert (verdict.result.paired, verdict.result.n_a, verdict.result.n_b) == (False, 10, 10)
    assert verdict.result.n_groups == 20, "a context that both answered is a unit on each side"
    told = "A and B are compared unpaired, on all their replies: both answered only 3 contexts (A 10, B 10)"
    assert compared.coverage == (told,)
    half = rejoinder.compare(SHORT, replies([6, 8, 7, 9], first=8), metrics="length").verdicts[0]
    assert (half.result.paired, half.result.n_a) == (True, 2), "half of the smaller side's contexts is enough"


def overlapping(easy: int, **lengths: tuple[int, int]) -> Records:
    """Systems of given lengths on 40 contexts, the second number added on `easy` contexts that only it answered."""
    rng = np.random.default_rng(0)
    records: Records = []
    for place, (system, (length, extra)) in enumerate(lengths.items()):
        records += replies((length + rng.integers(0, 4, 40)).tolist(), system=system)
        if extra:
            records += replies([extra] * easy, first=1000 * (place + 1), system=system)
    return records


def test_the_ranking_does_not_contradict_the_verdicts() -> None:
    """A has the highest mean of all replies only because it also answered easy contexts; on shared ones it is worst."""
    compared = rejoinder.compare(overlapping(100, A=(5, 60), B=(10, 0), C=(20, 0)), metrics=[Long()])
    assert "long: B is better than A by" in compared.text(200, details=True)
    (ranked,) = compared.rankings
    assert [(place.system, place.cluster) for place in ranked.places] == [("C", 1), ("B", 2), ("A", 3)]
    assert ranked.places[2].mean == compared.verdicts[0].result.mean_a


def test_no_ranking_where_two_by_two_the_contexts_differ() -> None:
    records = overlapping(1, A=(5, 0), B=(10, 0)) + replies([7] * 30, first=500, system="C")
    compared = rejoinder.compare(records, metrics=[Long(), Shortness()])
    assert [verdict.result.paired for verdict in compared.verdicts[:3]] == [True, False, False]
    assert compared.rankings == ()
    assert compared.notes[-1].startswith("no ranking by long, shortness: the pairs of systems were compared on")
    few = overlapping(1, A=(5, 0), B=(10, 0)) + replies([7] * 10, system="C")  # C shares 10 of 40 contexts
    assert rejoinder.compare(few, metrics=[Long()]).rankings == ()


def test_no_ranking_against_a_significant_difference() -> None:
    """B is better than A over 40 contexts, but not over the 24 that C answered as well."""
    a, b, c = np.full(40, 20.0), np.where(np.arange(40) < 24, 19.0, 29.0), np.full(24, 5.0)
    system = np.repeat([0, 1, 2], [40, 40, 24]).astype(np.int32)
    scores = {"metric": np.concatenate([a, b, c])}
    contexts = np.concatenate([np.arange(40), np.arange(40), np.arange(24)])
    table = ScoreTable(
        scores, {"metric": "m"}, ("A", "B", "C"), system, grouping=Grouping(contexts, contexts), resamples=9
    )
    compared = compare_table(table)
    assert compared.verdicts[0].sentence().startswith("metric: B is better than A by 3.000")
    assert compared.rankings == ()
    assert compared.notes[-1].startswith("no ranking by metric: ")


def test_unpaired_systems_are_ranked_by_all_their_replies() -> None:
    records = [r for n, s in enumerate("ABC") for r in replies([3 * n + 3, 3 * n + 4] * 9, first=100 * n, system=s)]
    (ranked,) = rejoinder.compare(records, metrics=[Long()]).rankings
    assert ranked.sentence() == "long: C (9.500) | B (6.500) | A (3.500)"


def test_a_system_without_scores_is_ranked_last() -> None:
    scores = np.concatenate([np.arange(20) % 5, np.arange(20) % 5 + 9, np.full(20, np.nan)])
    system = np.repeat([0, 1, 2], 20).astype(np.int32)
    pairs = Grouping(np.tile(np.arange(20), 3), np.tile(np.arange(20), 3))
    table = ScoreTable({"metric": scores}, {"metric": "m"}, ("A", "B", "C"), system, grouping=pairs, resamples=9)
    (ranked,) = compare_table(table).rankings
    assert [(place.system, place.cluster) for place in ranked.places] == [("B", 1), ("A", 2), ("C", 0)]
    assert ranked.sentence() == "metric: B (11.000) | A (2.000) | C (-)"


def test_many_systems_can_still_differ_significantly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten comparisons and 99 permutations, as 528 and 9,999: no adjusted p-value below .1 without further ones."""
    monkeypatch.setattr("rejoinder.comparing.compare.FIRST_PERMUTATIONS", 99)
    lengths = {system: (5 + 30 * (system == "A"), 0) for system in "ABCDE"}
    compared = rejoinder.compare(overlapping(0, **lengths), metrics=[Long()], resamples=2)
    assert len(compared.verdicts) == 10
    assert compared.verdicts[0].p_adjusted < 0.01


def test_several_comparisons_are_said_to_be_corrected(demo: Path) -> None:
    told = rejoinder.compare(demo, metrics=["length"])
    assert "p (Holm)" in told.text(200, details=True)
    assert "Intervals are not corrected for the number of comparisons." in told.text(200, details=True)
    assert "$p$ (Holm)" in told.to_latex()
    two = rejoinder.compare(SHORT, LONG, metrics="length")
    assert "Holm" not in str(two) + two.to_latex()
    assert "Holm" in str(rejoinder.compare(SHORT, LONG, metrics=["length", "distinct-1"]))


def test_verdict_sentences() -> None:
    def sentence(a: Records, b: Records, metric: Any) -> str:
        return rejoinder.compare(a, b, metrics=metric).verdicts[0].sentence()

    assert sentence(SHORT, LONG, "length").startswith("length: B is higher than A by 3.500 [")
    assert sentence(LONG, SHORT, "length").startswith("length: A is higher than B by 3.500 [")
    assert sentence(SHORT, LONG, Shortness()).startswith("shortness: A is better than B by 3.500 [")
    assert sentence(LONG, SHORT, Shortness()).endswith("(p = 0.002, a large effect).")
    alike = sentence(SHORT, replies([3, 5, 5, 4, 3, 3, 5, 4, 4, 6]), Shortness())
    assert alike.startswith("shortness: no significant difference between A and B (0.100 [")
    assert "; if the observed difference is the true one, about " in alike
    assert alike.endswith(" more contexts would detect it with 80% power.")
    unpaired = sentence(SHORT, replies([3, 5, 5, 4, 3, 3, 5, 4, 4, 6], first=50), Shortness())
    assert unpaired.endswith(" more replies per system would detect it with 80% power.")
    assert sentence(SHORT, SHORT, "length") == "length: A and B have identical scores."
    few = sentence(SHORT[:5], LONG[:5], Long())
    assert few.startswith(
        "long: 5 contexts are too few to show any difference between A and B (observed: B is ahead by 3.400"
    )
    assert few.endswith("); at least 6 contexts are needed.")
    assert sentence(SHORT[:6], LONG[:6], Long()).startswith("long: B is better than A by 3.333 [")
    constant = replies([9, 10, 11, 10, 9, 10, 11, 10, 9, 12])
    assert sentence(SHORT, constant, Long()).endswith("by 6.000 [6.000, 6.000] (p = 0.002, a large effect).")
    assert sentence(SHORT[:1], LONG[:1], "length") == "length: too few scored replies to compare A and B."


def test_what_cannot_be_told_is_a_dash() -> None:
    compared = rejoinder.compare(SHORT[:1], LONG[:1], metrics="length")
    assert "nan" not in str(compared)
    assert str(compared).splitlines()[0] == "Too few scored replies to compare A and B on length."
    assert str(compared).splitlines()[7].split() == ["length", "3.000", "6.000", "+3.000", "-", "1"]
    assert json.dumps(compared.to_dict(), allow_nan=False)


def test_the_table_as_text() -> None:
    lines = rejoinder.compare(SHORT, LONG, metrics=[Long()]).text(200).splitlines()
    assert lines[0].startswith("B is better than A by 3.500 [")
    assert lines[0].endswith("] on long (p = 0.002, a large effect).")
    means = "Means on a scale from 0 to 100: A 4.100, B 7.600, over 10 contexts; "
    shares = "A is better in 0% of them, B in 100%, and 0% are tied."
    assert lines[2].startswith(f"{means}{shares} A difference above 0.")
    assert lines[4].split() == ["metric", "A", "B", "difference", "[95", "%]", "p", "n"]
    assert lines[6].split()[:3] == ["long", "4.100", "7.600*"]
    assert lines[6].split()[-2:] == ["0.002", "10"]


def test_as_plain_values() -> None:
    told = rejoinder.compare(SHORT, LONG, metrics="length", seed=4).to_dict()
    assert (told["seed"], told["examples"], told["warnings"], told["skipped"]) == (4, 20, [], [])
    assert set(told["summary"]["length"]) == {"A", "B"}
    (verdict,) = told["comparisons"]
    expected = {"metric": "length", "a": "A", "b": "B", "n": 10, "paired": True, "significant": True, "win_rate": 1.0}
    expected |= {"better": None, "outcome": "higher"}
    assert expected.items() <= verdict.items()
    assert verdict["low"] < verdict["difference"] < verdict["high"]
    assert verdict["verdict"].startswith("length: B is higher")
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_as_latex() -> None:
    names = {"a": "my_bot 100%", "b": "<b> & {c}"}
    records = replies([3, 4, 5], system=names["a"]) + replies([9, 9, 9], system=names["b"])
    table = rejoinder.compare(records, metrics="length").to_latex()
    # Three contexts are too few for an interval.
    assert r"length & my\_bot 100\% & $<$b$>$ \& \{c\} & 4.000 & 9.000 & +5.000 & 0.250 & 3" in table
    assert table.startswith(r"\begin{tabular}{lllrrrrr}")
    assert table.endswith(r"\end{tabular}")
    bold = rejoinder.compare(SHORT, LONG, metrics="length").to_latex()
    assert r"\textbf{+3.500" in bold


def test_one_file_may_hold_all_systems(demo: Path) -> None:
    compared = rejoinder.compare(demo, metrics=["length"])
    assert [(verdict.a, verdict.b) for verdict in compared.verdicts] == [
        ("good", "generic"),
        ("good", "off-topic"),
        ("good", "garbled"),
        ("generic", "off-topic"),
        ("generic", "garbled"),
        ("off-topic", "garbled"),
    ]
    assert all(verdict.result.paired and verdict.result.n_a == 64 for verdict in compared.verdicts)


def test_several_comparisons_are_corrected_together(demo: Path) -> None:
    compared = rejoinder.compare(demo, metrics=["bleu-2"])
    raw = sorted(verdict.result.p_value for verdict in compared.verdicts)
    adjusted = sorted(verdict.p_adjusted for verdict in compared.verdicts)
    assert adjusted[0] == pytest.approx(6 * raw[0])  # Holm: the smallest of six counts six times
    assert adjusted[-1] == pytest.approx(raw[-1])


def test_defaults_run_where_no_metric_is_named() -> None:
    assert "length" in rejoinder.compare(SHORT, LONG).table.metrics
    with pytest.raises(CallError, match=r"^no metric is named: expected some, or None for the default set$"):
        rejoinder.compare(SHORT, LONG, metrics=[])


def test_pair_by_a_field_of_the_data(write_lines: WriteLines) -> None:
    a = write_lines(({**r, "context": [f"a{i}"], "turn": i} for i, r in enumerate(SHORT)), "a.jsonl")
    b = write_lines(({**r, "context": [f"b{i}"], "turn": i} for i, r in enumerate(LONG)), "b.jsonl")
    assert not rejoinder.compare(a, b, metrics="length").verdicts[0].result.paired
    for field in ("turn", "id"):
        (verdict,) = rejoinder.compare(a, b, metrics="length", pair_by=field).verdicts
        assert (verdict.a, verdict.b, verdict.result.paired, verdict.result.n_a) == ("a", "b", True, 10)


def test_pair_by_a_field_under_its_own_name() -> None:
    a, b = ([{"response": "x", "history": r["context"]} for r in records] for records in (SHORT, LONG))
    fields = {"context": "history"}
    (verdict,) = rejoinder.compare(a, b, metrics="length", fields=fields, pair_by="history").verdicts
    assert verdict.result.paired


def test_pair_by_what_is_not_there() -> None:
    with pytest.raises(CallError, match=r"^unknown field in <list>: 'turm'; known: context, id, response$"):
        rejoinder.compare(SHORT, LONG, metrics="length", pair_by="turm")
    some = [{**SHORT[0], "turn": 1}, SHORT[1]]
    with pytest.raises(CallError, match=r"^cannot pair by 'turn': example '1' of 'A' has none$"):
        rejoinder.compare(some, some, metrics="length", pair_by="turn")


def test_wrong_calls(demo: Path) -> None:
    with pytest.raises(CallError, match=r"^compare needs replies: expected two or more files, or one that holds"):
        rejoinder.compare()
    with pytest.raises(
        CallError, match=r"^compare needs at least two systems, found only 'A': expected one file per system, "
    ):
        rejoinder.compare(SHORT)
    with pytest.raises(CallError, match=r"^standard input can be read only once"):
        rejoinder.compare("-", "-")
    with pytest.raises(CallError, match=r"^two systems would have the same name"):
        rejoinder.compare([{"response": "x", "system": "B"}], [{"response": "y"}])
    with pytest.raises(rejoinder.NeedsError, match=r"^bleu needs references, but none of the 20 examples of <list>"):
        rejoinder.compare(SHORT, LONG, metrics="bleu")


def test_what_was_left_out_is_listed() -> None:
    bad: list[Any] = [*SHORT, {"id": "x"}]
    compared = rejoinder.compare(bad, [7, *LONG], metrics="length", on_error="skip")
    assert [line.partition(": ")[0] for line in compared.skipped] == ["<list>:11", "<list>:1"]
    assert compared.to_dict()["skipped"] == list(compared.skipped)


def test_the_same_seed_gives_the_same_numbers_in_every_process(demo: Path) -> None:
    script = f"import rejoinder; print(rejoinder.compare({str(demo)!r}, metrics=['length', 'distinct-1']))"
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
