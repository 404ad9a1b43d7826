"""The papers' tables and figures, made again: one module per page of docs/results.

`published/` holds what the papers print, each number typed once. `pages.py` names the pages and the module that makes
each. `python -m rejoinder.reproduction --list` shows every table and figure of the papers and where it is made.
"""
