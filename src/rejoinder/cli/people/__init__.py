"""Verbs about people: planning, collecting and using their ratings."""
