"""Reply models that copy a reply of their corpus.

| module | content |
|---|---|
| `base` | `Retrieval` and its `Corpus`; one occurrence of the true reply can be ignored |
| `bags` | texts as sparse rows of word counts |
| `lexical` | what the models that compare words share |
| `tfidf`, `bm25` | R-TFIDF and C-TFIDF, BM25 |
| `rerank`, `rerank_features` | retrieve and rerank: candidates found by keywords, ordered by features |
| `bilinear` | retrieval by sigmoid(c^T M r + b), which both dual encoders share |
| `bilinear_training` | the training of M and b over fixed vectors |
| `dual_encoder` | the dual encoder over a pretrained encoder |
| `dual_encoder_rnn`, `dual_network` | the dual encoder of two GRUs, and its network |
| `nearest` | nearest-neighbour search: exact, or by an HNSW graph |
"""
