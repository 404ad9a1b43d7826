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

    from rejoinder.data.converting.convert import Conversion, convert
    from rejoinder.data.record import FieldMap
    from rejoinder.data.source import read
    from rejoinder.errors import CallError, DataError, LeakageError, NeedsError, RejoinderError
    from rejoinder.evaluators.reference_points import ReferencePoint, reference_points
    from rejoinder.figures.standalone import Figure
    from rejoinder.learning.run import TrainingRun
    from rejoinder.meta.calibrate import CalibrationReport, calibrate
    from rejoinder.meta.comparing.compare import compare
    from rejoinder.meta.comparing.comparison import Comparison
    from rejoinder.meta.meta import MetaReport, meta_evaluate
    from rejoinder.meta.meta_analysis import MetaAnalysis, meta_analyse
    from rejoinder.meta.planning.plan import plan, plan_precision
    from rejoinder.meta.planning.result import Plan, PrecisionPlan
    from rejoinder.meta.preferences.pairwise import compare_pairwise
    from rejoinder.meta.preferences.pairwise_report import PairwiseReport
    from rejoinder.meta.preferences.rank import preferences
    from rejoinder.meta.preferences.report import PreferenceReport
    from rejoinder.meta.raters.agreement import AgreementReport, agreement
    from rejoinder.meta.sample import LabelSample, sample
    from rejoinder.metrics.base import Metric, ScoreWarning
    from rejoinder.registry import load
    from rejoinder.reply_models.pool.generate import GeneratedReplies, generate
    from rejoinder.scoring.check import DataCheck, check
    from rejoinder.scoring.score import score
    from rejoinder.scoring.table import ScoreTable
    from rejoinder.training.distill import distill
    from rejoinder.training.train import train
    from rejoinder.types import Dialogue, Example, JudgedExample, Judgement

_HOMES = {
    "AgreementReport": "meta.raters.agreement",
    "CalibrationReport": "meta.calibrate",
    "CallError": "errors",
    "Comparison": "meta.comparing.comparison",
    "Conversion": "data.converting.convert",
    "DataCheck": "scoring.check",
    "DataError": "errors",
    "Dialogue": "types",
    "Example": "types",
    "FieldMap": "data.record",
    "Figure": "figures.standalone",
    "GeneratedReplies": "reply_models.pool.generate",
    "JudgedExample": "types",
    "Judgement": "types",
    "LabelSample": "meta.sample",
    "LeakageError": "errors",
    "MetaAnalysis": "meta.meta_analysis",
    "MetaReport": "meta.meta",
    "Metric": "metrics.base",
    "NeedsError": "errors",
    "PairwiseReport": "meta.preferences.pairwise_report",
    "Plan": "meta.planning.result",
    "PrecisionPlan": "meta.planning.result",
    "PreferenceReport": "meta.preferences.report",
    "ReferencePoint": "evaluators.reference_points",
    "RejoinderError": "errors",
    "ScoreTable": "scoring.table",
    "ScoreWarning": "metrics.base",
    "TrainingRun": "learning.run",
    "agreement": "meta.raters.agreement",
    "calibrate": "meta.calibrate",
    "check": "scoring.check",
    "compare": "meta.comparing.compare",
    "compare_pairwise": "meta.preferences.pairwise",
    "convert": "data.converting.convert",
    "distill": "training.distill",
    "generate": "reply_models.pool.generate",
    "load": "registry",
    "meta_analyse": "meta.meta_analysis",
    "meta_evaluate": "meta.meta",
    "plan": "meta.planning.plan",
    "plan_precision": "meta.planning.plan",
    "preferences": "meta.preferences.rank",
    "read": "data.source",
    "reference_points": "evaluators.reference_points",
    "sample": "meta.sample",
    "score": "scoring.score",
    "train": "training.train",
}

__all__ = [
    "AgreementReport",
    "CalibrationReport",
    "CallError",
    "Comparison",
    "Conversion",
    "DataCheck",
    "DataError",
    "Dialogue",
    "Example",
    "FieldMap",
    "Figure",
    "GeneratedReplies",
    "JudgedExample",
    "Judgement",
    "LabelSample",
    "LeakageError",
    "MetaAnalysis",
    "MetaReport",
    "Metric",
    "NeedsError",
    "PairwiseReport",
    "Plan",
    "PrecisionPlan",
    "PreferenceReport",
    "ReferencePoint",
    "RejoinderError",
    "ScoreTable",
    "ScoreWarning",
    "TrainingRun",
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
    if name not in _HOMES:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    return getattr(import_module(f"rejoinder.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
