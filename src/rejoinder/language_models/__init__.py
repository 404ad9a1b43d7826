"""Language models: text in, probabilities out."""
