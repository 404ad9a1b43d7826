"""ADEM, its variants and baselines on public judged sets (Lowe et al. 2017).

In reading order:

encoders         the sentence encoders; every text is encoded once
study            judged sets and scores shared by all sections
likeness         human against model replies
training_curves  correlation with people during training
page             the page `adem-figures`
speed            the page `adem-speed`
"""
