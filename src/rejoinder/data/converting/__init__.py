"""Files of any tool to files in our own format.

In reading order:

sampling   whole dialogues chosen at random; repeated replies left out
writers    examples to .jsonl, .csv, .parquet and .xlsx
convert    both, from Python
"""
