"""Learned metrics behind one interface: fit, score, save, load."""
