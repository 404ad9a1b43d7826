"""Recurrent networks over byte pairs, and what predicts the next token with them."""
