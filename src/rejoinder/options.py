"""What a parameter of a public function is: its meaning, its check, and its option on the command line.

A parameter is described once, where the function takes it: `level: Annotated[float, Option("...", number(0.5, 0.99))]`.
Those that several functions share have a name here: `seed: Seed = 0`. A function that is decorated with `@verb` checks
its arguments at the call, before it does anything: a CallError where one has the wrong type or is out of range, an
UnknownNameError with the near names where one does not exist. The command line makes its options of the same
annotations, which it reads from the source (`described`), since importing the function would import numpy.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, ParamSpec, Protocol, TypeVar, Union, get_args, get_origin

from rejoinder.errors import CallError, UnknownNameError, shortened

HIGHEST_SEED = 2**32 - 1
"""The highest seed that every random number generator accepts: numpy's legacy one has the lowest limit."""
MOST_RESAMPLES = 100_000
"""With more, the ends of an interval would change by less than the digits that are shown."""

MOST_JOBS = 1024
"""Processes of one machine; a higher number is a mistake."""

RESAMPLES = 1000
"""Bootstrap resamples for each interval."""
LEVEL = 0.9
"""The share of a calibrated evaluator's intervals that should contain the rating."""
CANDIDATE_CONTEXTS = 5000
"""Contexts of the dialogues that replies are made for, at most, when an evaluator is distilled."""

_LARGEST_NUMBER = 1e15
"""Larger ones lose digits, and their squares overflow in sums."""

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[Any], Any]
"""Gives the value, converted; a ValueError that says what was expected where the value does not fit."""


def is_number(value: Any, kind: type = Real) -> bool:
    """Whether it is a number of this kind: for Python, True is one."""
    return isinstance(value, kind) and not isinstance(value, bool)


def whole(least: int, most: int | None = None, why: str = "") -> Check:
    """A whole number within limits; `why` gives the reason of the upper one."""

    def check(value: Any) -> int:
        if not is_number(value, Integral) or value < least:
            raise ValueError(f"a whole number of at least {least}")
        if most is not None and value > most:
            raise ValueError(f"a whole number of at most {most}{why and f' ({why})'}")
        return int(value)

    return check


def number(
    least: float | None = None, most: float | None = None, *, above: float | None = None, below: float | None = None
) -> Check:
    """A finite number within limits, which are allowed (`least`, `most`) or not (`above`, `below`)."""
    if least is not None and most is not None:
        limits = [f"from {least:g} to {most:g}"]
    elif above is not None and below is not None:
        limits = [f"between {above:g} and {below:g}"]
    else:
        words = {"of at least": least, "above": above, "of at most": most, "below": below}
        limits = [f"{word} {limit:g}" for word, limit in words.items() if limit is not None]
    expected = f"a number {' and '.join(limits)}"

    def check(value: Any) -> float:
        if not is_number(value) or not abs(value) <= _LARGEST_NUMBER:
            raise ValueError(expected)
        if (least is not None and value < least) or (above is not None and value <= above):
            raise ValueError(expected)
        if (most is not None and value > most) or (below is not None and value >= below):
            raise ValueError(expected)
        return float(value)

    return check


def one_of(*choices: str) -> Check:
    """One of a few words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}")
        return value

    return check


def of_type(*types: type, called: str) -> Check:
    """An object of one of these types."""

    def check(value: Any) -> Any:
        if not isinstance(value, types):
            raise ValueError(called)
        return value

    return check


def optional(inner: Check) -> Check:
    """None, or what another check accepts."""
    return lambda value: None if value is None else inner(value)


def texts(called: str) -> Check:
    """A list of texts or paths: one text alone would be read as a list of its characters."""

    def check(value: Any) -> list[Any]:
        if isinstance(value, str | bytes | os.PathLike | Mapping) or not isinstance(value, Iterable):
            raise ValueError(called)
        items = list(value)
        if not all(isinstance(item, str | os.PathLike) for item in items):
            raise ValueError(called)
        return items

    return check


def several(each: Check, called: str) -> Check:
    """A list of values that another check accepts, which is not empty."""

    def check(value: Any) -> list[Any]:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise ValueError(called)
        items = list(value)
        try:
            checked_items = [each(item) for item in items]
        except ValueError as error:
            raise ValueError(f"{called}, each {error}") from None
        if not items:
            raise ValueError(called)
        return checked_items

    return check


def one_or_more(called: str) -> Check:
    """A text or path, or a list of them; one alone becomes a list."""
    listed = texts(called)
    return lambda value: [value] if isinstance(value, str | os.PathLike) else listed(value)


def flag(value: Any) -> bool:
    """True or False; text and numbers are refused, since "no" would count as true."""
    if type(value).__name__ not in {"bool", "bool_"}:  # numpy's is not a subclass of Python's
        raise ValueError("True or False")
    return bool(value)


def function(value: Any) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise ValueError("a function")
    return value


def text(value: Any) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("text that is not empty")
    return value


def path(value: Any) -> Any:
    """The path of a file or a folder."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise ValueError("a path")
    if not str(value) or "\0" in str(value):
        raise ValueError("a path that is not empty and contains no NUL character")
    return value


