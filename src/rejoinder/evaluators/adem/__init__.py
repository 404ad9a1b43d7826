"""ADEM (Lowe et al. 2017): human scores, learned over the vectors of a sentence encoder."""
