"""Language models: text in, probabilities out.

| module | content |
|---|---|
| `ngram/` | n-gram models: counting, smoothing, pruning, ARPA files |
| `causal` | `CausalModel`: the probability of whole texts by a pretrained model |
| `reply_likelihood` | the probability of replies after their context by a pretrained model |
| `recurrent/` | recurrent networks over byte pairs, which reply models and skip-thought are built from |
| `likelihood` | `Likelihood`: the cost of the replies of dialogues, and their perplexity |
"""
