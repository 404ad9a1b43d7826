"""tweet2vec: sentence vectors from characters (Dhingra et al. 2016).

| module | content |
|---|---|
| `encoder` | `Tweet2Vec`: its parameters, `fit` and `encode` |
| `characters` | `Alphabet`: texts as character numbers |
| `network` | the bidirectional GRU |
| `training` | the training stage: which turn of a batch follows this one? |
"""