def scale(value: Any) -> tuple[float, float]:
    """The lowest and the highest score that people could give."""
    expected = "the lowest and the highest score, two numbers such as (1, 5)"
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(expected)
    ends = list(value)
    if len(ends) != 2 or not all(map(is_number, ends)):
        raise ValueError(expected)
    if not -_LARGEST_SCORE <= ends[0] < ends[1] <= _LARGEST_SCORE:
        raise ValueError(f"{expected}, with the lowest first and none beyond {_LARGEST_SCORE:g}")
    return float(ends[0]), float(ends[1])


_LARGEST_SCORE = 1e9

# What is known about a parameter.


@dataclass(frozen=True)
class Option:
    """What a parameter means, what it may be, and how the command line takes it."""

    help: str = ""
    check: Check | None = None
    """By default that of its type: a flag for bool, one of the words of a Literal."""
    short: str = ""
    """A short name, such as `-o`."""
    name: str = ""
    """The name on the command line where it is another one. With two hyphens it makes an option of an argument."""
    metavar: str | tuple[str, ...] = ""
    group: str = ""
    """The heading in the help."""
    choices: tuple[str, ...] = ()
    """The words that it may be."""
    many: Literal["", "repeat", "+", "*"] = ""
    """How several values are given: by repeating the option, or one after the other (at least one with `+`)."""
    const: Any = None
    """The value of an option that is given without one."""
    alternative: str = ""
    """Options with the same word here exclude each other."""
    required: bool = False
    """The command line needs it, although Python has a default."""
    old: tuple[str, ...] = ()
    """Former names of the option."""
    takes: type = str
    """What it takes where it is one of the parts of a parameter."""
    parts: tuple[Option, ...] = ()
    """Several options that make one parameter, each with its name."""
    read: Callable[..., Any] | str = ""
    """Makes the parameter of what was given to the option, or to its parts; or the place of the function that does."""
    shown: bool = True
    """False: the command line has no such option, as for functions that are called and objects in memory."""


class Unknown:
    """Stands for a type that is not known where an annotation is read; accepts every value."""

    def __class_getitem__(cls, item: object) -> type[Unknown]:
        return cls


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function, or one field of a dataclass."""

    name: str
    types: tuple[Any, ...]
    """The alternatives of its type, without None."""
    may_be_none: bool
    default: Any
    """`inspect.Parameter.empty` where there is none."""
    option: Option
    kind: Any = inspect.Parameter.KEYWORD_ONLY

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty and self.kind in _SINGLE

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be; () where it may be anything else."""
        literals = [kind for kind in self.types if get_origin(kind) is Literal]
        return self.option.choices or (get_args(literals[0]) if literals else ())

    @property
    def check(self) -> Check | None:
        """Its check, which accepts None where it may be None."""
        found = self.option.check
        if found is None and self.choices:
            found = one_of(*self.choices)
        elif found is None and self.types == (bool,):
            found = flag
        return optional(found) if found and self.may_be_none else found


