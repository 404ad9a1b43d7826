"""RUBER (Tao et al. 2018): is a reply close to a reference, and does it fit its context? Learned without human scores.

    s_R = cosine([max; min] of the reply's word vectors, [max; min] of the reference's)          referenced
    s_U = sigmoid(MLP([c; r; c^T M r])),  c and r: vectors of context and reply                  unreferenced
    RUBER = min, max or mean of both, each scaled to 0..1

s_U learns to score true replies above random ones and then, if there are any, human scores (Zhao et al. 2020).
docs/reference/ruber.md describes settings and results. The modules, in reading order:

1. `words`     text to words.
2. `pooling`   s_R: the evaluator `ruber-ref`, and the metric `ruber-pool`, the same between reply and context.
3. `inputs`    text to word or token ids, and (context, reply) pairs as the tensors that the network of s_U reads.
4. `network`   the network of s_U.
5. `scorer`    a trained network with its reader: scores pairs, is saved and loaded.
6. `start`     the network before training: from word vectors, a pretrained encoder or a trained HRED.
7. `stages`    the two losses: ranking of true above random replies, regression on human scores.
8. `training`  from dialogues and human scores to a trained `scorer`.
9. `unref`     s_U: the evaluator `ruber-unref`.
10. `ruber`    the blend of both: the evaluator `ruber`.
"""
