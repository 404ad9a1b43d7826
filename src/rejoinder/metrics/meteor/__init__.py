"""METEOR 1.5 (Denkowski and Lavie 2014): docs/reference/meteor.md.

In reading order:

metric      METEOR as a metric of the package: from alignments to scores, and limits for long texts
matching    all possible matches between replies and references, by form, stem, synonym and paraphrase
alignment   the alignment of a reply with its reference: the matches that METEOR 1.5 chooses, by beam search
paraphrase  METEOR's paraphrase table, which the user provides, and the phrases it is looked up by
"""
