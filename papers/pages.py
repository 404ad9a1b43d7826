"""The pages of docs/results and the module that makes each, imported when it is asked for.

A page's module has a dataclass `Settings`, the names of its sections in their order, `SECTIONS`, and
`make(inputs, settings, sections)`, which gives the finished `Document`.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, cast

from papers.documents import Document
from papers.inputs import Inputs
from papers.published import PAPERS
from rejoinder.errors import CallError, UnknownNameError


class PageModule(Protocol):
    """The interface of a page's module."""

    Settings: type[Any]
    SECTIONS: Collection[str]

    def make(self, inputs: Inputs, settings: Any, sections: Sequence[str]) -> Document:
        """The page with these of its sections."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, before its module is imported."""

    module: str
    title: str
    needs: str
    """Data and models that are needed in addition to the package."""
    time: str
    """On one core, with an empty cache."""
    preset: tuple[str, ...] = ()
    """Settings in which it differs from another page of the same module."""

    def load(self) -> PageModule:
        """The module that makes it."""
        return cast(PageModule, importlib.import_module(f"papers.{self.module}"))


PAGES: Mapping[str, Page] = MappingProxyType(
    {
        "papers": Page("papers", "Every table and figure of the papers", "nothing", "a second"),
        "metric-figures": Page(
            "judged.metrics",
            "Metrics against people on judged sets with references",
            "judged/zhao2020_*, usr_personachat, gupta2019_dailydialog, grade_*",
            "a minute",
        ),
        "rater-figures": Page(
            "judged.raters",
            "Agreement of raters, and their ratings by question and source",
            "judged/zhao2020_*, usr_personachat, humod",
            "a minute",
        ),
        "evaluator-studies": Page(
            "judged.studies",
            "ADEM, RUBER and the default evaluator: systems, single replies, robustness",
            "judged/zhao2020_*, judged/gupta2019_dailydialog, dialogues/dailydialog; model minilm",
            "five minutes",
        ),
        "dstc6": Page(
            "dstc6",
            "Our corpus scores of the DSTC6 systems next to the organisers'",
            "judged/dstc6_t2; METEOR's paraphrase table and GloVe for one column each",
            "two minutes",
        ),
        "am-fm-table1": Page(
            "am_fm.table_1",
            "Metrics against people over the DSTC6 systems",
            "judged/dstc6_t2; a trained skip-thought for one row",
            "three minutes",
        ),
        "am-fm-dstc6": Page(
            "am_fm.page",
            "AM-FM on DSTC6",
            "judged/dstc6_t2, dialogues/dailydialog and dialogues/self_dialogue; a causal language model for one row",
            "two minutes",
        ),
        "ruber-figures": Page(
            "ruber.page",
            "RUBER on DailyDialog and PersonaChat",
            "judged/zhao2020_*, dialogues/dailydialog and dialogues/personachat, models minilm; a trained hred",
            "about two hours (estimated)",
        ),
        "ruber-transfer": Page(
            "ruber.transfer",
            "RUBER trained on one corpus and tested on another, both ways",
            "judged/zhao2020_*, dialogues/dailydialog and dialogues/personachat, model minilm",
            "six minutes (estimated)",
        ),
        "adem-figures": Page(
            "adem.page",
            "ADEM, its variants and baselines over several encoders",
            "judged/zhao2020_*, judged/humod; models adem/vhred, adem/hred, adem/tweet2vec, minilm",
            "several hours (estimated)",
        ),
        "adem-speed": Page(
            "adem.speed",
            "The time that ADEM takes to score 616 replies",
            "judged/zhao2020_dailydialog; model minilm",
            "a minute",
        ),
        "reply-model-figures": Page(
            "reply_models.page",
            "Reply models on DailyDialog by embedding metrics, perplexity and recall",
            "dialogues/dailydialog, dialogues/empatheticdialogues; trained models in reply-models/dailydialog",
            "half an hour (estimated), without training the models",
        ),
        "reply-model-figures-empathetic": Page(
            "reply_models.page",
            "The same on EmpatheticDialogues",
            "dialogues/dailydialog, dialogues/empatheticdialogues; trained models in reply-models/empatheticdialogues",
            "two minutes, without training the models",
            ("corpus=empatheticdialogues",),
        ),
        "roberta-eval": Page(
            "roberta_eval",
            "RoBERTa-eval trained with its published settings, as far as a CPU allows",
            "judged/zhao2020_*; learning curves in roberta-eval",
            "seconds, without training the models",
        ),
        "evaluator-figures": Page(
            "evaluators.page",
            "How well evaluators and metrics agree with people on every judged set",
            "all judged sets; models minilm, mpnet, default-zero, and out-of-fold scores in evaluator-table",
            "hours (estimated)",
        ),
    }
)
"""Name of the page's file in docs/results -> the module that makes it."""


def find_page(name: str) -> tuple[str, tuple[str, ...]]:
    """A page and its sections, by the page's name or by that of a paper's table, such as `adem-table-5`.

    No section means all of them.
    """
    if name in PAGES:
        return name, ()
    items = {key: item for paper in PAPERS for key, item in paper.items_by_key().items()}
    if name not in items:
        raise UnknownNameError("page or table", name, [*PAGES, *items])
    item = items[name]
    if not item.page:
        raise CallError(f"no page shows {name} ({item.state.value}: {item.data})")
    return item.page, (item.section,) if item.section else ()
