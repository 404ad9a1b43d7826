"""Reply models by embedding metrics, perplexity and recall (Liu et al. 2016, Table 2)."""
