"""Verbs about models, apart from training them from scratch."""
