"""A datasheet of a study in Markdown, by the sections of HEDS 3.0 (Belz and Thomson 2024), in our own words.

What the study and its answers say is filled in; the rest is marked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from rejoinder.annotation.items import Item
from rejoinder.annotation.progress import State
from rejoinder.annotation.study import Question, Study

TO_FILL_IN = "**TO FILL IN**"
_SHOWN = {"scale": "one reply", "pair": "two replies", "write": "a context, to which the rater writes a reply"}
_ASKED = {
    "scale": "a point of a scale",
    "pair": "which of two replies is better",
    "write": "a reply in the rater's own words",
}


def datasheet(study: Study, items: Mapping[str, Item], state: State) -> str:
    """The whole sheet."""
    parts = [*_head(study), *_sample(study, items, state), *_criteria(study), *_ethics(study)]
    return "\n".join(parts) + "\n"


def _head(study: Study) -> Iterator[str]:
    yield f"# Datasheet: {_plain(study.title)}"
    yield ""
    yield "The sections are those of the Human Evaluation Datasheet 3.0 (Belz and Thomson 2024); the wording is ours."
    yield ""
    yield "## 1 Reference and resources"
    yield from _rows(
        {
            "main reference": TO_FILL_IN,
            "where data, code and answers are": TO_FILL_IN,
            "who fills in this sheet, and whom to ask": TO_FILL_IN,
        }
    )
    yield "## 2 Evaluated systems (2.1 to 2.5)"
    yield from _rows(
        {
            "input": "the turns of a conversation",
            "output": "a reply, or a person's reply as a stand-in",
            "task": "dialogue response generation",
            "languages of input and output": TO_FILL_IN,
        }
    )


def _sample(study: Study, items: Mapping[str, Item], state: State) -> Iterator[str]:
    real = [item for item in items.values() if item.role == "real"]
    systems = Counter(system for item in real for _, system in item.examples)
    named = ", ".join(f"{_plain(system or '(no name)')}: {count}" for system, count in sorted(systems.items()))
    yield "## 3.1 Sample of outputs"
    yield from _rows(
        {
            "items": f"{len(real)}, of {len({item.group for item in real})} contexts",
            "outputs per system": named or "none: raters write the replies",
            "how they were chosen": TO_FILL_IN,
            "statistical power": f"{TO_FILL_IN} (`rejoinder plan`)",
        }
    )
    yield "## 3.2 Evaluators"
    yield from _rows(
        {
            "number": f"{state.raters} joined, {state.finished} finished",
            "who they are, how they were found and paid": TO_FILL_IN,
            "training": f"instructions: {_plain(study.instructions)}",
        }
    )
    yield "## 3.3 Design"
    checks = study.checks
    yield from _rows(
        {
            "raters per item": str(study.raters_per_item),
            "items per rater": f"up to {study.items_per_rater}, of which {study.shared_items} are rated by everyone",
            "assignment": f"balanced over systems, in random order, random seed {study.seed}",
            "quality assurance": f"{checks.garbled:.0%} replies with shuffled words, {checks.repeated:.0%} items shown "
            f"twice, answers within {checks.fastest:g} seconds, {checks.same} equal answers in a row; flagged raters: "
            f"{len({flag.rater for flag in state.flags})}; what was done with them: {TO_FILL_IN}",
            "where and how answers were given": "web form of rejoinder, one item per page, systems hidden",
            "median time per item": "no answers yet" if math.isnan(state.seconds) else f"{state.seconds:.0f} seconds",
        }
    )


def _criteria(study: Study) -> Iterator[str]:
    for question in study.questions:
        yield f"## 4 Quality criterion: {_plain(question.name)}"
        yield from _rows(
            {
                "4.1, 4.2: what is judged": f"{TO_FILL_IN} (correctness, goodness or a feature; form, content or both; "
                "in its own right, relative to the input, or to something else)",
                "4.3: what raters are asked": _plain(question.text),
                "4.3: what is shown": _SHOWN[question.kind],
                "4.3: form of the answer": _ASKED[question.kind],
                "4.3: values": _values(question),
                "4.3: how answers become scores": f"mean over raters, or {TO_FILL_IN} (`rejoinder agree --aggregate`)",
                "4.3: agreement": "`rejoinder agree`: Krippendorff's alpha with its interval",
            }
        )


def _values(question: Question) -> str:
    if question.kind == "scale":
        return ", ".join(
            f"{point} ({_plain(label)})" if (label := question.label(point)) else str(point)
            for point in question.points
        )
    if question.kind == "pair":
        return f"A, B{', about the same' if question.ties else ''}"
    return f"text of at least {question.shortest} characters"


def _ethics(study: Study) -> Iterator[str]:
    yield "## 5 Ethics (5.1 to 5.4)"
    yield from _rows(
        {
            "approval by an ethics committee": TO_FILL_IN,
            "personal data": f"raters have random ids; ids of a platform are stored, but not exported; {TO_FILL_IN}",
            "special categories of data, impact on raters": TO_FILL_IN,
            "consent text": _plain(study.consent) if study.consent else "none was shown",
        }
    )


def _rows(values: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield "| | |"
    yield "|---|---|"
    for name, value in values.items():
        yield f"| {name} | {value} |"
    yield ""


def _plain(text: str) -> str:
    """A text in one line in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|&~])", r"\\\1", " ".join(text.split()))
