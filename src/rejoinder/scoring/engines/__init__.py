"""Engines: where the batches of a run are scored. All give the same scores.

| module | content |
|---|---|
| `run` | what runs of all engines share: settings, metadata, what resuming depends on |
| `local` | the run on this machine: reads, scores, writes rows, builds the table |
| `sizes` | where batches are cut, which depends on data and metrics only, and how many processes pay |
| `in_process` | scores batches in this process |
| `processes` | scores batches in several processes of this machine (`--jobs`) |
| `worker` | what such a process does |
| `channel` | messages between two processes |
| `ray_run` | the run on Ray, into a folder of parts (`scoring/parts`) |
| `ray_cluster` | the cluster, and the actors that score parts |
"""
