"""Recurrent networks over byte pairs that predict the next token.

| module | content |
|---|---|
| `token_dialogues` | dialogues as token numbers |
| `softmax` | the probabilities of the next token |
| `attention` | attention of a decoder to the tokens of a context |
| `parts` | readers and the decoder |
| `networks` | `ReplyNetwork`: what training, perplexity and decoding ask of a network |
| `model` | `RecurrentModel`: the parameters, vocabulary, saving and loading that all models share |
"""
