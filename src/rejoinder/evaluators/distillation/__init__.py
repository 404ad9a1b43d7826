"""Small evaluators that learn the scores of larger ones."""
