"""A blend is fitted to preferences as well, and the form of a reply can count differently in different places."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import CallError, NeedsError
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.blend.columns import FORM, LENGTH, form_columns
from rejoinder.evaluators.blend.fitting import Ridge, Trees
from rejoinder.evaluators.blend.pairs import DISTANCE, PairRows, PreferenceSet
from rejoinder.types import Example, JudgedExample

WORDS = "tea rain chess jazz bread snow tennis paint gold maps trains owls soup dance moons ships".split()


def rows(count: int = 400, seed: int = 0) -> tuple[np.ndarray, PairRows]:
    """Columns, and pairs in which the reply whose second column is higher is preferred."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, count, 3))
    preferred = np.sign(first[:, 1] - second[:, 1])
    ones = np.ones(count)
    return rng.normal(size=(count, 3)), PairRows(first, second, preferred, ones, 0 * ones.astype(int), np.arange(count))


def fit(kind: str, columns: np.ndarray, target: np.ndarray, pairs: PairRows | None) -> Any:
    weights, sets = np.ones(len(target)), np.zeros(len(target), int)
    if kind == "ridge":
        return Ridge.fit(columns, target, weights, sets, np.arange(len(target)) % 5, pairs)
    return Trees.fit(columns, target, weights, 0, pairs)


@pytest.mark.parametrize("kind", ["ridge", "trees"])
def test_ratings_and_pairs_are_learned_together(kind: str) -> None:
    """The ratings follow the first column, and the pairs the second: both are in the model."""
    columns, pairs = rows()
    model = fit(kind, columns, columns[:, 0], pairs)
    _, new = rows(seed=1)
    assert np.nanmean(new.in_order(model.predict(new.first), model.predict(new.second))) > 0.65
    assert np.corrcoef(model.predict(columns), columns[:, 0])[0, 1] > 0.5
    alone = fit(kind, columns, columns[:, 0], None)
    assert np.nanmean(new.in_order(alone.predict(new.first), alone.predict(new.second))) < 0.6


def test_ridge_of_pairs_by_hand() -> None:
    """With nothing to learn from ratings, the weights are those of a regression on differences."""
    columns, pairs = rows(50)
    model = fit("ridge", columns, np.zeros(len(columns)), pairs)
    both = np.concatenate([columns, pairs.first, pairs.second])
    spread = np.concatenate([columns - columns.mean(0), pairs.both - pairs.both.mean(0)]).std(0)
    np.testing.assert_allclose(model.spread, spread)
    np.testing.assert_allclose(model.centre, both.mean(0))
    design = (columns - columns.mean(0)) / spread
    off = (pairs.first - pairs.second) / spread
    gram = (design.T @ design + off.T @ off) / 100
    moment = off.T @ (DISTANCE * pairs.preferred) / 100
    near = [np.linalg.solve(gram + shrinkage * np.eye(3), moment) for shrinkage in (0.003, 0.1, 10.0)]
    assert any(np.allclose(model.weight, each) for each in near)


def test_the_order_of_a_pairs_replies_does_not_matter() -> None:
    columns, pairs = rows()
    swapped = replace(pairs, first=pairs.second, second=pairs.first, preferred=-pairs.preferred)
    one, other = (fit("ridge", columns, columns[:, 0], each) for each in (pairs, swapped))
    np.testing.assert_allclose(one.weight, other.weight, atol=1e-12)


