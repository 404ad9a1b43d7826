"""rejoinder measures how good a chatbot's replies are, and whether the new version is better than the old one.

    import rejoinder

    table = rejoinder.score(rejoinder.read("replies.jsonl"), ["bleu", "rouge-l"])
    print(table)

Names are imported when they are first used, so that `import rejoinder` is fast.
"""

from __future__ import annotations

from importlib import import_module

from rejoinder import threads  # noqa: F401 - from here on, forks are watched
from rejoinder._version import __version__

TYPE_CHECKING = False  # as in `typing`, whose import would take longer than the rest of this module
if TYPE_CHECKING:
    from typing import Any

    from rejoinder.comparing.compare import compare
    from rejoinder.comparing.comparison import Comparison
    from rejoinder.comparing.history import History, history
    from rejoinder.comparing.pairwise import PairwisePreferences, prefer
    from rejoinder.comparing.preferences import Preferences
    from rejoinder.data.convert import Conversion, convert
    from rejoinder.data.records import FieldMap
    from rejoinder.data.source import read
    from rejoinder.errors import CallError, DataError, LeakageError, NeedsError, RejoinderError
    from rejoinder.evaluators.reference_points import ReferencePoint, reference_points
    from rejoinder.faulting.found import FaultsFound, faults
    from rejoinder.judge.cost import CostPlan
    from rejoinder.learning.run import TrainingRun
    from rejoinder.metrics.base import Metric, ScoreWarning
    from rejoinder.people.agreement import RaterAgreement, agree
    from rejoinder.people.opened import OpenStudy, new_study, open_study
    from rejoinder.people.plan import Plan, PrecisionPlan, plan
    from rejoinder.people.sample import LabelSample, sample
    from rejoinder.registry import load
    from rejoinder.replies.pool import Replies, generate
    from rejoinder.scoring.cards import MetricCard, MetricList, describe
    from rejoinder.scoring.check import DataCheck, check
    from rejoinder.scoring.doctor import Installation, doctor
    from rejoinder.scoring.reported import read_scores
    from rejoinder.scoring.score import judge_costs, score
    from rejoinder.scoring.table import ScoreTable
    from rejoinder.service.serve import serve
    from rejoinder.show.plots import Figure
    from rejoinder.training.calibrate import Calibrated, calibrate
    from rejoinder.training.distil import distil
    from rejoinder.training.train import setup, train
    from rejoinder.trusting.experiment import experiment
    from rejoinder.trusting.pooled import PooledTrust
    from rejoinder.trusting.trust import Trust, trust
    from rejoinder.types import Dialogue, Example, JudgedExample, Rating

_MODULES = {
    "Calibrated": "training.calibrate",
    "CallError": "errors",
    "Comparison": "comparing.comparison",
    "Conversion": "data.convert",
    "CostPlan": "judge.cost",
    "DataCheck": "scoring.check",
    "DataError": "errors",
    "Dialogue": "types",
    "Example": "types",
    "Experiment": "trusting.cross_validation",
    "FaultsFound": "faulting.found",
    "FieldMap": "data.records",
    "Figure": "show.plots",
    "History": "comparing.history",
    "Installation": "scoring.doctor",
    "JudgedExample": "types",
    "LabelSample": "people.sample",
    "LeakageError": "errors",
    "Metric": "metrics.base",
    "MetricCard": "scoring.cards",
    "MetricList": "scoring.cards",
    "NeedsError": "errors",
    "OpenStudy": "people.opened",
    "PairwisePreferences": "comparing.pairwise",
    "Plan": "people.plan",
    "PooledTrust": "trusting.pooled",
    "PrecisionPlan": "people.plan",
    "Preferences": "comparing.preferences",
    "RaterAgreement": "people.agreement",
    "Rating": "types",
    "ReferencePoint": "evaluators.reference_points",
    "RejoinderError": "errors",
    "Replies": "replies.pool",
    "ScoreTable": "scoring.table",
    "ScoreWarning": "metrics.base",
    "TrainingRun": "learning.run",
    "Trust": "trusting.trust",
    "agree": "people.agreement",
    "calibrate": "training.calibrate",
    "check": "scoring.check",
    "compare": "comparing.compare",
    "convert": "data.convert",
    "describe": "scoring.cards",
    "distil": "training.distil",
    "doctor": "scoring.doctor",
    "experiment": "trusting.experiment",
    "faults": "faulting.found",
    "generate": "replies.pool",
    "history": "comparing.history",
    "judge_costs": "scoring.score",
    "load": "registry",
    "new_study": "people.opened",
    "open_study": "people.opened",
    "plan": "people.plan",
    "prefer": "comparing.pairwise",
    "read": "data.source",
    "read_scores": "scoring.reported",
    "reference_points": "evaluators.reference_points",
    "sample": "people.sample",
    "score": "scoring.score",
    "serve": "service.serve",
    "setup": "training.train",
    "train": "training.train",
    "trust": "trusting.trust",
}

