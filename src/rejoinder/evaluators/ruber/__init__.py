"""RUBER (Tao et al. 2018): a referenced part, an unreferenced part, and their blend.

In reading order:

ruber     RUBER: the blend of both parts
unref     the two parts: s_U, by a network over context and reply, and s_R, by pooled word vectors
network   the network of s_U, its inputs, and the scorer that runs it
training  from dialogues and ratings to a trained s_U: what it starts from, the pairs, and the stages
"""
