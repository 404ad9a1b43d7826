"""Models that reply to a context, behind one interface.

| module | content |
|---|---|
| `base` | `ReplyModel`: the interface of all reply models |
| `decoding` | `Decoding`: greedy, beam search or sampling |
| `retrieval/` | models that copy a reply of their corpus |
| `neural/` | models that write a reply token by token |
| `pool/` | replies of several models to the same contexts, to be judged |
"""
