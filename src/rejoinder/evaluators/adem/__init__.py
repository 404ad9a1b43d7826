"""ADEM (Lowe et al. 2017): human scores, predicted from the vectors of a frozen sentence encoder.

    score = (c^T M r^ + r^T N r^ - alpha) / beta

c, r and r^ are the encoder's vectors of context, reference and reply, reduced to a few principal components; M and N
are learned from human scores. C-ADEM has the first term only, R-ADEM the second. docs/reference/adem.md describes
settings and results. The modules, in reading order:

1. `vectors`         the frozen encoder, the vectors of a batch, and principal components.
2. `solvers`         M and N for given settings: exactly, or by gradient descent.
3. `learning`        the settings: number of components, strength and target of the penalty.
4. `length`          the trend of scores with reply length, which can be removed.
5. `adem`            the evaluators `adem`, `c-adem` and `r-adem`.
6. `dot`             the paper's baselines, dot products without learning: `encoder-dot`, `vhred-dot`, `t2v-dot`.
7. `human_likeness`  a classifier of human against model replies: `human-likeness`.
"""
