"""report.html: one file that shows the scores of several systems to a colleague.

| file | what comes out |
|---|---|
| `html` | `render_report`: the whole file, from a table of scores and the texts of some replies |
| `chosen` | `rows_to_show`: the rows whose texts the report needs |
| `page` | `render_page`: any sections as a page of their own; `Section` |
| `figures`, `axes` | inline SVG: intervals, histograms, scatter and line plots |
| `tables`, `markup`, `numbers` | HTML tables, escaped markup, numbers as they are read |
| `headlines`, `summary`, `distributions`, `replies`, `browse`, `signatures` | the sections of the report |
| `thread` | a context as turns of a chat |
| `embedded` | data as JSON inside a page |

No script but ours can run in the page, and nothing is fetched: see `page`.
"""
