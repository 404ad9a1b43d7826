"""Pools of replies by several systems, to be judged by people.

| module | content |
|---|---|
| `systems` | who replies: reply models, each under a name and with its decoding |
| `offensive` | filters that leave replies out |
| `pool` | `Pool`: the rows for some contexts, without duplicates |
| `run` | `PoolRun`: writes a pool to a file, and resumes an interrupted run |
| `generate` | `generate`: replies of one model or of a pool, the function behind the command line |
"""
