"""rejoinder inside the tools that people already use: a few lines each, imported only where they are used.

reply_checks     checks of replies inside tests, each file scored once per session, and their report
pytest_plugin    the fixture and the option of pytest
"""
