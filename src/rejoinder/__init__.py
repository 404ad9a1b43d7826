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
    from rejoinder.comparing.history import History
    from rejoinder.comparing.pairwise import PairwisePreferences, compare_pairwise
    from rejoinder.comparing.preferences import Preferences, preferences
    from rejoinder.data.convert import Conversion, convert
    from rejoinder.data.records import FieldMap
    from rejoinder.data.source import read
    from rejoinder.errors import CallError, DataError, LeakageError, NeedsError, RejoinderError
    from rejoinder.evaluators.reference_points import ReferencePoint, reference_points
    from rejoinder.judge.cost import CostPlan
    from rejoinder.learning.run import TrainingRun
    from rejoinder.metrics.base import Metric, ScoreWarning
    from rejoinder.people.agreement import RaterAgreement, agreement
    from rejoinder.people.plan import Plan, PrecisionPlan, plan, plan_precision
    from rejoinder.people.sample import LabelSample, sample
    from rejoinder.registry import load
    from rejoinder.replies.pool import Replies, generate
    from rejoinder.scoring.check import DataCheck, check
    from rejoinder.scoring.doctor import Installation
    from rejoinder.scoring.score import score
    from rejoinder.scoring.table import ScoreTable
    from rejoinder.show.plots import Figure
    from rejoinder.training.calibrate import Calibrated, calibrate
    from rejoinder.training.distil import distill
    from rejoinder.training.train import train
    from rejoinder.trust.cross_validation import Experiment
    from rejoinder.trust.pooled import PooledTrust, meta_analyse
    from rejoinder.trust.trust import Trust, meta_evaluate
    from rejoinder.types import Dialogue, Example, JudgedExample, Judgement

_HOMES = {
    "Calibrated": "training.calibrate",
    "CallError": "errors",
    "Comparison": "comparing.comparison",
    "Conversion": "data.convert",
    "CostPlan": "judge.cost",
    "DataCheck": "scoring.check",
    "DataError": "errors",
    "Dialogue": "types",
    "Example": "types",
    "Experiment": "trust.cross_validation",
    "FieldMap": "data.records",
    "Figure": "show.plots",
    "History": "comparing.history",
    "Installation": "scoring.doctor",
    "JudgedExample": "types",
    "Judgement": "types",
    "LabelSample": "people.sample",
    "LeakageError": "errors",
    "Metric": "metrics.base",
    "NeedsError": "errors",
    "PairwisePreferences": "comparing.pairwise",
    "Plan": "people.plan",
    "PooledTrust": "trust.pooled",
    "PrecisionPlan": "people.plan",
    "Preferences": "comparing.preferences",
    "RaterAgreement": "people.agreement",
    "ReferencePoint": "evaluators.reference_points",
    "RejoinderError": "errors",
    "Replies": "replies.pool",
    "ScoreTable": "scoring.table",
    "ScoreWarning": "metrics.base",
    "TrainingRun": "learning.run",
    "Trust": "trust.trust",
    "agreement": "people.agreement",
    "calibrate": "training.calibrate",
    "check": "scoring.check",
    "compare": "comparing.compare",
    "compare_pairwise": "comparing.pairwise",
    "convert": "data.convert",
    "distill": "training.distil",
    "generate": "replies.pool",
    "load": "registry",
    "meta_analyse": "trust.pooled",
    "meta_evaluate": "trust.trust",
    "plan": "people.plan",
    "plan_precision": "people.plan",
    "preferences": "comparing.preferences",
    "read": "data.source",
    "reference_points": "evaluators.reference_points",
    "sample": "people.sample",
    "score": "scoring.score",
    "train": "training.train",
}

_RENAMED = {
    "AgreementReport": "RaterAgreement",
    "CalibrationReport": "Calibrated",
    "GeneratedReplies": "Replies",
    "MetaAnalysis": "PooledTrust",
    "MetaReport": "Trust",
    "PairwiseReport": "PairwisePreferences",
    "PreferenceReport": "Preferences",
}
"""Names before 0.2 -> those of now."""

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
    "FieldMap",
    "Figure",
    "History",
    "Installation",
    "JudgedExample",
    "Judgement",
    "LabelSample",
    "LeakageError",
    "Metric",
    "NeedsError",
    "PairwisePreferences",
    "Plan",
    "PooledTrust",
    "PrecisionPlan",
    "Preferences",
    "RaterAgreement",
    "ReferencePoint",
    "RejoinderError",
    "Replies",
    "ScoreTable",
    "ScoreWarning",
    "TrainingRun",
    "Trust",
    "__version__",
    "agreement",
    "calibrate",
    "check",
    "compare",
    "compare_pairwise",
    "convert",
    "distill",
    "generate",
    "load",
    "meta_analyse",
    "meta_evaluate",
    "plan",
    "plan_precision",
    "preferences",
    "read",
    "reference_points",
    "sample",
    "score",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        import warnings

        new = _RENAMED[name]
        warnings.warn(f"rejoinder.{name} is now rejoinder.{new}; the old name goes in 0.3", FutureWarning, stacklevel=2)
        name = new
    if name not in _HOMES:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    return getattr(import_module(f"rejoinder.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
