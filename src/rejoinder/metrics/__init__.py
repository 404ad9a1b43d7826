"""Metrics that need no training; each is a frozen dataclass, and most are one file.

In reading order:

base       the interface of a metric
batch      examples that are scored together, and what is computed once for all metrics
ngrams     how many n-grams of each reply occur in its references
hashes     n-grams as 64-bit hashes
bleu       BLEU: clipped n-gram precision with a brevity penalty, and its smoothings (Papineni et al. 2002)
overlap    ROUGE-L, chrF and length: what overlaps with the reference, and how long a reply is
cider      CIDEr
meteor/    METEOR 1.5
embedding  embedding average, vector extrema, greedy matching
diversity  Distinct-n, repetition and specificity: how varied replies are, and how much they say
pragmatic  PM: does a reply contradict the reference?
fluency    is a reply intact English?
"""
