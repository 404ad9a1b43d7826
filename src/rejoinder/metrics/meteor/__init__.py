"""METEOR 1.5 for English: the scores of the original program, computed for a whole batch at once.

In reading order:

metric       METEOR as a metric of the package
parameters   METEOR's parameters, and those of its tasks
scoring      from alignments to statistics, from statistics to scores
lexicon      stems, synonyms and function words of the words of a batch
relation     which words of a reply and its reference are related
matching     all possible matches of single words
paraphrase   the paraphrase table; phrases: all possible matches of phrases
limits       how much of very long texts is compared
alignment    which matches make up the alignment
beam         the search where there is a choice
"""
