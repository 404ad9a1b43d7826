"""Published figures: one module per paper, with its tables as numbers and the list of all its tables and figures.

`liu2016`, `adem`, `ruber`, `am_fm` and `zhao2020` are the papers, `records` the classes they are written in, and
`judged_sets` figures of other authors' evaluators.

Nothing here imports more than the standard library.
"""

from papers.published.adem import ADEM
from papers.published.am_fm import AM_FM
from papers.published.liu2016 import LIU2016
from papers.published.records import Correlations, Item, Paper, PublishedTable, State
from papers.published.ruber import RUBER
from papers.published.zhao2020 import ZHAO2020

PAPERS = (LIU2016, ADEM, RUBER, AM_FM, ZHAO2020)
"""In the order of their years."""

__all__ = ["PAPERS", "Correlations", "Item", "Paper", "PublishedTable", "State"]
