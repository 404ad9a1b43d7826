"""A saved evaluator with a calibration added: every other file of its folder is copied unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.saving import replacing_folder, write_config
from rejoinder.model_folder import read_config


def write_calibrated(model: Path, output: Path, calibrated: Evaluator) -> None:
    """Copy the evaluator's folder, and put the calibration into its config.json.

    The loaded evaluator is not saved anew: a folder may hold its weights in several precisions, of which only one is
    loaded.
    """
    calibration = calibrated.fitted.calibration
    if calibration is None:
        raise ValueError("expected an evaluator that was calibrated")
    with replacing_folder(output) as fresh:
        shutil.copytree(model, fresh, dirs_exist_ok=True)
        config = read_config(fresh)
        config |= {"signature": calibrated.signature, "calibration": calibration.to_dict()}
        write_config(fresh, config)
