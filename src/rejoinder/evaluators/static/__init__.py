"""`default-fast`: tens of thousands of replies per second, without a neural encoder: docs/reference/default-fast.md.

In reading order:

reading   replies and contexts as word ids and counts
static    the evaluator and its network: tens of thousands of replies per second (docs/reference/default-fast.md)
training  how it is trained: its language model, its network, and the stages
"""
