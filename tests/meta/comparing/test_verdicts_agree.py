"""Sentence, table, JSON, LaTeX and ranking of a comparison never contradict each other, whatever the scores."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from rejoinder.comparing.compare import compare_table
from rejoinder.comparing.comparison import Comparison
from rejoinder.comparing.labels import human_means
from rejoinder.data.contexts import Grouping
from rejoinder.errors import CallError
from rejoinder.scoring.advice import meaning
from rejoinder.scoring.reliability import Doubt
from rejoinder.scoring.table import ScoreTable
from scored_replies import render_report

NAMES = ("alpha", "beta", "gamma", "delta")


@st.composite
def tables(draw: st.DrawFn, fewest_contexts: int = 1) -> ScoreTable:
    """Random systems, contexts, dialogues and metrics of all directions, with ties, gaps and constant scores."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    systems, contexts = draw(st.integers(2, 4)), draw(st.integers(fewest_contexts, 30))
    system = np.repeat(np.arange(systems), contexts).astype(np.int32)
    context = np.tile(np.arange(contexts), systems)
    if draw(st.booleans()):  # some replies are missing
        kept = np.sort(rng.permutation(system.size)[: max(systems, int(0.8 * system.size))])
        kept = np.union1d(kept, np.arange(systems) * contexts)
        system, context = system[kept], context[kept]
    scores, ranges, better = {}, {}, {}
    for number, kind in enumerate(
        draw(st.lists(st.sampled_from("higher lower describes".split()), min_size=1, max_size=3))
    ):
        label = f"{kind}-{number}"
        gaps = rng.normal(size=systems) * draw(st.sampled_from([0.0, 0.001, 0.5, 3.0]))
        noise = draw(st.sampled_from([0.0, 0.3, 1.0]))
        column = gaps[system] + rng.normal(size=contexts)[context] + noise * rng.normal(size=system.size)
        if draw(st.booleans()):
            column = np.round(column)
        column[rng.random(system.size) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
        scores[label] = column
        ranges[label] = (-np.inf, np.inf) if kind == "describes" else (-50.0, 50.0)
        better[label] = kind != "lower"
    doubtful = draw(st.sampled_from([0, 0, 1, len(system)]))  # of each system, by each metric: none, one, all
    doubts = {
        label: {name: Doubt(int(count), min(doubtful, int(count)), {"in verse": doubtful}) for name, count in sizes}
        for sizes in [list(zip(NAMES, np.bincount(system), strict=False))]
        for label in draw(st.sets(st.sampled_from(list(scores))))
        if doubtful
    }
    clusters = context // draw(st.sampled_from([1, 3]))
    grouping = Grouping(context, clusters, "context" if (clusters == context).all() else "dialogue", "x")
    return ScoreTable(
        scores,
        {label: f"{label}|v:0" for label in scores},
        NAMES[:systems],
        system,
        ranges=ranges,
        higher_is_better=better,
        doubts=doubts,
        grouping=grouping,
        resamples=5,
    )


def check_pair(verdict: Any, told: dict[str, Any], latex: str) -> None:
    words = verdict.sentence()
    assert told["verdict"] == words
    assert told["better"] == verdict.better
    claimed = re.search(r": (\w+) is better than (\w+) by", words)
    assert (claimed is not None) == (verdict.better is not None)
    assert ("not decided" in words) == (told["outcome"] == "doubtful") <= bool(verdict.doubt)
    assert told["significant"] == (told["outcome"] in {"better", "higher"}) or told["outcome"] == "identical"
    names = [rf"\textbf{{{name}}}" if name == verdict.better else name for name in (verdict.a, verdict.b)]
    arrow = r" $\downarrow$" if verdict.higher_is_better is False else ""
    assert f"{verdict.metric}{arrow} & {' & '.join(names)} & " in latex
    if claimed is None:
        return
    assert claimed.group(1) == verdict.better
    means = {verdict.a: told["mean_a"], verdict.b: told["mean_b"]}
    worse = means.pop(claimed.group(2))
    assert (means[verdict.better] > worse) == verdict.higher_is_better
    assert told["p_adjusted"] < 0.05
    if told["low"] is not None:
        assert not told["low"] <= 0 <= told["high"], "the interval excludes 0"


def check_report(compared: Comparison) -> None:
    """The page begins with the same words, and marks the same means as significantly better."""
    page = render_report(compared.table, None, comparison=compared)
    top = page[page.index('<p class="answer"') : page.index('<figure class="panel"')]
    top = re.sub('<p class="next".*?</p>', "", top)  # what to do is no part of the verdict
    said = [unescape(re.sub("<[^>]+>", "", part)) for part in re.findall(r"<(?:p|li)\b.*?</(?:p|li)>", top)]
    told = [sentence.replace("`", "") for sentence in compared.sentences]  # commands are set as code
    assert said == [*told, *meaning(compared.table, told=compared.primary.metric)]
    section = page[page.index("The comparison</h2>") :].split("</section>")[0]
    best = {
        metric
        for metric in compared.table.metrics
        if any(
            all(v.better == system for v in compared.verdicts if v.metric == metric and system in (v.a, v.b))
            for system in compared.table.system_names
        )
    }
    assert section.count('class="best"') == len(best)


def check_table(compared: Comparison, text: str) -> None:
    """The row of a metric has a star at the better system's mean."""
    for verdict in compared.verdicts:
        row = next(line for line in text.splitlines() if line.split()[:1] == [verdict.metric])
        cells = row.replace("↓", " ").split()[1:3]
        starred = [name for name, cell in zip(compared.table.system_names, cells, strict=True) if cell.endswith("*")]
        assert starred == ([verdict.better] if verdict.better else [])


@settings(max_examples=80, deadline=None)
@given(table=tables(), margin=st.sampled_from([None, 0.2, 5.0]))
def test_all_forms_of_a_comparison_agree(table: ScoreTable, margin: float | None) -> None:
    compared = compare_table(table, margin=margin)
    told, latex, text = compared.to_dict(), compared.to_latex(), compared.text(300, details=True)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    for verdict, plain in zip(compared.verdicts, told["comparisons"], strict=True):
        check_pair(verdict, plain, latex)
    first = compared.sentences[0]
    assert told["better"] == compared.better
    assert told["verdict"].startswith(first)
    assert told["decided"] == compared.decided == (not first.startswith("Not decided: "))
    if not compared.decided:
        assert compared.better is None
        assert compared.primary.metric not in [ranking.metric for ranking in compared.rankings]
    if compared.better is not None:
        assert first.startswith(f"{compared.better} is better than ")
    else:
        assert not re.search(r"^\w+ is better than", first)
    if len(table.system_names) == 2:
        check_table(compared, compared.text(300))
        assert compared.better == compared.decisive_verdicts[0].better
    for ranking in compared.rankings:
        place = {ranked.system: at for at, ranked in enumerate(ranking.places)}
        for verdict in compared.verdicts:
            if verdict.metric == ranking.metric and verdict.better is not None:
                worse = verdict.a if verdict.better == verdict.b else verdict.b
                assert place[verdict.better] < place[worse]
    assert "nan" not in text


@settings(max_examples=30, deadline=None)
@given(table=tables())
def test_the_report_agrees_with_the_comparison(table: ScoreTable) -> None:
    check_report(compare_table(table))


PEOPLE = r"^People would rate (\w+) above (\w+) by"


def check_people(compared: Comparison, told: dict[str, Any], latex: str, text: str) -> None:
    """Every form of what people would say names the same system."""
    assert compared.human is not None
    for row, plain in zip(compared.human.differences, told["human"]["differences"], strict=True):
        words = row.sentence()
        assert plain["verdict"] == words
        assert words in " ".join(text.split())
        claimed = re.search(PEOPLE, words)
        assert (
            (claimed is not None) == (row.better is not None) == plain["significant"] == (plain["outcome"] == "better")
        )
        a, b = (rf"\textbf{{{name}}}" if name == row.better else name for name in (row.a, row.b))
        assert f"{a} & {b} & " in latex
        assert ("no worse" in words) == (row.outcome == "no worse")
        assert ("alike within" in words) == (row.outcome == "equivalent")
        assert words.startswith("No significant difference") == (row.outcome == "open")
        if claimed is not None:
            assert claimed.group(1) == row.better == plain["better"]
            assert (plain["mean"] > 0) == (row.better == row.b)
            assert not plain["low"] <= 0 <= plain["high"], "the interval excludes 0"


@settings(max_examples=40, deadline=None)
@given(table=tables(fewest_contexts=8), margin=st.sampled_from([None, 0.2, 5.0]), data=st.data())
def test_all_forms_agree_on_what_people_would_say(table: ScoreTable, margin: float | None, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    assert table.grouping is not None
    gaps = rng.normal(size=4) * data.draw(st.sampled_from([0.0, 0.5, 3.0]))
    labels = gaps[table.system_of] + rng.normal(size=len(table)) * data.draw(st.sampled_from([0.0, 0.5]))
    labels = np.round(labels) if data.draw(st.booleans()) else labels
    labels[rng.random(len(table)) < data.draw(st.sampled_from([0.0, 0.1]))] = np.nan
    compared = compare_table(table)
    try:
        human = human_means(table, table.grouping.clusters, labels, "overall", compared.primary.metric, margin)
    except CallError:  # fewer than the fewest labels
        reject()
    compared = replace(compared, human=human, margin=margin)
    told, latex, text = compared.to_dict(), compared.to_latex(), compared.text(300, details=True)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    check_people(compared, told, latex, text)
    first = compared.sentences[0]
    assert told["verdict"].startswith(first)
    assert told["decided_by"] == "people"
    if len(table.system_names) == 2:
        assert first == human.differences[0].sentence()
        assert compared.better == human.differences[0].better
    elif compared.better is not None:
        assert first.startswith((f"{compared.better} is better than both", f"{compared.better} is better than each"))
    assert "nan" not in text


@settings(max_examples=40, deadline=None)
@given(table=tables())
def test_the_other_direction_gives_the_other_winner(table: ScoreTable) -> None:
    """Negated scores of a metric of which less is better are scores of one of which more is better."""
    label = table.metrics[0]
    turned = ScoreTable(
        {**table.scores, label: -table[label]},
        table.signatures,
        table.system_names,
        table.system_of,
        ranges=table.ranges,
        higher_is_better={**table.higher_is_better, label: not table.higher_is_better[label]},
        doubts=table.doubts,
        grouping=table.grouping,
        resamples=5,
    )
    first, second = compare_table(table, primary=label), compare_table(turned, primary=label)
    assert first.better == second.better
    for one, other in zip(first.decisive_verdicts, second.decisive_verdicts, strict=True):
        assert one.better == other.better
        np.testing.assert_allclose(one.p_adjusted, other.p_adjusted, rtol=1e-9)
        if one.higher_is_better is not None and one.result.paired:
            assert one.outcomes == other.outcomes
