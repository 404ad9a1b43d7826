"""Reproductions of the papers' tables and figures: one module or package per page of docs/results.

`published/` holds what the papers print, each number typed once. `pages.py` names the pages and the module that makes
each. `python -m papers --list` shows every table and figure of the papers and where it is made.

| module | contents |
|---|---|
| `making` | one page made from its name |
| `settings` | settings of a page from `key=value` texts |
| `inputs`, `replies` | the data folder; judged replies with their overall ratings |
| `cache` | scores, vectors and models kept between runs |
| `documents` | Markdown pages, with figures next to them |
| `papers`, `dstc6`, `roberta_eval` | the pages of these names |
| `conclusions` | what the papers conclude, and what holds |
| `adem`, `am_fm`, `evaluators`, `judged`, `reply_models`, `ruber` | the pages with several modules |
"""
