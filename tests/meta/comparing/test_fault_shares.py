"""Shares of faults in `compare`: exact tests, the words of the verdict, and the check of a candidate."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import rejoinder
from rejoinder.cli import main
from rejoinder.comparing.fault_shares import exact_swap_p, fault_limit
from rejoinder.errors import CallError, UnknownNameError

TOPICS = [
    f"{kind} {thing}" for kind in ("old", "new", "red", "fast") for thing in "cats boats songs maps cakes".split()
]


def replies(system: str, cut: int, **more: Any) -> list[dict[str, Any]]:
    """One reply to each of twenty contexts; the first ones break off."""
    return [
        {
            "id": f"{at}",
            "system": system,
            "context": [f"What do you think of {topic}, honestly?"],
            "response": f"I like {topic} and the" if at < cut else f"I like {topic} a lot, on Sundays above all.",
            **more,
        }
        for at, topic in enumerate(TOPICS)
    ]


def written(folder: Path, **cut: int) -> list[str]:
    files = []
    for name, count in cut.items():
        path = folder / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, replies(name, count))), encoding="utf-8")
        files.append(str(path))
    return files


@pytest.mark.parametrize(("worse", "better"), [(0, 3), (1, 7), (5, 5), (12, 2), (40, 60), (0, 0)])
def test_of_single_contexts_it_is_mcnemars_exact_test(worse: int, better: int) -> None:
    gains = np.array([1.0] * worse + [-1.0] * better + [0.0] * 9)
    expected = binomtest(worse, worse + better).pvalue if worse + better else 1.0
    assert exact_swap_p(gains) == pytest.approx(expected)


def test_whole_dialogues_are_swapped() -> None:
    gains = np.array([3.0, 2.0, -1.0, 2.0, 0.0])
    totals = [sum(sign * gain for sign, gain in zip(signs, gains, strict=True)) for signs in product((1, -1), repeat=5)]
    expected = np.mean([abs(total) >= abs(gains.sum()) for total in totals])
    assert exact_swap_p(gains) == pytest.approx(float(expected))


def test_the_verdict_names_the_fault_that_got_worse() -> None:
    found = rejoinder.compare(replies("v1", 0), replies("v2", 8), metrics=["distinct"])
    assert found.better is None
    assert found.sentences[1].startswith("More faults in v2: cut-off in 40 % [")
    assert "of its replies, v1 in 0 % [" in found.sentences[1]
    assert found.faults is not None
    (cut,) = [one for one in found.faults.differences if one.fault == "cut-off"]
    assert cut.p_value == pytest.approx(binomtest(8, 8).pvalue)
    assert (cut.more, cut.fewer) == ("v2", "v1")
    assert "Replies with faults" in found.text()
    told = found.to_dict()["faults"]
    assert told["shares"]["cut-off"]["v2"]["share"] == pytest.approx(0.4)
    json.dumps(told)


def test_what_does_not_differ_is_shown_with_details_only() -> None:
    found = rejoinder.compare(replies("v1", 2), replies("v2", 3), metrics=["distinct"])
    assert not any("More faults" in sentence for sentence in found.sentences)
    assert "cut-off" not in found.text()
    assert "cut-off" in found.text(details=True)


def test_faults_are_corrected_together() -> None:
    worse = replies("v2", 6)
    for row in worse[:6]:
        row["response"] = f"{{{{name}}}} {row['response']}"
    found = rejoinder.compare(replies("v1", 0), worse, metrics=["distinct"])
    assert found.faults is not None
    tested = {one.fault: one for one in found.faults.differences if not np.isnan(one.p_value)}
    assert tested.keys() == {"cut-off", "markup"}
    assert {round(one.p_adjusted / one.p_value, 6) for one in tested.values()} == {2.0}


def test_unpaired_systems_and_several_systems() -> None:
    others = [{**row, "context": [f"Another {row['context'][0]}"]} for row in replies("v2", 12)]
    unpaired = rejoinder.compare(replies("v1", 0), others, metrics=["distinct"])
    assert any("More faults in v2: cut-off" in sentence for sentence in unpaired.sentences)
    three = rejoinder.compare(replies("v1", 0), replies("v2", 12), replies("v3", 0), metrics=["distinct"])
    assert "More faults in v2: cut-off, compared with 2 systems." in three.sentences


def test_systems_that_reply_several_times_to_a_context() -> None:
    twice = [*replies("v2", 9), *({**row, "id": f"again {row['id']}"} for row in replies("v2", 9))]
    found = rejoinder.compare(replies("v1", 0), twice, metrics=["distinct"])
    assert any("More faults in v2: cut-off" in sentence for sentence in found.sentences)


def test_a_check_fails_passes_or_is_not_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, v1=0, v2=8)
    asked = ["compare", *files, "-m", "distinct", "--json", "--quiet"]
    assert main([*asked, "--fail-if-more", "cut-off"]) == 3
    out, err = capsys.readouterr()
    assert "cut-off: significantly more often in v2" in err
    assert json.loads(out)["fault_checks"][0]["passed"] is False
    assert main([*asked, "--fail-if-more", "loop"]) == 0
    assert main([*asked, "--fail-if-more", "cut-off:70"]) == 0
    assert main([*asked, "--fail-if-more", "cut-off:10"]) == 3
    assert main([*asked, "--fail-if-more", "repeats-itself"]) == 4
    assert main([*asked, "--fail-if-more", "cut-offs"]) == 2
    assert main([*asked, "--fail-if-more", "cut-off:x"]) == 2


def test_without_texts_a_fault_cannot_be_judged(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    table.write_text("id,system,up\n" + "\n".join(f"{at},{name},{at % 2}" for at in range(9) for name in "ab"))
    assert main(["compare", "--scores", str(table), "--fail-if-more", "loop", "--quiet"]) == 4


def test_margins_are_read() -> None:
    assert fault_limit("cut-off") == ("cut-off", None)
    assert fault_limit("cut-off:2.5") == ("cut-off", 2.5)
    for wrong in ("cut-off:", "cut-off:0", "cut-off:nan", "cut-off:101"):
        with pytest.raises(CallError, match="points above 0"):
            fault_limit(wrong)
    found = rejoinder.compare(replies("v1", 0), replies("v2", 0), metrics=["distinct"])
    with pytest.raises(UnknownNameError, match="empty"):
        found.check_faults("emptyy")


def test_of_turns_of_one_dialogue_the_swaps_are_those_of_dialogues() -> None:
    first, second = (replies(name, cut) for name, cut in (("v1", 0), ("v2", 8)))
    for rows in (first, second):
        for at, row in enumerate(rows):
            row["dialogue_id"] = f"d{at // 4}"
    found = rejoinder.compare(first, second, metrics=["distinct"])
    assert found.faults is not None
    (cut,) = [one for one in found.faults.differences if one.fault == "cut-off"]
    assert cut.p_value == pytest.approx(0.5)  # all eight are in two dialogues
    assert cut.more is None


MADE: dict[str, Callable[[str], str]] = {
    "canned": lambda _: "Thank you, we will get back to you soon.",
    "other-language": lambda topic: f"Ich mag {topic} wirklich sehr gern, am liebsten am Sonntag.",
    "markup": lambda topic: json.dumps({"reply": f"I like {topic} a lot.", "end": False}),
    "cut-off": lambda topic: f"I like {topic} a lot, because they are the",
    "empty": lambda _: "",
    "speaks-for-user": lambda topic: f"I like {topic}.\nUser: Me too, why do you ask?",
}


@pytest.mark.parametrize("fault", MADE)
def test_the_first_lines_name_what_every_reply_has(fault: str) -> None:
    """One reply to every context, German, raw JSON, half sentences, ..."""
    worse = [{**row, "response": MADE[fault](topic)} for row, topic in zip(replies("v2", 0), TOPICS, strict=True)]
    found = rejoinder.compare(replies("v1", 0), worse, metrics=["distinct"])
    told = " ".join(found.sentences[:3])
    assert f"More faults in v2: {fault} in " in told or f"; {fault} in " in told
