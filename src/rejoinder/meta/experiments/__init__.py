"""Studies of evaluators that learn: each fits them many times, and never tests one on a context it was fitted on.

Every study runs a grid of *cells* (evaluator, random seed, training set, test set). With a folder, each cell is saved
as soon as it is finished, and an interrupted grid resumes where it stopped.

In reading order:

| module | contents |
|---|---|
| `partition` | judged sets split into training and test rows |
| `makers` | evaluators, or functions that make them |
| `cells`, `leakage`, `store`, `grid` | one fit and test; the check for leakage; finished cells on disk; all cells |
| `result` | the table of a study, with published figures for comparison if given |
| `cross_validation` | `cross_validate`: folds that share no context |
| `amounts` | `label_amounts`: how many labels are needed? |
| `low_resource` | `low_resource`: how few labels are enough? |
| `systems` | systems merged by the first words of their names |
| `left_out` | `leave_one_system_out`: replies of a new system |
| `transfer` | `transfer`: from one judged set to another |

Nothing is imported here: import what you need from its module.
"""
