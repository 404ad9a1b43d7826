"""rejoinder measures how good a chatbot's replies are, and whether the new version is better than the old one.

    import rejoinder

    table = rejoinder.score(rejoinder.read("replies.jsonl"), ["bleu", "rouge-l"])
    print(table)

Names are imported when they are first used, so that `import rejoinder` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rejoinder._version import __version__

if TYPE_CHECKING:
    from rejoinder.data.record import FieldMap
    from rejoinder.data.source import read
    from rejoinder.errors import CallError, DataError, LeakageError, NeedsError, RejoinderError
    from rejoinder.evaluators.reference_points import ReferencePoint, reference_points
    from rejoinder.learning.run import TrainingRun
    from rejoinder.meta.calibrate import CalibrationReport, calibrate
    from rejoinder.meta.compare import compare
    from rejoinder.meta.comparison import Comparison
    from rejoinder.meta.meta import MetaReport, meta_evaluate
    from rejoinder.metrics.base import Metric, ScoreWarning
    from rejoinder.registry import load
    from rejoinder.reply_models.pool.generate import GeneratedReplies, generate
    from rejoinder.scoring.score import score
    from rejoinder.scoring.table import ScoreTable
    from rejoinder.training.distill import distill
    from rejoinder.training.train import train
    from rejoinder.types import Dialogue, Example, JudgedExample, Judgement

_HOMES = {
    "CalibrationReport": "meta.calibrate",
    "CallError": "errors",
    "Comparison": "meta.comparison",
    "DataError": "errors",
    "Dialogue": "types",
    "Example": "types",
    "FieldMap": "data.record",
    "GeneratedReplies": "reply_models.pool.generate",
    "JudgedExample": "types",
    "Judgement": "types",
    "LeakageError": "errors",
    "MetaReport": "meta.meta",
    "Metric": "metrics.base",
    "NeedsError": "errors",
    "ReferencePoint": "evaluators.reference_points",
    "RejoinderError": "errors",
    "ScoreTable": "scoring.table",
    "ScoreWarning": "metrics.base",
    "TrainingRun": "learning.run",
    "calibrate": "meta.calibrate",
    "compare": "meta.compare",
    "distill": "training.distill",
    "generate": "reply_models.pool.generate",
    "load": "registry",
    "meta_evaluate": "meta.meta",
    "read": "data.source",
    "reference_points": "evaluators.reference_points",
    "score": "scoring.score",
    "train": "training.train",
}

__all__ = [
    "CalibrationReport",
    "CallError",
    "Comparison",
    "DataError",
    "Dialogue",
    "Example",
    "FieldMap",
    "GeneratedReplies",
    "JudgedExample",
    "Judgement",
    "LeakageError",
    "MetaReport",
    "Metric",
    "NeedsError",
    "ReferencePoint",
    "RejoinderError",
    "ScoreTable",
    "ScoreWarning",
    "TrainingRun",
    "__version__",
    "calibrate",
    "compare",
    "distill",
    "generate",
    "load",
    "meta_evaluate",
    "read",
    "reference_points",
    "score",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    return getattr(importlib.import_module(f"rejoinder.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
