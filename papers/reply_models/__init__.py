"""Reply models by embedding metrics, perplexity and recall (Liu et al. 2016, Table 2).

`measures` computes the figures of one model, `page` makes the pages, one per corpus.
"""
