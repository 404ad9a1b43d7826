"""Metrics that need no trained network."""
