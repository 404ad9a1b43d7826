"""rejoinder inside the tools that people already use: a few lines each, imported only where they are used.

reply_checks     checks of replies inside tests, each file scored once per session, and their report
pytest_plugin    the fixture and the option of pytest
single_reply     the score of one reply, for the tools below
deepeval         a metric
inspect          a scorer of Inspect
mlflow           a scorer, and the means of a table as metrics of a run
evaluate         a metric of Hugging Face evaluate
torchmetrics     a metric
"""
