"""Files that a run writes: checked before any work, reserved for one run, and moved into place when they are complete.

| module | content |
|---|---|
| `targets` | whether a file can be written, and is no input: every output of every command is checked here |
| `named` | the files that options and parameters name |
| `locks` | one run at a time per output |
| `writing` | complete files only: temporary files that are moved into place |
| `unfinished` | the rows of an unfinished run, and whether an output is of the run that resumes it |
"""
