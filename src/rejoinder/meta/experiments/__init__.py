"""How well evaluators learn: each study fits them many times over, and never tests one on a context it was fitted on.

Every study is one grid of *cells*, (evaluator, seed, training set, test set). With a folder, each finished cell is
kept there at once, and a grid that was interrupted goes on where it stopped.
"""

from rejoinder.meta.experiments.amounts import label_amounts
from rejoinder.meta.experiments.cross_validation import cross_validate
from rejoinder.meta.experiments.left_out import leave_one_system_out
from rejoinder.meta.experiments.partition import PUBLISHED
from rejoinder.meta.experiments.result import LearningResult
from rejoinder.meta.experiments.transfer import transfer

__all__ = ["PUBLISHED", "LearningResult", "cross_validate", "label_amounts", "leave_one_system_out", "transfer"]
