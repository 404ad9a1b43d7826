"""Scores put to use: systems against each other, metrics against people."""
