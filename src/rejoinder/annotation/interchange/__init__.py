"""Studies in other labelling tools: items out, answers back into the study's store.

| module | contents |
|---|---|
| `label_studio` | tasks with answers and a labelling configuration; answers of an export |
| `potato` | items and a configuration; answers of the output folder |
| `batches` | a CSV file for Mechanical Turk or a form; answers of a results file |
| `results` | answers of any of them, checked and added to the store |

Only studies with scales. Systems are never written: items have the ids that raters see as well.
"""
