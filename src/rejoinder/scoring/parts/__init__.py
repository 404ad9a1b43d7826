"""Scores in parts: a folder of Parquet files, written by many processes and read without holding all rows in memory.

| module | content |
|---|---|
| `folder` | the manifest, the parts, and what an unfinished run leaves for the one that resumes it |
| `writing` | one part: its rows, and what was counted in them |
| `reading` | tables of scores from one or several folders |
"""
