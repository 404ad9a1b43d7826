"""AM-FM (D'Haro et al. 2019): adequacy and fluency of a reply compared with references, learned from plain sentences.

    AM = max(0, cosine(reply, reference)) in a semantic space of few dimensions             adequacy
    FM = min(p, q) / max(p, q),  p and q: word-normalised probabilities of both             fluency
    AM-FM = lambda * AM + (1 - lambda) * FM

docs/reference/am-fm.md describes settings and results. The modules, in reading order:

1. `semantic_space`  latent semantic indexing: the space of AM.
2. `fluency`         the language models of FM.
3. `parts`           the evaluators `am` and `fm`.
4. `weights`         weighted means of the parts, and weights fitted to human scores.
5. `am_fm`           the evaluator `am-fm`.
"""
