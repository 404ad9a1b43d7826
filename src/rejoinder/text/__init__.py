"""Text to tokens, and knowledge about words.

In reading order:

tokenise      text to tokens, by several tokenisers
coding        strings and hashes to dense integer codes
cleaning      what is removed before texts are compared: speaker tokens, stop words, punctuation
vocabulary    a byte-pair vocabulary learned from dialogues
stemming      English stems (Porter2)
wordnet       English synonyms
claims        places, names, numbers and negations that a text mentions
usage         how usual words, pairs of words and whole turns are in English dialogues
vectors       word vectors, looked up by word
vector_files  reading word2vec, GloVe and fastText files
terminal      foreign text made safe to print
grid          plain-text tables for the terminal
"""
