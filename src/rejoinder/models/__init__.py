"""Text in, probabilities or vectors out: language models and sentence encoders.

In reading order:

ngram              n-gram language models: counting, scoring of many sentences at once, back-off, pruning
smoothing          smoothing of n-gram models: Good-Turing, SRILM's default, and modified Kneser-Ney
arpa               the file format that n-gram models share
causal             pretrained causal language models: the probability of whole texts, and of replies after their
                   context
language_model     what all models of replies offer: the probability of a dialogue's replies, and perplexity
recurrent          recurrent networks that predict replies: their interface, parts, attention and sampled softmax;
                   skip-thought (Kiros et al. 2015)
token_dialogues    dialogues as token numbers
text_encoder       A pretrained encoder that is not trained any further: loading it, and one vector per text
sentence_encoders  sentence encoders by name or folder: pretrained, averaged word vectors, or vectors stored in a file
tweet2vec          tweet2vec (Dhingra et al. 2016): the encoder, and texts as character numbers
tweet2vec_network  the network of tweet2vec, and its training by hashtags
"""
