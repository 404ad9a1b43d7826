"""The grammar of metric names: what is read, what is written, and what the errors say."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rejoinder
from rejoinder.errors import CallError, UnknownNameError
from rejoinder.registry import metric_class
from rejoinder.specs import format_spec, parse_spec, spec_of_table

READ: dict[str, tuple[str, dict[str, Any]]] = {
    "bleu": ("bleu", {}),
    " bleu ": ("bleu", {}),
    "bleu()": ("bleu", {}),
    "bleu(n=2)": ("bleu", {"n": 2}),
    "bleu( n = 2 , smooth = exp )": ("bleu", {"n": 2, "smooth": "exp"}),
    "bleu(n=2,)": ("bleu", {"n": 2}),
    "x(a=1.5, b=true, c=False, d=-3, e=1e3)": ("x", {"a": 1.5, "b": True, "c": False, "d": -3, "e": 1000.0}),
    "x(a=none, b='none', c=inf, d=-.5)": ("x", {"a": None, "b": "none", "c": math.inf, "d": -0.5}),
    "x(a='1, 2', b=\"(3)\")": ("x", {"a": "1, 2", "b": "(3)"}),
    r"""x(a='it\'s', b="\"", c='a\\b', d='a\n\tb')""": ("x", {"a": "it's", "b": '"', "c": "a\\b", "d": "a\n\tb"}),
    r"x(path=C:\models\new one)": ("x", {"path": r"C:\models\new one"}),
    "x(path=some/where-else.txt)": ("x", {"path": "some/where-else.txt"}),
    "x(tokenise=13a, more=1_000)": ("x", {"tokenise": "13a", "more": "1_000"}),
    "x(a=, b='')": ("x", {"a": "", "b": ""}),
    "x(a=[], b=(), c=[1, [two, 'three,']], d=(1,), e=(1, 2))": (
        "x",
        {"a": [], "b": (), "c": [1, ["two", "three,"]], "d": (1,), "e": (1, 2)},
    ),
    "pm(by=bleu( n=2 ))": ("pm", {"by": "bleu(n=2)"}),
    "pm(by='a folder' (n=2))": ("pm", {"by": "'a folder'(n=2)"}),
    "ensemble(members=[default, 'bleu(n=2)'])": ("ensemble", {"members": ["default", "bleu(n=2)"]}),
    "e(members=[a(b=[c(d=1), 'e, f']), g])": ("e", {"members": ["a(b=[c(d=1), 'e, f'])", "g"]}),
    "'my models/first, best'(calibrated=false)": ("my models/first, best", {"calibrated": False}),
}


@pytest.mark.parametrize(("text", "expected"), READ.items())
def test_what_is_read(text: str, expected: tuple[str, dict[str, Any]]) -> None:
    found = parse_spec(text)
    assert found == expected
    assert repr(found) == repr(expected), "the types are the same as well"


NOT_READ = {
    "": "cannot read '': expected a name, or a name with parameters such as bleu(n=2), found the end",
    "a b": "cannot read 'a b' at position 3: expected ( or the end, found 'b'",
    "bleu(n=2": "cannot read 'bleu(n=2' at position 9: expected , or ), found the end",
    "bleu)": "cannot read 'bleu)' at position 5: expected ( or the end, found ')'",
    "bleu(n=2)x": "cannot read 'bleu(n=2)x' at position 10: expected the end, found 'x'",
    "bleu(2)": "cannot read 'bleu(2)' at position 6: expected a parameter such as n=2, found '2'",
    "bleu(,)": "cannot read 'bleu(,)' at position 6: expected a parameter such as n=2, found ','",
    "bleu(n)": "cannot read 'bleu(n)' at position 7: expected = after 'n', found ')'",
    "bleu(n=2, n=3)": "cannot read 'bleu(n=2, n=3)' at position 11: the parameter 'n' is given twice",
    "=2": "cannot read '=2' at position 1: expected a name, or a name with parameters such as bleu(n=2), found '='",
    "f(a=[1,,2])": "cannot read 'f(a=[1,,2])' at position 8: expected a value, found ','",
    "f(a=[1)": "cannot read 'f(a=[1)' at position 7: expected , or ], found ')'; text that contains it needs quotes",
    "f(a=b=c)": "cannot read 'f(a=b=c)' at position 6: expected , or ), found '='; text that contains it needs quotes",
    "f(a='b)": "cannot read \"f(a='b)\" at position 5: the quote ' is never closed",
    "''(a=1)": "cannot read \"''(a=1)\" at position 2: a name must not be empty",
    "f(a=b c(n=2))": "cannot read 'f(a=b c(n=2))' at position 5: a name before ( must not contain spaces; ",
    r"f(a='\q')": "cannot read \"f(a='\\\\q')\" at position 7: expected one of \\ ' \" n t after a backslash",
    "f(a=1e999)": "cannot read 'f(a=1e999)' at position 5: the number is too large",
    f"f(a={'9' * 5000})": f"cannot read 'f(a={'9' * 30}...' at position 5: the number is too large",
    "x(a=" * 21: f"cannot read '...=x(a{'=x(a' * 7}=' at position 82: more than 20 levels of brackets",
    f"{'n' * 5000}(": f"cannot read '...{'n' * 29}(' at position 5002: expected a parameter such as n=2, found the end",
}


@pytest.mark.parametrize(("text", "message"), NOT_READ.items(), ids=lambda value: value[:20])
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(CallError) as caught:
        parse_spec(text)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 200


names = st.text(min_size=1)
keys = st.from_regex(r"[A-Za-z_][A-Za-z_0-9]*", fullmatch=True)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


def calls(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(names, st.dictionaries(keys, values, max_size=3))


values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | calls(inner).map(lambda call: format_spec(*call))
    ),
    max_leaves=8,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls(values))
def test_what_is_written_is_read_back(call: tuple[str, dict[str, Any]]) -> None:
    text = format_spec(*call)
    assert repr(parse_spec(text)) == repr(call)
    assert format_spec(*parse_spec(text)) == text


@settings(deadline=None)
@given(st.text(alphabet="ab12 ,=()[]'\"\\n.-e") | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        call = parse_spec(text)
    except CallError:
        return
    assert parse_spec(format_spec(*call)) == call


def test_a_table_is_another_way_to_write_a_metric() -> None:
    assert spec_of_table({"metric": "bleu", "n": 2, "smooth": "none"}) == "bleu(n=2, smooth='none')"
    assert spec_of_table({"metric": "bleu(n=2)", "smooth": "exp"}) == "bleu(n=2, smooth=exp)"
    nested = {"metric": "e", "members": ["default", {"metric": "pm", "by": {"metric": "bleu", "n": 2}}]}
    assert spec_of_table(nested) == "e(members=[default, pm(by=bleu(n=2))])"
    with pytest.raises(
        CallError, match=r"^expected a table with the name of a metric, such as {metric = 'bleu'}, not "
    ):
        spec_of_table({"n": 2})


def test_what_cannot_be_written() -> None:
    with pytest.raises(
        CallError, match=r"^object cannot be part of a metric's name: expected numbers, text, and lists"
    ):
        format_spec("x", {"a": object()})
    with pytest.raises(CallError, match=r"^'not a key' cannot be the name of a parameter"):
        format_spec("x", {"not a key": 1})
    with pytest.raises(CallError, match=r"^a metric needs a name"):
        format_spec("", {})
    deep: list[Any] = []
    for _ in range(30):
        deep = [deep]
    with pytest.raises(CallError, match="more than 20 levels of brackets"):
        format_spec("x", {"a": deep})


def test_a_parameter_that_does_not_exist_has_near_names_also_in_python() -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown parameter of bleu: 'smoth'; did you mean smooth or "):
        metric_class("bleu")(smoth="exp")
    with pytest.raises(UnknownNameError, match=r"^unknown parameter of TrainingRun: 'minuts'; did you mean minutes"):
        rejoinder.TrainingRun(minuts=3)  # type: ignore[call-arg]
    with pytest.raises(UnknownNameError, match=r"^unknown argument of score: 'metric'; did you mean metrics"):
        rejoinder.score([], metric=["bleu"])  # type: ignore[call-arg]
