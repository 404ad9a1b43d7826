"""Where the recipe reads and writes, and how much it computes: what the command line decides."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from recipes.default_evaluator.corpora import FREE, NON_COMMERCIAL

ENCODERS: Mapping[str, str] = MappingProxyType(
    {"minilm": "sentence-transformers/all-MiniLM-L6-v2", "mpnet": "sentence-transformers/all-mpnet-base-v2"}
)
"""Folder of a pretrained encoder -> its Hugging Face name."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Paths and sizes of one run."""

    data: Path = Path("../shared/data")
    """Holds dialogues/<corpus>.<split>.jsonl.gz and judged/<name>.jsonl.gz."""
    models: Path = Path("models-cache")
    """Holds the folders of the pretrained encoder and of the language model."""
    work: Path = Path("build/default_evaluator")
    """Gets what each step makes; a step whose file is there already is passed over."""
    corpora: str = "free"
    encoder: str = "minilm"
    language_model: str = "smollm2"
    threads: int = 1
    tower_pairs: int = 60_000
    tower_minutes: float = 40.0
    tower_frozen: int = 0
    """The lowest layers that the towers keep as they are."""
    teacher_contexts: int = 12_000
    """Contexts that are drawn for the teacher."""
    teacher_judged: int = 3360
    """Those that it judges, the first."""
    teacher_seed: int = 10
    """Two runs with different seeds make two files at once, on two cores."""
    unjudged_contexts: int = 12_000
    """Contexts whose candidates are ranked only."""
    extra_contexts: int = 800
    """Those of the non-commercial corpora, in the variant that has them."""
    anchor: str = ""
    """A larger encoder whose towers tell, beside the student's own, what cosines are held near."""
    student_minutes: float = 50.0
    student_threads: int = 2
    polish_contexts: int = 2400
    polish_minutes: float = 12.0
    label_share: float = 0.75
    """How much of the way from the student to what labels made of it is kept."""
    label_replay: int = 800
    """Contexts whose candidates are held at the student's own logits meanwhile."""
    label_cosines: float = 0.3
    """How much more the cosines count afterwards, of what they were given after step 3."""
    label_epochs: int = 1
    frozen_layers: int = 2
    """The lowest layers, which labels do not change; a training step costs less the more they are."""
    student_frozen: int = 0
    """Those that the student does not change."""
    most_labels: int = 8000
    """Judged replies of each set at most."""

    @property
    def corpus_names(self) -> list[str]:
        """The files of dialogues that are learned from."""
        return [*FREE, *(NON_COMMERCIAL if self.corpora == "non-commercial" else ())]

    @property
    def encoder_folder(self) -> Path:
        """Of the pretrained encoder."""
        return self.models / self.encoder

    @property
    def encoder_name(self) -> str:
        """What anyone else would get the pretrained encoder by."""
        return ENCODERS[self.encoder]


SMALL: Mapping[str, Any] = MappingProxyType(
    {
        "tower_pairs": 400,
        "tower_minutes": 0.1,
        "teacher_contexts": 8,
        "teacher_judged": 8,
        "unjudged_contexts": 8,
        "extra_contexts": 4,
        "student_minutes": 0.1,
        "polish_minutes": 0.1,
        "label_replay": 4,
        "most_labels": 4,
        "work": Path("build/default_evaluator_small"),
    }
)
"""Sizes of a run that only shows that all steps work."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that every step has."""
    group = parser.add_argument_group("the run")
    choices = {"corpora": ["free", "non-commercial"], "encoder": list(ENCODERS), "anchor": list(ENCODERS)}
    for field in fields(Plan):
        shown = f"default: {field.default}"
        kind = type(field.default)
        group.add_argument(_option(field.name), type=_kind(kind), choices=choices.get(field.name), help=shown)
    group.add_argument("--small", action="store_true", help="tiny sizes: a few minutes, to see that all steps work")


def plan_of(given: argparse.Namespace) -> Plan:
    """The plan that the command line asks for; torch is told how many threads it may use."""
    import torch

    values = {field.name: getattr(given, field.name) for field in fields(Plan)}
    stated = {name: value for name, value in values.items() if value is not None}
    plan = Plan(**{**(SMALL if given.small else {}), **stated})
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    torch.set_num_threads(plan.threads)
    return plan


def plan_from_command_line(description: str | None) -> Plan:
    """The plan of a step that has no options of its own; its folder is made."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    plan = plan_of(parser.parse_args())
    plan.work.mkdir(parents=True, exist_ok=True)
    return plan


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _kind(kind: type[Any]) -> Any:
    """What turns the text of an option into its value."""
    return Path if issubclass(kind, Path) else kind
