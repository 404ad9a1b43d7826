"""Judged sets are cut so that no context is on both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learning_ridge import synthetic
from places import JUDGED
from rejoinder.data.contexts import context_keys
from rejoinder.data.judged import JudgedSet, context_key, read_judged
from rejoinder.errors import CallError, NeedsError
from rejoinder.trusting.experiments import PUBLISHED, LabelledSet, groups_within_set, shares_context
from rejoinder.types import Example


@pytest.mark.parametrize("folds", [2, 5, 60])
def test_folds_share_no_context_and_hold_every_reply_once(folds: int) -> None:
    tested = LabelledSet.of(synthetic(), None)
    parts = tested.parts(folds, seed=1)
    assert len(parts) == folds
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(180))
    for part in parts:
        assert sorted([*part.train, *part.test]) == list(range(180))
        sides = [
            {key for e in tested.examples(rows) for key in (context_key(e), *context_keys(e))}
            for rows in (part.train, part.test)
        ]
        assert not sides[0] & sides[1]
    sizes = [len(part.test) for part in parts]
    assert max(sizes) - min(sizes) <= 3  # a context has three replies


def test_folds_are_those_of_the_seed() -> None:
    tested = LabelledSet.of(synthetic(), None)
    one, again, other = (tested.parts(5, seed=seed)[0].test.tolist() for seed in (1, 1, 2))
    assert one == again != other


def test_contexts_are_the_same_by_id_by_text_by_their_end_and_through_a_third() -> None:
    sea, summer = "did you go to the sea", "yes, as every summer"
    by_id = [Example("0", (sea, summer), "r", context_id="7"), Example("1", ("c", "d"), "r", context_id="7")]
    by_text = [Example("2", ("C ", "d!"), "r", context_id="8")]
    by_end = [Example("3", ("before", sea.title(), summer), "r", context_id="9")]
    alone = [Example("4", (summer,), "r"), Example("5", (sea, "c"), "r"), Example("6", (), "r")]
    assert groups_within_set([*by_id, *by_text, *by_end, *alone]).tolist() == [0, 0, 0, 0, 1, 2, 3]
    # The one that joins two groups may come last.
    assert groups_within_set([by_id[0], by_text[0], by_id[1]]).tolist() == [0, 0, 0]
    assert groups_within_set([]).shape == (0,)


def test_ids_of_contexts_tell_only_within_one_set() -> None:
    here, there = Example("0", ("a",), "r", context_id="7"), Example("0", ("b",), "r", context_id="7")
    assert shares_context([here], [there], same_set=True).tolist() == [True]
    assert shares_context([here], [there], same_set=False).tolist() == [False]
    assert shares_context([here], [replace(there, context=("A",))], same_set=False).tolist() == [True]


def test_what_nobody_rated_is_tested_but_not_learned_from() -> None:
    made = synthetic(contexts=4)
    ratings = made.ratings["overall"].copy()
    ratings[[0, 5]] = np.nan
    tested = LabelledSet.of(JudgedSet("made", made.examples, {"overall": ratings}, made.splits), "overall")
    learned = tested.training(np.arange(6), np.array([5, 6]))
    assert [(item.example.id, item.split) for item in learned] == [
        *((made.examples[row].id, "train") for row in (1, 2, 3, 4)),
        (made.examples[6].id, "valid"),
    ]
    assert sum(len(part.test) for part in tested.parts(2)) == 12


def test_only_the_dimension_is_learned_from() -> None:
    made = synthetic(contexts=4)
    two = JudgedSet("two", made.examples, {"grammar": made.ratings["overall"], "style": made.ratings["overall"]})
    (item,) = LabelledSet.of(two, "style").training(np.array([3]))
    assert item.scores == {"style": tuple(made.ratings["overall"][3])}
    with pytest.raises(CallError, match="was judged on grammar, style: expected one"):
        LabelledSet.of(two, None)


def test_the_published_split_is_followed() -> None:
    tested = LabelledSet.of(synthetic(contexts=10), None)
    (part,) = tested.parts(PUBLISHED)
    assert (part.train.tolist(), part.valid.tolist(), part.test.tolist()) == (
        list(range(18)),
        list(range(18, 24)),
        list(range(24, 30)),
    )


def test_cuts_that_cannot_be_made() -> None:
    made = synthetic(contexts=3)
    tested = LabelledSet.of(made, None)
    with pytest.raises(NeedsError, match="3 contexts cannot be split into 5 folds"):
        tested.parts(5)
    for folds in (1, 0, "loocv"):
        with pytest.raises(CallError, match="folds must be a number of at least 2, or 'published'"):
            tested.parts(folds)
    unsplit = LabelledSet.of(JudgedSet("made", made.examples, made.ratings), None)
    with pytest.raises(NeedsError, match="made has no published split"):
        unsplit.parts(PUBLISHED)


@pytest.mark.shared_data
def test_real_contexts_that_differ_in_spelling_are_one() -> None:
    path = JUDGED / "zhao2020_personachat.jsonl.gz"
    if not path.exists():
        pytest.skip(f"needs {path.name} of ../shared/data")
    tested = LabelledSet.of(read_judged(path), "overall")
    assert tested.name == "zhao2020_personachat"
    # 149 distinct texts, of which two pairs differ by spaces or punctuation alone.
    assert len(np.unique(tested.judged.contexts)) == 149
    assert len(np.unique(tested.groups)) == 147
