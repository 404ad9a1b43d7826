"""Models that reply, and pools of their replies to be judged.

In reading order:

base             the interface of a reply model, and how its replies are decoded
corpus           models that copy a reply of their corpus: what they share, bags of words, nearest neighbours
lexical          retrieval by words: R-TFIDF, C-TFIDF and BM25
rerank           retrieve and rerank: keywords find candidates, features order them (Tao et al. 2018)
dual_encoder     dual encoders (Liu et al. 2016, section 3): over one pretrained encoder, and with two networks of
                 their own
dual_network     the networks of dual encoders, and their training
neural           models that write token by token: tokens, training, perplexity, decoding; and pretrained causal
                 models
neural_training  the training stage of reply networks, and the networks by name
recurrent        LSTM, seq2seq, attention, HRED, VHRED
vhred            the latent variable of VHRED
causal_network   a pretrained causal language model that learns to reply
search           greedy, beam search and sampling
filters          filters of a pool: offensive words, or a metric above or below a threshold
pool             replies to contexts: by one reply model, or by a pool of several, to be judged
"""
