"""ADEM, its variants and baselines on judged sets that anyone can have (Lowe et al. 2017)."""
