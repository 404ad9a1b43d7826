"""The metrics in other tools: one small file per tool, because each inherits from a class of that tool.

In reading order:

pytest_plugin  pytest: the fixture `reply_checks`, and `--rejoinder-report`
reply_checks   what the fixture does
deepeval       deepeval
evaluate       hugging Face evaluate
inspect        Inspect
mlflow         MLflow
torchmetrics   torchmetrics
single_reply   one reply at a time, which several of them need
"""