__all__ = [
    "Calibrated",
    "CallError",
    "Comparison",
    "Conversion",
    "CostPlan",
    "DataCheck",
    "DataError",
    "Dialogue",
    "Example",
    "Experiment",
    "FaultsFound",
    "FieldMap",
    "Figure",
    "History",
    "Installation",
    "JudgedExample",
    "LabelSample",
    "LeakageError",
    "Metric",
    "MetricCard",
    "MetricList",
    "NeedsError",
    "OpenStudy",
    "PairwisePreferences",
    "Plan",
    "PooledTrust",
    "PrecisionPlan",
    "Preferences",
    "RaterAgreement",
    "Rating",
    "ReferencePoint",
    "RejoinderError",
    "Replies",
    "ScoreTable",
    "ScoreWarning",
    "TrainingRun",
    "Trust",
    "__version__",
    "agree",
    "calibrate",
    "check",
    "compare",
    "convert",
    "describe",
    "distil",
    "doctor",
    "experiment",
    "faults",
    "generate",
    "history",
    "judge_costs",
    "load",
    "new_study",
    "open_study",
    "plan",
    "prefer",
    "read",
    "read_scores",
    "reference_points",
    "sample",
    "score",
    "serve",
    "setup",
    "train",
    "trust",
]


_FORMER = {
    "AgreementReport": ("RaterAgreement", "people.agreement:RaterAgreement"),
    "CalibrationReport": ("Calibrated", "training.calibrate:Calibrated"),
    "GeneratedReplies": ("Replies", "replies.pool:Replies"),
    "Judgement": ("Rating", "types:Rating"),
    "MetaAnalysis": ("PooledTrust", "trusting.pooled:PooledTrust"),
    "MetaReport": ("Trust", "trusting.trust:Trust"),
    "PairwiseReport": ("PairwisePreferences", "comparing.pairwise:PairwisePreferences"),
    "PreferenceReport": ("Preferences", "comparing.preferences:Preferences"),
    "agreement": ("agree", "people.agreement:agree"),
    "compare_pairwise": ("prefer", "comparing.pairwise:prefer"),
    "distill": ("distil", "training.distil:distil"),
    "meta_analyse": ("trust", "trusting.trust:trust"),
    "meta_evaluate": ("trust", "trusting.trust:former_trust"),
    "plan_precision": ("plan", "people.plan:plan"),
    "preferences": ("prefer", "comparing.pairwise:prefer"),
}
"""Former name -> the present one, and what is called. The former ones go with version 0.3."""


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        from warnings import warn

        present, place = _FORMER[name]
        text = f"rejoinder.{name} is now rejoinder.{present}; the old name goes with version 0.3"
        warn(text, FutureWarning, stacklevel=2)
    elif name in _MODULES:
        place = f"{_MODULES[name]}:{name}"
    else:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"rejoinder.{module}"), attribute)


def __dir__() -> list[str]:
    return __all__
