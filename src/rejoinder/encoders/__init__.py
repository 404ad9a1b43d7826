"""Sentence and word encoders: text in, vectors out.

| module | content |
|---|---|
| `sentence_encoders` | `SentenceEncoder` and `sentence_encoder`: any encoder by its name or folder |
| `text_encoder` | `TextEncoder`: a pretrained Hugging Face encoder with mean pooling |
| `stored_vectors` | `StoredVectors`: vectors that were computed before |
| `tweet2vec/` | a character encoder, trained on dialogues |
| `skip_thought` | the network of skip-thought; `evaluators/skip_thought` trains it |
| `word2vec` | word vectors learned from a corpus |
"""
