"""Systems compared with each other, and metrics compared with people.

In reading order:

| module | contents |
|---|---|
| `comparing` | `compare`: is B better than A? |
| `history` | releases of a chatbot: recorded scores, and what changed from one to the next |
| `judged` | `JudgedSet`: examples with human ratings |
| `human_means` | mean human scores from a few labels and many automatic scores |
| `human` | how well the raters agree |
| `raters` | `agreement`: who agrees with whom, filters, and one score per reply |
| `sample` | `sample`: which replies people should label next |
| `calibrate` | `calibrate`: an evaluator's scores mapped to the human scale |
| `study` | what studies start from and return |
| `correlations` | how well metrics agree with people, by reply, system and context |
| `meta`, `finding` | `meta_evaluate`: the whole report, and what it found in words |
| `meta_analysis` | `meta_analyse`: the correlations of several judged sets, pooled |
| `planning` | `plan`: contexts, raters and labels that a comparison needs |
| `preferences` | `preferences`: systems ranked by pairwise preferences |
| `studies` | length bias, noise, damaged replies and other studies of metrics |
| `experiments` | cross-validation, transfer and other studies of evaluators that learn |

Nothing is imported here: import what you need from its module.
"""
