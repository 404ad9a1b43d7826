"""ADEM, C-ADEM and R-ADEM, and the baselines of their paper (Lowe et al. 2017).

In reading order:

adem       the evaluators ADEM, C-ADEM and R-ADEM (Lowe et al. 2017), with their control for length
learning   how ADEM is fitted: its settings by cross-validation, and the solvers
vectors    the frozen sentence encoder, and principal components
baselines  ADEM's baselines (Lowe et al. 2017, Table 3): dot products of encoders, and a model of human-likeness
"""