_SINGLE = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def alternatives(hint: Any) -> tuple[Any, ...]:
    """X | Y -> X and Y."""
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty, kind: Any = inspect.Parameter.KEYWORD_ONLY
) -> Parameter:
    """A parameter with this annotation, such as `Seed`."""
    option = Option(shown=False)
    if get_origin(annotation) is Annotated:
        annotation, option = get_args(annotation)[:2]
    kinds = alternatives(annotation)
    types = tuple(kind for kind in kinds if kind not in {None, NoneType})
    return Parameter(name, types, len(types) < len(kinds), default, option, kind)


def fitting(name: str, value: Any, check: Any) -> Any:
    """The argument, converted; a CallError where it does not fit. Instead of a check, an annotation such as `Seed`."""
    if get_origin(check) is Annotated:
        check = parameter(name, check).check
    try:
        return check(value)
    except ValueError as error:
        raise CallError(f"{name} must be {error}, not {shortened(value)}") from None


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a public function: its arguments are checked at the call, as their annotations say."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = bound_to(function, args, kwargs)
        return function(*bound.args, **bound.kwargs)

    return call


def bound_to(function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments of a call of a verb, checked."""
    signature, checks = _checks(inspect.unwrap(function))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        parameters = signature.parameters
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        for name in () if takes_any else kwargs.keys() - parameters.keys():
            known = {name for name, each in parameters.items() if each.kind in _SINGLE} - {"self", "cls"}
            raise UnknownNameError(f"argument of {function.__name__}:", name, known) from None
        raise CallError(f"{function.__name__}: {error}") from None
    for name, check in checks.items():
        if name in bound.arguments:
            bound.arguments[name] = fitting(name, bound.arguments[name], check)
    return bound


@cache  # at the first call, so that importing a function evaluates nothing
def _checks(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Check]]:
    signature, names = inspect.signature(function), _AnnotationNames(function.__globals__)
    checks = {
        name: parameter(name, _value(each.annotation, names)).check
        for name, each in signature.parameters.items()
        if each.kind in _SINGLE and isinstance(each.annotation, str)
    }
    return signature, {name: check for name, check in checks.items() if check is not None}


# Annotations, as Python has them (text, by `from __future__ import annotations`) and as the source has them.


class _AnnotationNames(dict[str, Any]):
    """What names in annotations mean: those given, those of this file and of Python; all others are `Unknown`."""

    def __missing__(self, name: str) -> Any:
        return globals().get(name, getattr(builtins, name, Unknown))


def _value(text: str, names: _AnnotationNames) -> Any:
    return eval(text, {}, names)


@cache
def described(place: str) -> tuple[Parameter, ...]:
    """The parameters of the function at `folder.file:function` (or `:Class.method`), which is not imported.

    Its annotations and defaults may use what this file has, and constants of its own file.
    """
    module, _, path = place.partition(":")
    source = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    body: list[ast.stmt] = ast.parse(source).body
    names = _AnnotationNames()
    for each in body:
        if isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None:
            target = each.targets[0] if isinstance(each, ast.Assign) else each.target
            if isinstance(target, ast.Name) and target.id.isupper():
                try:
                    names[target.id] = ast.literal_eval(each.value)
                except ValueError:  # not a constant
                    continue
    *classes, function = path.split(".")
    for name in classes:
        body = next(each.body for each in body if isinstance(each, ast.ClassDef) and each.name == name)
    # Overloads come before the function itself.
    *_, node = (each for each in body if isinstance(each, ast.FunctionDef) and each.name == function)
    return tuple(_parameters(node, names))


def _parameters(node: ast.FunctionDef, names: _AnnotationNames) -> Iterable[Parameter]:
    given, kinds = node.args, inspect.Parameter
    places = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(places) - len(given.defaults)), *given.defaults]
    listed: list[tuple[ast.arg, Any, ast.expr | None]] = [
        *((arg, kinds.POSITIONAL_OR_KEYWORD, value) for arg, value in zip(places, defaults, strict=True)),
        *([(given.vararg, kinds.VAR_POSITIONAL, None)] if given.vararg else []),
        *((arg, kinds.KEYWORD_ONLY, value) for arg, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)),
        *([(given.kwarg, kinds.VAR_KEYWORD, None)] if given.kwarg else []),
    ]
    for arg, kind, value in listed:
        if arg.annotation is not None:  # all but self
            annotation = _value(ast.unparse(arg.annotation), names)
            default = kinds.empty if value is None else _value(ast.unparse(value), names)
            yield parameter(arg.arg, annotation, default, kind)


# Parameters that several functions have.


def origin_of(given: Sequence[str]) -> str | list[Path]:
    """What to read: one file, or several as one set."""
    return given[0] if len(given) == 1 else [Path(path) for path in given]


def either(*given: Any) -> Any:
    """Of several options, the one that was given."""
    return next((value for value in given if value is not None), None)


_SEVERAL = "may be repeated"
_READING = "reading"
_JUDGES = "judges (language models)"

REPLIES_OPTION = Option(
    "the replies: .jsonl, .json, .csv, .tsv, .parquet or .xlsx files, a folder, a pattern such as 'logs/*.json', or - "
    "for JSON lines on standard input; chat logs and exports of other tools are recognised",
    many="+",
    read=origin_of,
)
FIELDS_OPTION = Option(
    "our names of fields with the data's, such as {'context': 'history'}",
    parts=(
        Option(
            "the data's own name for a field: --field context=history, or a path inside a field: --field "
            "response=output.content (id, context, response, references, system, speakers, context_id, dialogue_id, "
            f"messages); {_SEVERAL}",
            name="--field",
            metavar="OURS=THEIRS",
            many="repeat",
            group=_READING,
        ),
        Option(
            "where to split a context that is one string (default: at line breaks)",
            name="--separator",
            metavar="TEXT",
            group=_READING,
        ),
    ),
    read="data.records:fields_given",
)
METRICS_OPTION = Option(
    "names of metrics with optional parameters, metrics, or folders of trained evaluators",
    parts=(
        Option(
            "a metric, with optional parameters: -m 'bleu(n=2)', or the folder of a trained evaluator; "
            f"{_SEVERAL}; 'all': every metric that needs no training (default: a sensible set for the data)",
            short="-m",
            name="--metric",
            metavar="NAME",
            many="repeat",
            group="metrics",
        ),
        Option(
            "take metrics and their parameters from a TOML file", name="--config", metavar="FILE.toml", group="metrics"
        ),
    ),
    read="scoring.score:metrics_given",
)

_RUN = "training run"
RUN_PARTS = (
    Option(
        "resume an interrupted run from the checkpoints next to the output folder; a finished one is left as it is; an "
        "error if its data or settings are not those of this run",
        name="--resume",
        takes=bool,
        group=_RUN,
    ),
    Option(
        "time limit for each training stage; the best weights so far are kept (default: no limit)",
        name="--minutes",
        metavar="N",
        takes=float,
        group=_RUN,
    ),
    Option(
        "train with 16-bit numbers where the device supports them (default: no)",
        name="--mixed-precision",
        choices=("no", "bf16", "fp16"),
        group=_RUN,
    ),
)

By = Annotated[
    str | Iterable[str],
    Option(
        f"also show the results for each value of this field of the data (or: length, turns); {_SEVERAL}",
        one_or_more("the name of a field, or a list of names"),
        metavar="FIELD",
        many="repeat",
    ),
]
Cluster = Annotated[
    str | None,
    Option(
        "replies with equal values of this field are not independent, and are resampled and permuted together "
        "(default: dialogue_id, else contexts that continue each other)",
        text,
        metavar="FIELD",
    ),
]
Dimension = Annotated[str | None, Option("the dimension that was rated (default: overall)", text, metavar="NAME")]
Jobs = Annotated[
    int | None,
    Option(
        "processes that score; scores stay the same, but for the last digits of evaluators in torch (default: as "
        "many as there are cores for evaluators, and for fast metrics where there are many replies, else one)",
        whole(1, MOST_JOBS),
        metavar="N",
    ),
]
MaxCost = Annotated[
    float | None,
    Option(
        "stop before all judges together have cost more than X, by the prices given with each judge",
        number(above=0),
        metavar="X",
        group=_JUDGES,
    ),
]
OnError = Annotated[
    Literal["raise", "skip"],
    Option("stop at input that cannot be read (raise), or skip it and report it", group=_READING),
]
Margin = Annotated[
    float | None,
    Option(
        "differences below X do not matter: also test whether the systems are equivalent, or one no worse than the "
        "other, within X (in units of the primary metric; with --labels, of the labels)",
        number(above=0),
        metavar="X",
    ),
]
PairBy = Annotated[
    str | None,
    Option(
        "pair the replies of different systems by equal values of this field (default: context_id, else equal context "
        "and references; with --scores: context_id, else id)",
        text,
        metavar="FIELD",
    ),
]
PrimaryMetric = Annotated[
    str | None,
    Option(
        "the metric that decides which system is better; the others are secondary evidence (default: the first -m, "
        "else default, else the first that the data allow)",
        text,
        metavar="METRIC",
    ),
]
Quiet = Annotated[bool, Option("show neither progress nor notes", shown=False)]
Resamples = Annotated[
    int,
    Option(
        "number of bootstrap resamples for each interval",
        whole(1, MOST_RESAMPLES, "more would change no digit that is shown"),
    ),
]
Resume = Annotated[
    bool,
    Option(
        "resume an interrupted run with the same output; a finished one is left as it is; an error if its data, "
        "metrics or settings are not those of this run"
    ),
]
Scale = Annotated[
    tuple[float, float] | None,
    Option(
        "the ends of the rating scale (default: the lowest and highest rating in the data)",
        scale,
        metavar=("LOWEST", "HIGHEST"),
    ),
]
Seed = Annotated[int, Option("random seed", whole(0, HIGHEST_SEED))]


# Checks of parameters, with the same messages for every model.


class NamedModel(Protocol):
    """A model whose parameters are attributes; messages begin with its name."""

    name: ClassVar[str]


def check_number(model: NamedModel, name: str, value: Any) -> float:
    """The value of a parameter; CallError if it is not a finite number, or not whole where an int is declared."""
    # numpy's numbers are Real, too. A value that is not finite could not be saved, which would show after training.
    if isinstance(value, bool) or not isinstance(value, Real) or not _is_finite(value):
        raise CallError(f"{model.name}: {name} must be a number, not {shortened(value)}")
    if _counts(model, name) and value % 1 != 0:
        raise CallError(f"{model.name}: {name} must be a whole number, not {value}")
    return float(value)


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _counts(model: NamedModel, name: str) -> bool:
    """Whether the parameter is declared as an int."""
    declared = (vars(kind).get("__annotations__", {}).get(name) for kind in type(model).__mro__)
    return str(next((kind for kind in declared if kind is not None), "")).startswith("int")


def check_least(model: NamedModel, least: Mapping[str, float]) -> None:
    """Raise a CallError if a parameter is below its least value; None is allowed."""
    for name, bound in least.items():
        value = getattr(model, name)
        if value is not None and check_number(model, name, value) < bound:
            raise CallError(f"{model.name}: {name} must be at least {bound}, not {value}")


def check_rates(model: NamedModel, *names: str) -> None:
    """Raise a CallError unless each parameter is above 0 and at most 1."""
    for name in names:
        if not 0 < check_number(model, name, getattr(model, name)) <= 1:
            raise CallError(f"{model.name}: {name} must be above 0 and at most 1, not {getattr(model, name)}")


def check_scale(model: NamedModel, scale: tuple[float, ...] | None) -> None:
    """Raise a CallError unless the scale of ratings, if given, is a lowest and a higher score."""
    if scale is not None and not (len(scale) == 2 and -math.inf < scale[0] < scale[1] < math.inf):
        raise CallError(f"{model.name}: scale must be the lowest score and a higher one, not {scale}")


def unit_given(unit: str | None, every_turn: bool | None) -> str | None:
    """The unit of a command line: --every-turn is --unit turn."""
    return "turn" if every_turn else unit


UnitOption = Annotated[
    Literal["reply", "turn"],
    Option(
        "what is scored of a conversation: its last reply, or each assistant turn in its place",
        parts=(
            Option(
                "what is scored of a conversation: its last reply (default), or each assistant turn in its place",
                name="--unit",
                choices=("reply", "turn"),
                alternative="unit",
            ),
            Option("the same as --unit turn", name="--every-turn", takes=bool, alternative="unit"),
        ),
        read=unit_given,
    ),
]
