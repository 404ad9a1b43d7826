"""Collecting human scores of replies: a study in TOML, a web page for raters, a durable store, and an export.

In reading order:

| module | what it has |
|---|---|
| `study` | what raters are asked, about which replies; read from TOML |
| `items` | what is shown: replies, pairs of replies or contexts, with hidden checks among them |
| `databases`, `store` | answers in SQLite or PostgreSQL, never changed and never lost once acknowledged |
| `queue` | which replies are worth rating: drawn in waves, with known probabilities |
| `assignment` | who sees what: balanced over systems, shared items, abandoned work handed out again |
| `security` | tokens, signed cookies, limits and headers |
| `rating` | the pages that raters see |
| `consensus`, `flags` | how well raters agree with the others, and raters worth a look, with the evidence |
| `progress`, `admin` | the state of a study, and the page that shows it |
| `server` | the web application and its server |
| `export` | answers as judged replies, preferences or written replies |
| `interchange` | the same study in Label Studio, Potato or a CSV batch |
| `datasheet` | a datasheet of the study |
| `template` | the study that `rejoinder annotate new` writes |
"""