def test_in_order_by_hand() -> None:
    _, pairs = rows(4)
    pairs = replace(pairs, preferred=np.array([1.0, -0.5, 0.5, 0.0]))
    found = pairs.in_order(np.array([2.0, 2.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(found, [1, 0, 0.5, np.nan])


def judged() -> list[JudgedExample]:
    """Short replies: the shorter, the better."""
    return [
        JudgedExample(
            Example(f"{number}", (f"so, {WORDS[number % 16]} {number}",), " ".join(WORDS[: 1 + number % 7])),
            {"overall": (5.0 - number % 7,)},
        )
        for number in range(80)
    ]


@pytest.fixture(scope="module")
def preferences(tmp_path_factory: pytest.TempPathFactory) -> str:
    """After a request, the longer reply is preferred."""
    path = tmp_path_factory.mktemp("pairs") / "preferences.jsonl"
    lines = [
        json.dumps(
            {
                "context": [f"Write about {WORDS[number % 16]} {number}"],
                "a": "one",
                "b": "two",
                "winner": "a" if number % 2 else "b",
                "response_a": " ".join(WORDS[: 3 + 4 * (number % 2)]),
                "response_b": " ".join(WORDS[: 7 - 4 * (number % 2)]),
            }
        )
        for number in range(60)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_long_can_be_good_in_one_place_and_bad_in_another(preferences: str, tmp_path: Path) -> None:
    blend = Blend(members=("length",), models=("ridge",), preferences=(preferences,)).fit((), judged())
    short, long = " ".join(WORDS[:3]), " ".join(WORDS[:7])
    asked, chat = ("Write about jazz 3",), ("so, jazz 3",)
    scores = blend.score([Example("", context, text) for context in (asked, chat) for text in (short, long)])
    assert scores[0] < scores[1]
    assert scores[2] > scores[3]
    [line] = blend.report_.pairs
    assert (line.name, line.pairs, line.longer) == ("preferences.jsonl", 60, 1.0)
    assert line.right.estimate > 0.9
    assert "preferred reply higher" in str(blend.report_)
    blend.save(tmp_path / "blend")
    loaded = Blend.load(tmp_path / "blend")
    assert loaded.report_ == blend.report_
    known = loaded.trained_contexts
    assert known.holds([Example("", asked, ""), Example("", ("new",), "")]).tolist() == [True, False]


def test_pairs_of_one_context_say_nothing_about_others(tmp_path: Path) -> None:
    path = tmp_path / "preferences.jsonl"
    lines = [
        {
            "context": ["Go on"],
            "a": "x",
            "b": "y",
            "winner": "a",
            "response_a": f"one {n}",
            "response_b": f"two {n} three",
        }
        for n in range(30)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    blend = Blend(members=("length",), models=("ridge",), preferences=(str(path),)).fit((), judged())
    [line] = blend.report_.pairs
    assert (line.right.low, line.right.high) == (0.0, 1.0)
    blend.save(tmp_path / "blend")


def test_pairs_are_fitted_without_what_is_counted(preferences: str, tmp_path: Path) -> None:
    blend = Blend(members=("length", "specificity"), surface=False, models=("ridge",), preferences=(preferences,))
    blend.fit((), judged()).save(tmp_path / "blend")
    [line] = Blend.load(tmp_path / "blend").report_.pairs
    assert line.longer is None
    assert "-" in str(blend.report_)


def test_preferences_without_replies_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "preferences.jsonl"
    path.write_text(json.dumps({"context": ["a"], "a": "x", "b": "y", "winner": "a"}), encoding="utf-8")
    with pytest.raises(CallError, match="response_a"):
        PreferenceSet.read(str(path))


def test_few_preferences_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "preferences.jsonl"
    row = {"context": ["a"], "a": "x", "b": "y", "winner": "a", "response_a": "one", "response_b": "two"}
    path.write_text(f"{json.dumps(row)}\n" * 30, encoding="utf-8")  # 30 votes on one pair
    with pytest.raises(NeedsError, match="1 pairs are too few"):
        PreferenceSet.read(str(path))


def test_a_blend_without_preferences_has_the_signature_of_before() -> None:
    assert "preferences" not in Blend(members=("length",)).signature


@pytest.mark.parametrize(
    ("context", "response", "expected"),
    [
        (("hi",), "hello there", {"log list items": 0, "code": 0, "log questions before": 0, "request before": 0}),
        (("Could you please write a list?",), "- a\n- b\n3. c", {"log list items": np.log(4), "request before": 1}),
        (("Use `x`?",), "Use `y` for x.", {"code": 1, "questions answered": 1, "log sentences": np.log(2)}),
        (("Where is Oslo? Who is Kim?",), "Kim sings.", {"log questions before": np.log(3), "questions answered": 0.5}),
        (("so I asked my mother to write",), "ok", {"request before": 0}),
        ((), "ok", {"request before": 0, "log questions before": 0, "log length by turns": 0}),
    ],
)  # fmt: skip
def test_form_by_hand(context: tuple[str, ...], response: str, expected: dict[str, float]) -> None:
    found = dict(zip(FORM, form_columns([Example("", context, response)])[0], strict=True))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_folders_from_before_have_no_columns_for_form() -> None:
    default: Any = rejoinder.load("default")
    assert LENGTH in default.columns_
    assert set(FORM).isdisjoint(default.columns_)
