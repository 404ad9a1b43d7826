"""Sentence and word encoders: text in, vectors out."""
