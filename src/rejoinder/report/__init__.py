"""HTML reports: one file per report, which fetches nothing and can be opened anywhere.

In reading order:

| module | contents |
|---|---|
| `glossary` | terms with their explanations |
| `tables`, `panels` | HTML tables, and cards with figures, which `rejoinder.figures` draws |
| `page`, `embedded` | sections as a whole page, and data as JSON inside it |
| `chosen` | `rows_to_show`: the replies that a report of scores shows |
| `sections` | the sections of both reports |
| `html` | `render_report`: the report of a table of scores |
| `meta` | `render_meta`: the report of how well metrics agree with people |
"""
