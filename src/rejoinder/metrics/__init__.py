"""Metrics that need no training.

In reading order:

base            what a metric is, and what all of them share
batch           examples scored together, with tokens computed once
length          number of tokens
ngrams          exact n-gram matches of short texts, for a whole batch
ngram_hashes    n-grams as hashes, for counts over a whole corpus
bleu            BLEU; bleu_smoothing: its smoothing methods
rouge           ROUGE-L
chrf            chrF
cider           CIDEr
meteor/         METEOR 1.5
embedding       word-vector metrics: average, extrema, greedy matching
diversity       distinct-n
novelty         repetition and specificity
pragmatic       contradictions of a reference
"""
