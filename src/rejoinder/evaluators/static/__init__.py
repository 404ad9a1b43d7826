"""A very fast evaluator over static word vectors and word counts, trained on scores; `default-fast` is one.

    r, l, e   weighted means of the word vectors of the reply, the last turn, and the turns before it; unit length
    m         r times a matrix, the bridge, which maps replies to the turns they answer; unit length
    score  =  1 + 4 * sigmoid(MLP([r; l; m * l; m * e; r * l; their sums; counts]))

docs/reference/default-fast.md describes settings and results. The modules, in reading order:

1. `reading`    examples as word ids, and counts of repeated, echoed and unlikely words.
2. `network`    the network in numpy, which scores.
3. `trainable`  the same network in torch, which is trained.
4. `stages`     the two losses: which reply answers which turn, and squared error on scores.
5. `training`   from dialogues and scored replies to language model and network.
6. `static`     the evaluator.
"""
