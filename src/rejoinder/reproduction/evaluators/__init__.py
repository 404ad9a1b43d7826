"""How well evaluators and metrics agree with people on every judged set."""
