"""Zhao et al. 2020."""
