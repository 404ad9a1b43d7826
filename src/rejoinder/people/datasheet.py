"""A datasheet of a study in Markdown, by the question numbers of HEDS 3.0 (Belz and Thomson 2024), in our own words.

What the study and its answers say is filled in; the rest is marked. The numbers are those of the authors' online form
(nlp-heds.github.io, version 3.0).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from rejoinder.people.items import Item
from rejoinder.people.progress import QuestionState, StudyState
from rejoinder.people.study import Question, Study

TO_FILL_IN = "**TO FILL IN**"
_SHOWN = {"scale": "one reply", "pair": "two replies", "write": "no reply: the rater writes one"}
_Row = tuple[str, str, str]
"""The number of a question, the question in our words, and the answer."""


def datasheet(study: Study, items: Mapping[str, Item], state: StudyState) -> str:
    """The whole sheet."""
    real = [item for item in items.values() if item.role == "real"]
    parts = [
        f"# Datasheet: {_plain(study.title)}",
        "",
        "The numbers are those of the Human Evaluation Datasheet 3.0 (Belz and Thomson 2024); the wording is ours.",
        "",
        *_section("1 Reference and resources", _reference()),
        *_section("2 Evaluated systems", _systems(real)),
        *_section("3.1 Sample of outputs", _sample(study, real)),
        *_section("3.2 Evaluators", _evaluators(study, state)),
        *_section("3.3 Experimental design", _design(study, state)),
    ]
    for question, found in zip(study.questions, state.questions, strict=True):
        parts += _section(f"4 Quality criterion: {_plain(question.name)}", _criterion(study, question, found))
    return "\n".join([*parts, *_section("5 Ethics", _ethics(study))]) + "\n"


def _reference() -> Iterator[_Row]:
    yield "1.1.1", "main reference", TO_FILL_IN
    yield "1.1.2", "which experiment of it this is", TO_FILL_IN
    yield "1.2", "where outputs, study and answers are", TO_FILL_IN
    yield "1.3.1", "who fills in this sheet (name, affiliation, email)", TO_FILL_IN
    yield "1.3.2", "whom to ask (name, affiliation, email)", TO_FILL_IN


def _systems(items: list[Item]) -> Iterator[_Row]:
    names = sorted({system for item in items for _, system in item.examples})
    yield "2.1", "input", "text: the turns of a conversation"
    yield (
        "2.2",
        "output",
        f"text: a reply. Systems: {', '.join(_plain(name or '(no name)') for name in names) or 'none'}",
    )
    yield "2.3", "task", "dialogue turn generation"
    yield "2.4", "languages of the input", TO_FILL_IN
    yield "2.5", "languages of the output", TO_FILL_IN


def _sample(study: Study, items: list[Item]) -> Iterator[_Row]:
    systems = Counter(system for item in items for _, system in item.examples)
    named = ", ".join(f"{_plain(system or '(no name)')}: {count}" for system, count in sorted(systems.items()))
    contexts = len({item.group for item in items})
    yield (
        "3.1.1",
        "outputs per system",
        f"{len(items)} items of {contexts} contexts; {named or 'raters write the replies'}",
    )
    yield "3.1.2", "how they were selected", _selected(study)
    yield (
        "3.1.3.1",
        "method of power analysis",
        f"{TO_FILL_IN} (`rejoinder plan`)",
    )
    yield "3.1.3.2", "statistical power", TO_FILL_IN
    yield "3.1.3.3", "where its code is", "rejoinder, `rejoinder plan`"


def _selected(study: Study) -> str:
    if study.queue is not None:
        return (
            f"{study.queue.labels} of them by an automatic random process with known probabilities (design "
            f"{study.queue.design or 'by the scores'}, {study.queue.waves} waves); the export has the probabilities"
        )
    if study.contexts:
        return f"{study.contexts} contexts by simple automatic random selection, random seed {study.seed}"
    return f"all replies of {_plain(study.examples)}; how that file was made: {TO_FILL_IN}"


def _evaluators(study: Study, state: StudyState) -> Iterator[_Row]:
    yield "3.2.1", "number of evaluators", f"{state.raters} joined, {state.finished} finished; excluded: {TO_FILL_IN}"
    yield "3.2.2.1", "domain experts?", TO_FILL_IN
    yield "3.2.2.2", "paid?", TO_FILL_IN
    yield "3.2.2.3", "known to the authors?", TO_FILL_IN
    yield "3.2.2.4", "authors among them?", TO_FILL_IN
    yield "3.2.3", "how they were recruited", TO_FILL_IN
    worked = sum(len(question.examples) for question in study.questions)
    asked = f"; {len(study.comprehension)} questions about the instructions" if study.comprehension else ""
    yield "3.2.4", "training", f"instructions: {_plain(study.instructions)} ({worked} worked examples{asked})"
    yield "3.2.5", "other characteristics", TO_FILL_IN


def _design(study: Study, state: StudyState) -> Iterator[_Row]:
    checks = study.checks
    flagged = len(state.flagged)
    yield "3.3.1", "preregistered?", TO_FILL_IN
    yield "3.3.2", "medium", "web form of rejoinder on a server of the organisers"
    yield "3.3.3.1", "kinds of quality assurance", "automatic checks while and after answers were given"
    yield (
        "3.3.3.2",
        "methods of quality assurance",
        f"{checks.garbled:.0%} replies with shuffled words, {checks.repeated:.0%} items shown twice, answers within "
        f"{checks.fastest:g} seconds, {checks.same} equal answers in a row, correlation with the other raters; flagged "
        f"raters: {flagged}; what was done with them: {TO_FILL_IN}",
    )
    yield "3.3.4.1", "where the form can be seen", TO_FILL_IN
    pages = f", {len(study.pages)} pages of questions per item" if len(study.pages) > 1 else ""
    yield (
        "3.3.4.2",
        "what evaluators see",
        f"the conversation, {_SHOWN[study.kind]}, the questions and the instructions; one item at a time{pages}; "
        f"systems are hidden, items in random order; {study.raters_per_item} raters per item, up to "
        f"{study.items_per_rater} items per rater, of which {study.shared_items} are given to everyone",
    )
    seconds = "" if math.isnan(state.seconds) else f"; median time per item {state.seconds:.0f} seconds"
    yield "3.3.5", "freedom of time", f"when and as fast as they like, with pauses{seconds}"
    yield "3.3.6", "can they ask questions or give feedback?", TO_FILL_IN
    yield "3.3.7", "conditions", "at a place of their own choosing, in a browser"
    yield "3.3.8", "how conditions vary", "device, place and time of day are not controlled"


def _criterion(study: Study, question: Question, found: QuestionState) -> Iterator[_Row]:
    yield "4.1.1", "kind of quality (correctness, goodness or a feature)", TO_FILL_IN
    yield "4.1.2", "aspect of the output (form, content or both)", TO_FILL_IN
    yield "4.1.3", "frame of reference (none, the input, or something else)", TO_FILL_IN
    yield "4.2.1", "objective or subjective", "subjective"
    yield "4.2.2", "absolute or relative", "relative" if question.kind == "pair" else "absolute"
    yield "4.2.3", "intrinsic or extrinsic", "intrinsic"
    yield "4.3.1.1", "name that evaluators see", "none: they see the question only"
    yield "4.3.1.2", "standardised name", TO_FILL_IN
    yield "4.3.2", "definition that evaluators see", "none besides the question and its examples"
    yield "4.3.3", "size of the scale", _size(question)
    yield "4.3.4", "values", _values(question)
    yield (
        "4.3.5",
        "how it is presented",
        "no rating instrument" if question.kind == "write" else "multiple-choice options",
    )
    task = (
        "evaluators write a reply to the conversation" if question.kind == "write" else "there is a rating instrument"
    )
    yield "4.3.6", "task without a rating instrument", task
    yield "4.3.7", "question as evaluators see it", _plain(question.text)
    yield "4.3.8", "form of response elicitation", _ELICITED[question.kind]
    yield "4.3.9", "how answers become scores", f"{_AGGREGATED[question.kind]}, or {TO_FILL_IN}"
    yield "4.3.10", "effect size and significance", _TESTED[question.kind]
    yield "4.3.11.1", "agreement between evaluators: method", "Krippendorff's alpha, interval by resampling items"
    alpha = found.alpha
    bounds = f" (95 % interval {alpha.low:.2f} to {alpha.high:.2f})" if not math.isnan(alpha.low) else ""
    yield (
        "4.3.11.2",
        "agreement between evaluators: value",
        "not assessed" if math.isnan(alpha.estimate) else f"{alpha.estimate:.2f}{bounds}",
    )
    repeats = f"{study.checks.repeated:.0%} of items are shown twice" if study.checks.repeated else "not assessed"
    yield "4.3.12.1", "agreement of evaluators with themselves: method", repeats
    yield "4.3.12.2", "agreement of evaluators with themselves: value", TO_FILL_IN


_ELICITED = {
    "scale": "direct quality estimation",
    "pair": "relative quality estimation",
    "write": "evaluators write text",
}
_AGGREGATED = {
    "scale": "mean over raters (`rejoinder agree`)",
    "pair": "Bradley-Terry model with ties (`rejoinder prefer`)",
    "write": "none",
}
_TESTED = {
    "scale": "difference of means with interval and Holm-corrected test (`rejoinder compare --labels`)",
    "pair": "differences of strength with interval and Holm-corrected test (`rejoinder prefer`)",
    "write": "none",
}


def _size(question: Question) -> str:
    if question.kind == "scale":
        return str(len(question.points))
    return "no scale" if question.kind == "write" else str(2 + question.ties)


def _values(question: Question) -> str:
    if question.kind == "scale":
        return ", ".join(
            f"{point} ({_plain(label)})" if (label := question.label(point)) else str(point)
            for point in question.points
        )
    if question.kind == "pair":
        return f"A, B{', about the same' if question.ties else ''}"
    return f"text of at least {question.shortest} characters"


def _ethics(study: Study) -> Iterator[_Row]:
    yield "5.1", "approval by an ethics committee", TO_FILL_IN
    yield (
        "5.2",
        "personal data",
        f"raters have random ids; ids of a platform are stored, but not exported; in outputs or answers: {TO_FILL_IN}",
    )
    yield "5.3", "special categories of data", TO_FILL_IN
    yield "5.4", "impact assessments", TO_FILL_IN
    yield "", "consent text", _plain(study.consent) if study.consent else "none was shown"


def _section(title: str, rows: Iterator[_Row]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield "| no. | question | answer |"
    yield "|---|---|---|"
    for number, name, value in rows:
        yield f"| {number} | {name} | {value} |"
    yield ""


def _plain(text: str) -> str:
    """A text in one line in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|&~])", r"\\\1", " ".join(text.split()))
