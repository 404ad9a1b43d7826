"""A saved evaluator with a calibration added: every other file of its folder is copied unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

from rejoinder.errors import CallError
from rejoinder.evaluators.base import Evaluator
from rejoinder.learning.saving import read_config, replacing_folder, write_config


def check_calibrated_target(model: Path, output: Path) -> None:
    """Raise a CallError, before any work, if the calibrated evaluator could not be written."""
    read_config(model)
    if not output.parent.is_dir():
        raise CallError(f"{output.parent} does not exist: expected a folder to make {output.name} in")
    if output.exists() and not output.is_dir():
        raise CallError(f"{output} is a file: expected a folder")
    if output.is_dir() and any(output.iterdir()):
        read_config(output)  # only a folder that holds an evaluator is replaced


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
