"""Training by name: what `rejoinder.train`, `rejoinder.distill` and the commands of the same names call."""
