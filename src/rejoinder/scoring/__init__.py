"""Choosing metrics, scoring examples with them, and the table and files of scores."""
