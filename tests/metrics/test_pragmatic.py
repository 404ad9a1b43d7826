"""The pragmatic component: its checks, its judge, references."""

from __future__ import annotations

import numpy as np
import pytest

from rejoinder import Example, load
from rejoinder.errors import CallError
from rejoinder.metrics.base import ScoreWarning

REFERENCE = "we do not deliver to serbia"
WRONG = Example("1", ("do you deliver to serbia ?",), "yes , we deliver to ireland", (REFERENCE,))
RIGHT = Example("2", ("do you deliver to serbia ?",), "no , we don't deliver to serbia", (REFERENCE,))


def test_the_share_of_the_checks_that_are_passed() -> None:
    np.testing.assert_allclose(load("pm").score([WRONG, RIGHT]), [1 / 3, 1])
    same = [Example(text, (), text, ("something else", text)) for text in ("yes", "No.", "?!", "谢谢", "in 2 days")]
    assert load("pm").score(same).tolist() == [1.0] * 5


def test_a_courtesy_denies_nothing() -> None:
    pairs = [("no problem , we will send it", "sure , we will send it"), ("we arent able to deliver", "we deliver")]
    scores = load("pm").score([Example(reply, (), reply, (reference,)) for reply, reference in pairs])
    np.testing.assert_allclose(scores, [1, 2 / 3])


def test_several_references() -> None:
    two = Example("1", (), WRONG.response, (REFERENCE, "we deliver to ireland"))
    assert load("pm").score([two])[0] == 1
    assert load("pm", refs="mean").score([two])[0] == pytest.approx(2 / 3)


def test_a_judge_of_the_context() -> None:
    judged = load("pm", by="specificity")
    alone = load("specificity").score([WRONG, RIGHT])
    np.testing.assert_allclose(judged.score([WRONG, RIGHT]), alone * [1 / 3, 1])
    unchecked = load("pm", by="specificity", check_claims=False)
    np.testing.assert_allclose(unchecked.score([WRONG, RIGHT]), alone)
    bare = Example("3", (), "we deliver", ())
    assert judged.score([bare])[0] == load("specificity").score([bare])[0], "without references nothing is checked"
    assert np.isnan(load("pm").score([bare])[0])
    assert judged.needs == frozenset()
    assert "|by:specificity@" in judged.signature
    assert [part.name for part in judged.parts] == ["specificity"]
    assert load("pm").parts == ()


def test_a_judge_is_given_by_name_with_parameters_or_as_a_metric() -> None:
    by_name = load("pm(by=specificity(strip=stopwords))")
    by_object = load("pm", by=load("specificity", strip="stopwords"))
    np.testing.assert_array_equal(by_name.score([WRONG, RIGHT]), by_object.score([WRONG, RIGHT]))
    assert by_name.signature == by_object.signature
    assert by_name.spec == by_object.spec == "pm(by=specificity(strip=stopwords))"
    assert load("pm", by={"metric": "specificity", "strip": "stopwords"}) == by_name
    with pytest.raises(CallError, match=r"^pm: by must be text or a Metric, not 3$"):
        load("pm", by=3)


def test_what_is_needed_depends_on_the_judge() -> None:
    assert load("pm").needs == load("pm", by="bleu").needs == frozenset({"references"})
    assert load("pm", by="ruber-pool").needs == frozenset({"context"})


def test_low_is_good_for_some_judges() -> None:
    echo = Example("1", ("we deliver to serbia",), "we deliver to serbia", ("we deliver to serbia",))
    assert load("pm", by="repetition").score([echo])[0] == pytest.approx(1 - load("repetition").score([echo])[0])


def test_an_empty_reply_is_the_worst() -> None:
    empty = Example("1", ("hello",), " ", (REFERENCE,))
    for metric in (load("pm"), load("pm", by="specificity")):
        with pytest.warns(ScoreWarning, match="1 empty"):
            assert metric.score([empty])[0] == 0


def test_wrong_parameters() -> None:
    with pytest.raises(CallError, match="nothing is left to check"):
        load("pm", check_claims=False)
    with pytest.raises(CallError, match="length has no highest score"):
        load("pm", by="length")
    with pytest.raises(CallError, match="cider must read all replies"):
        load("pm", by="cider")
    with pytest.raises(CallError, match="refs must be one of max, mean"):
        load("pm", refs="centroid")
