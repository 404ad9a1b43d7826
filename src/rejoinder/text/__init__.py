"""Words, tokens, vectors.

In reading order:

tokens      text to tokens, for a whole column at once; the tokens as numbers; text cleaned for reading
words       what is known of single words: stems, WordNet, and how common they are
vectors     word vectors: a vocabulary and a matrix, and the files that they are read from
vocabulary  a byte-pair vocabulary learned from dialogues
claims      what a text mentions and what it denies
"""
