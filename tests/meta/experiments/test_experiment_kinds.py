"""The studies: what each fits on, what it tests, and that its figures are those of the scores it gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from learning_ridge import RidgeEvaluator, synthetic
from papers.published.adem import TABLE_14, left_out_figures
from places import JUDGED
from rejoinder.data.judged import JudgedSet
from rejoinder.errors import CallError, LeakageError, NeedsError, UnknownNameError
from rejoinder.learning.data import TrainingData
from rejoinder.show.figures import IntervalPanel, LinePanel, ScatterPanel
from rejoinder.stats.intervals import Interval
from rejoinder.trusting.cross_validation import Experiment, cross_validate, leave_one_system_out
from rejoinder.trusting.experiments import PUBLISHED, Makers
from rejoinder.trusting.label_curves import label_amounts
from rejoinder.trusting.transfer import transfer
from rejoinder.types import Dialogue

MADE = synthetic(contexts=40)
OTHER = synthetic(contexts=30, seed=1, name="other")
QUICK: dict[str, Any] = {"resamples": 50}


@pytest.fixture(autouse=True)
def fits() -> Iterator[list[TrainingData]]:
    """What was fitted on in this test."""
    RidgeEvaluator.fits.clear()
    yield RidgeEvaluator.fits
    RidgeEvaluator.fits.clear()


def rows_of(result: Experiment) -> list[dict[str, Any]]:
    return [dict(zip(result.header, row, strict=True)) for row in result.rows]


def estimate(cell: object) -> float:
    assert isinstance(cell, Interval)
    return cell.estimate


def check_printable(result: Experiment) -> None:
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert len(plain["rows"]) == len(result.rows)
    assert all(name in str(result) for name in result.header)


class TestCrossValidation:
    def test_every_reply_is_scored_by_one_that_saw_none_of_its_context(self, fits: list[TrainingData]) -> None:
        result = cross_validate(RidgeEvaluator(), MADE, "overall", folds=4, **QUICK)
        assert len(fits) == 4
        assert [len(data.judged) for data in fits] == [90] * 4
        assert not any(data.valid for data in fits)
        held = np.stack([data.contexts.holds(MADE.examples) for data in fits])
        # Every context is missing from exactly one fit, the one that tests it.
        assert (held.sum(axis=0) == 3).all()
        assert not np.isnan(result.scores["ridge"]).any()
        for fold, data in enumerate(fits.copy()):
            refitted = RidgeEvaluator().fit((), data.judged)
            tested = [example for example, is_held in zip(MADE.examples, held[fold], strict=True) if not is_held]
            np.testing.assert_allclose(refitted.score(tested), result.scores["ridge"][~held[fold]])

    def test_figures_are_those_of_the_scores(self) -> None:
        result = cross_validate(RidgeEvaluator(), MADE, folds=4, **QUICK)
        scores, human = result.scores["ridge"], MADE.human("overall")
        together, *folds, mean = rows_of(result)
        assert together["tested on"] == "all folds"
        assert estimate(together["Pearson"]) == pytest.approx(pearsonr(scores, human).statistic)
        assert estimate(together["Spearman"]) == pytest.approx(spearmanr(scores, human).statistic)
        assert estimate(together["Pearson"]) > 0.4
        assert together["Pearson"].low < estimate(together["Pearson"]) < together["Pearson"].high
        assert (together["replies"], together["contexts"]) == (120, 40)
        assert [row["tested on"] for row in folds] == ["fold 1", "fold 2", "fold 3", "fold 4"]
        assert sum(row["replies"] for row in folds) == 120
        assert estimate(mean["Pearson"]) == pytest.approx(np.mean([estimate(row["Pearson"]) for row in folds]))
        assert [type(panel) for panel in result.panels] == [IntervalPanel, ScatterPanel]
        check_printable(result)

    def test_the_seed_decides(self) -> None:
        one, again, other = (cross_validate(RidgeEvaluator(), MADE, seed=seed, **QUICK) for seed in (1, 1, 2))
        assert str(one) == str(again) != str(other)

    def test_labels_at_random_teach_nothing(self) -> None:
        shuffled = np.random.default_rng(0).permutation(MADE.ratings["overall"])
        result = cross_validate(RidgeEvaluator(), JudgedSet("noise", MADE.examples, {"overall": shuffled}), **QUICK)
        assert rows_of(result)[0]["Pearson"].low < 0.05

    def test_the_published_split(self, fits: list[TrainingData]) -> None:
        figures = {"ridge": {"published split": (0.5, 0.6), "elsewhere": (0.1, 0.2)}}
        result = cross_validate(RidgeEvaluator(), MADE, folds=PUBLISHED, published=figures, **QUICK)
        (data,) = fits
        assert (len(data.judged), len(data.valid)) == (72, 24)
        (row,) = rows_of(result)
        assert (row["replies"], row["published Pearson"], row["published Spearman"]) == (24, 0.5, 0.6)
        assert any("elsewhere 0.100 / 0.200" in finding for finding in result.sentences)
        assert np.isnan(result.scores["ridge"]).sum() == 96

    def test_several_evaluators_however_they_are_given(self, fits: list[TrainingData]) -> None:
        fitted = RidgeEvaluator(alpha=9.0).fit((), synthetic(4).judged_examples())
        fits.clear()
        makers: Makers = {"weak": RidgeEvaluator, "strong": lambda: RidgeEvaluator(alpha=9.0), "copied": fitted}
        result = cross_validate(makers, MADE, folds=2, **QUICK)
        assert len(fits) == 4  # two of the three are the same by all that decides their scores
        assert set(result.scores) == {"weak", "strong", "copied"}
        np.testing.assert_array_equal(result.scores["strong"], result.scores["copied"])
        assert not np.array_equal(result.scores["weak"], result.scores["copied"])
        assert fitted.fitted.judged == 12  # the one that was given is as it was

    def test_what_is_no_evaluator_is_told(self) -> None:
        for wrong in ("ridge", dict, {}, {"a": 3}):
            with pytest.raises(CallError, match=r"is not an evaluator|no evaluator was given"):
                cross_validate(wrong, MADE)  # type: ignore[arg-type]
        with pytest.raises(UnknownNameError, match="did you mean overall"):
            cross_validate(RidgeEvaluator(), MADE, "overal")
        with pytest.raises(UnknownNameError, match="did you mean ridge"):
            cross_validate(RidgeEvaluator(), MADE, published={"rigde": {}}, **QUICK)

    @pytest.mark.shared_data
    def test_a_split_by_reply_is_refused_unless_told(self) -> None:
        path = JUDGED / "zhao2020_dailydialog.jsonl.gz"
        if not path.exists():
            pytest.skip(f"needs {path.name} of ../shared/data")
        with pytest.raises(LeakageError, match=r"90 of 90 test replies .*: zhao_dd-0006, .* and 80 more"):
            cross_validate(RidgeEvaluator(), path, "overall", folds=PUBLISHED)
        reason = "the paper's split is by reply"
        result = cross_validate(RidgeEvaluator(), path, "overall", folds=PUBLISHED, allow_leakage=reason, **QUICK)
        assert reason in str(result)
        assert rows_of(result)[0]["replies"] == 90


class TestLeaveOneSystemOut:
    def test_neither_the_system_nor_the_context_was_learned_from(self, fits: list[TrainingData]) -> None:
        leave_one_system_out(RidgeEvaluator(), MADE, folds=4, **QUICK)
        assert len(fits) == 16
        for place, data in enumerate(fits[:12]):
            assert {item.example.system for item in data.judged} == {"a", "b", "c"} - {"abc"[place // 4]}
            assert len(data.judged) == 60
        for data in fits[12:]:
            assert {item.example.system for item in data.judged} == {"a", "b", "c"}
            assert len(data.judged) == 60
        for system in range(4):
            held = np.stack([d.contexts.holds(MADE.examples) for d in fits[4 * system : 4 * system + 4]])
            assert (~held).any(axis=0).all()  # every reply can be tested by a fit without its context

    def test_figures_are_those_of_the_scores(self) -> None:
        result = leave_one_system_out(RidgeEvaluator(), MADE, folds=4, published={"ridge": left_out_figures()}, **QUICK)
        rows = {(row["not trained on"], row["tested on"]): row for row in rows_of(result)}
        human, systems = MADE.human("overall"), MADE.systems
        left_out, on_all = [], []
        for system in "abc":
            scores = result.scores[f"ridge without {system}"]
            own = systems == system
            left_out.append(pearsonr(scores[own], human[own]).statistic)
            on_all.append(pearsonr(scores, human).statistic)
            assert estimate(rows[system, "left out"]["Pearson"]) == pytest.approx(left_out[-1])
            assert estimate(rows[system, "all systems"]["Pearson"]) == pytest.approx(on_all[-1])
            assert (rows[system, "left out"]["replies"], rows[system, "all systems"]["replies"]) == (40, 120)
        assert estimate(rows["average", "left out"]["Pearson"]) == pytest.approx(np.mean(left_out))
        assert estimate(rows["average", "all systems"]["Pearson"]) == pytest.approx(np.mean(on_all))
        assert rows["average", "left out"]["published Spearman"] == 0.4164  # Lowe et al. 2017, Table 5
        assert np.isnan(rows["a", "left out"]["published Spearman"])
        assert ("at random", "all systems") in rows
        assert "Dual Encoder, left out 0.410 / 0.426" in str(result)
        assert [len(panel.rows) for panel in result.panels if isinstance(panel, IntervalPanel)] == [4, 5]
        check_printable(result)

    def test_one_system_cannot_be_left_out(self) -> None:
        with pytest.raises(NeedsError, match=r"has one system: [^.]*$"):
            leave_one_system_out(RidgeEvaluator(), synthetic(6, ["only"]))
        with pytest.raises(NeedsError, match=r"has one system: .* the same word .*: 2 different names, 1 system\."):
            leave_one_system_out(RidgeEvaluator(), synthetic(6, ["bot greedy", "bot sample"]), system_words=1)

    def test_systems_are_merged_by_the_first_words_of_their_names(self, fits: list[TrainingData]) -> None:
        made = synthetic(20, ["bot v1 greedy", "bot v1 sample", "bot v2 greedy", "human"])
        result = leave_one_system_out(RidgeEvaluator(), made, folds=2, system_words=2, **QUICK)
        rows = {row["not trained on"]: row for row in rows_of(result) if row["tested on"] == "left out"}
        assert {name: row["replies"] for name, row in rows.items()} == {
            "bot v1": 40,
            "bot v2": 20,
            "human": 20,
            "average": 80,
        }
        assert len(fits) == (3 + 1) * 2
        assert {item.example.id.split("-")[1] for item in fits[0].judged} == {"bot v2 greedy", "human"}
        assert "start with the same 2 words count as one system: 4 different names, 3 systems." in str(result)
        unmerged = leave_one_system_out(RidgeEvaluator(), made, folds=2, **QUICK)
        assert len({row["not trained on"] for row in rows_of(unmerged)}) == 4 + 2
        assert "count as one system" not in str(unmerged)

    @pytest.mark.parametrize("words", [0, -1, 1.5, True, "1"])
    def test_a_number_of_words_that_cannot_be(self, words: Any) -> None:
        with pytest.raises(CallError, match="system_words must be a whole number of at least 1, not"):
            leave_one_system_out(RidgeEvaluator(), MADE, system_words=words)


class TestLabelAmounts:
    def test_the_curve_rises_with_the_labels(self) -> None:
        made = synthetic(contexts=150)
        result = label_amounts(RidgeEvaluator(), made, fractions=(0.05, 0.25, 1.0), seeds=(0, 1), folds=3, **QUICK)
        reached = [estimate(row["Pearson"]) for row in rows_of(result)]
        assert reached[0] + 0.1 < reached[1] < reached[2] - 0.05
        assert "ridge: 300 labels (100 %) reach" in result.sentences[0]
        (panel,) = result.panels
        assert isinstance(panel, LinePanel)
        curve = panel.curves[0]
        assert curve.x == (15.0, 75.0, 300.0)
        assert curve.y == pytest.approx(reached)
        assert all(low <= y <= high for low, y, high in zip(curve.low, curve.y, curve.high, strict=True))
        assert curve.low[0] < curve.high[0]
        check_printable(result)

    def test_labels_are_taken_by_whole_contexts_and_more_hold_fewer(self, fits: list[TrainingData]) -> None:
        label_amounts(RidgeEvaluator(), MADE, fractions=(0.5, 1.0), counts=(10,), seeds=(5, 6), folds=2, **QUICK)
        assert len(fits) == 3 * 2 * 2
        taken = [{item.example.id for item in data.judged} for data in fits]
        for ids in taken:
            assert {f"{context}-{system}" for context in {i.split("-")[0] for i in ids} for system in "abc"} == ids
        half, all_of_it, ten = taken[:4], taken[4:8], taken[8:]
        assert [len(ids) for ids in (*half, *all_of_it, *ten)] == [30] * 4 + [60] * 4 + [9] * 4
        for few, some, most in zip(ten, half, all_of_it, strict=True):
            assert few < some < most
        assert half[0] != half[2]  # another seed takes other labels
        assert [data.seed for data in fits[:4]] == [5, 5, 6, 6]

    def test_rows_are_in_order_with_the_papers_figures(self) -> None:
        result = label_amounts(
            RidgeEvaluator(),
            MADE,
            fractions=(1.0, 0.1),
            counts=(30,),
            seeds=(0,),
            folds=2,
            published={"ridge": TABLE_14.correlations()},
            **QUICK,
        )
        rows = rows_of(result)
        assert [(row["amount"], row["labels"]) for row in rows] == [
            ("10 %", "6"),
            ("30 labels", "30"),
            ("100 %", "60"),
        ]
        assert [row["published Pearson"] for row in rows] == pytest.approx([0.265, np.nan, 0.395], nan_ok=True)
        assert set(result.scores) == {f"ridge, {name}, seed 0" for name in ("10 %", "30 labels", "100 %")}

    def test_the_standard_deviation_is_that_of_the_seeds(self) -> None:
        settings: dict[str, Any] = {"fractions": (0.2, 1.0), "folds": 2, **QUICK}
        result = label_amounts(RidgeEvaluator(), MADE, seeds=(0, 1, 2), **settings)
        few, every = rows_of(result)
        human = MADE.human("overall")
        reached = [pearsonr(result.scores[f"ridge, 20 %, seed {seed}"], human).statistic for seed in range(3)]
        assert few["SD over seeds"] == pytest.approx(np.std(reached, ddof=1))
        assert (few["lowest seed"], few["highest seed"]) == pytest.approx((min(reached), max(reached)))
        assert every["SD over seeds"] == pytest.approx(0, abs=1e-12), "all labels are the same labels for every seed"
        assert "standard deviation over seeds (SD) are of Pearson" in result.sentences[-1]
        assert result.to_dict()["rows"][0]["SD over seeds"] == few["SD over seeds"]
        deviation = f"{few['SD over seeds']:.3f}"
        for form in (str(result), result.to_latex(), result.page()):
            assert "SD over seeds" in form
            assert deviation in form
        check_printable(result)
        two = label_amounts(RidgeEvaluator(), MADE, seeds=(0, 1), **settings)
        assert "SD over seeds" not in two.header
        assert "SD" not in two.sentences[-1]
        assert all(len(row) == len(two.header) for row in two.rows)

    def test_seeds_without_a_coefficient_have_no_deviation(self) -> None:
        constant = JudgedSet("constant", MADE.examples, {"overall": np.full_like(MADE.ratings["overall"], 3.0)})
        (row,) = rows_of(label_amounts(RidgeEvaluator(), constant, fractions=(0.5,), folds=2, **QUICK))
        assert np.isnan(row["SD over seeds"])

    def test_no_label_is_kept_aside(self, fits: list[TrainingData]) -> None:
        label_amounts(RidgeEvaluator(), MADE, fractions=(1.0,), seeds=(0,), folds=PUBLISHED, **QUICK)
        assert [(len(data.judged), len(data.valid)) for data in fits] == [(72, 0)]

    @pytest.mark.parametrize(
        ("amounts", "message"),
        [
            ({"fractions": (0.0,)}, "above 0 and at most 1, not 0"),
            ({"fractions": (5,)}, "above 0 and at most 1, not 5"),
            ({"counts": (0,)}, "at least 1, not 0"),
            ({"counts": (61,), "folds": 2}, "61 labels were requested, but a training set has 60"),
            ({"fractions": ()}, "at least one amount"),
            ({"seeds": ()}, "one seed"),
            ({"seeds": (1, 1)}, "without duplicates"),
        ],
    )
    def test_amounts_that_cannot_be(self, amounts: dict[str, Any], message: str) -> None:
        with pytest.raises(CallError, match=message):
            label_amounts(RidgeEvaluator(), MADE, **amounts)


class TestTransfer:
    def test_each_set_to_each(self, fits: list[TrainingData]) -> None:
        third = synthetic(contexts=8, seed=2, name="third")
        result = transfer(RidgeEvaluator(), [MADE, OTHER, third], folds=2, **QUICK)
        # Each set: two folds at home, and one fit for all journeys elsewhere.
        assert [len(data.judged) for data in fits] == [60, 60, 120, 45, 45, 90, 12, 12, 24]
        rows = {(row["trained on"], row["tested on"]): row for row in rows_of(result)}
        assert len(rows) == 9
        scores = result.scores["ridge, made to other"]
        assert len(scores) == 90
        np.testing.assert_array_equal(scores, RidgeEvaluator().fit((), fits[2].judged).score(OTHER.examples))
        assert estimate(rows["made", "other"]["Pearson"]) == pytest.approx(
            pearsonr(scores, OTHER.human("overall")).statistic
        )
        assert rows["made", "other"]["contexts"] == 30
        assert result.sentences[0].startswith("ridge: mean Pearson 0.")
        check_printable(result)

    def test_the_home_figure_is_that_of_cross_validation(self) -> None:
        home = rows_of(transfer(RidgeEvaluator(), [MADE, OTHER], folds=3, **QUICK))[0]
        alone = rows_of(cross_validate(RidgeEvaluator(), MADE, folds=3, **QUICK))[0]
        assert home["Pearson"] == alone["Pearson"]

    def test_contexts_that_two_sets_share_are_refused_or_dropped(self, fits: list[TrainingData]) -> None:
        # Another spelling of six of the contexts, under ids of its own.
        shared = [
            replace(item, example=replace(item.example, context=tuple(turn.upper() for turn in item.example.context)))
            for item in MADE.judged_examples()[:18]
        ]
        mixed = JudgedSet.of([*shared, *OTHER.judged_examples()], "mixed")
        with pytest.raises(LeakageError, match="18 of 108 test replies"):
            transfer(RidgeEvaluator(), [MADE, mixed], folds=2)
        assert not fits
        result = transfer(RidgeEvaluator(), [MADE, mixed], folds=2, shared="drop", **QUICK)
        assert [len(data.judged) for data in fits] == [60, 60, 120 - 18, 54, 54, 108 - 18]
        assert "made to mixed: 18 replies were dropped from training" in str(result)
        with pytest.raises(CallError, match="shared must be one of refuse, drop"):
            transfer(RidgeEvaluator(), [MADE, mixed], shared="ignore")

    def test_equal_context_ids_of_two_sets_are_no_leakage(self) -> None:
        sets = {
            made.name: [
                replace(item, example=replace(item.example, context_id=item.example.id.split("-")[0]))
                for item in made.judged_examples()
            ]
            for made in (MADE, OTHER)
        }
        for shared in ("refuse", "drop"):
            assert "were not learned from" not in str(transfer(RidgeEvaluator(), sets, shared=shared, folds=2, **QUICK))

    def test_the_published_splits_on_both_sides(self, fits: list[TrainingData]) -> None:
        figures = {"ridge": {("made", "other"): (0.69, 0.69)}}
        result = transfer(RidgeEvaluator(), [MADE, OTHER], folds=PUBLISHED, published=figures, **QUICK)
        # At home and elsewhere the same labels are learned from, so one fit does for both.
        assert [(len(data.judged), len(data.valid)) for data in fits] == [(72, 24), (54, 18)]
        assert [row["replies"] for row in rows_of(result)] == [24, 18, 18, 24]
        assert rows_of(result)[1]["published Pearson"] == 0.69

    def test_dimensions_and_dialogues_by_set(self, fits: list[TrainingData]) -> None:
        graded = JudgedSet("graded", OTHER.examples, {"coherence": OTHER.ratings["overall"]})
        talk = [Dialogue("1", ("some", "talk"))]
        sets = {"made": MADE, "graded": graded}
        transfer(
            RidgeEvaluator(),
            sets,
            {"made": "overall", "graded": "coherence"},
            folds=2,
            dialogues={"made": talk},
            **QUICK,
        )
        assert [len(data.dialogues) for data in fits] == [1, 1, 1, 0, 0, 0]
        for wrong in ({"dimension": {"mad": "overall"}}, {"dialogues": {"mad": talk}}):
            with pytest.raises(UnknownNameError, match="did you mean made"):
                transfer(RidgeEvaluator(), sets, **wrong)

    def test_sets_need_names_of_their_own(self) -> None:
        for sets in ([MADE], [MADE, MADE], []):
            with pytest.raises(CallError, match="at least two judged sets"):
                transfer(RidgeEvaluator(), sets)
