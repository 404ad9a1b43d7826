"""Reply models that write a reply token by token.

| module | content |
|---|---|
| `base` | `NeuralReplyModel`: tokens, training, perplexity and decoding, shared by all |
| `recurrent` | the recurrent models and their parameters |
| `networks` | the networks of the LSTM language model, seq2seq and HRED |
| `vhred` | the network of VHRED |
| `causal` | `CausalLanguageModel`: fine-tuning of a pretrained language model |
| `causal_network` | its tokeniser and network |
| `training` | the training stage, and the likelihood of replies |
| `search` | greedy, beam search and sampling for any of the networks |
"""
