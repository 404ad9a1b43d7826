"""Default values that functions and command-line options share; importing them is fast, so that `--help` is."""

from __future__ import annotations

RESAMPLES = 1000
"""Bootstrap resamples for each interval."""
LEVEL = 0.9
"""The share of a calibrated evaluator's intervals that should contain the human score."""
CANDIDATE_CONTEXTS = 5000
"""Contexts of the dialogues that replies are made for, at most, when an evaluator is distilled."""
