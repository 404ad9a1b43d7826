"""Figures as SVG, in reports, in notebooks and as files.

All of them draw the same panels, so a number is the same wherever it is shown. Nothing here needs a plotting library.
In reading order:

| module | contents |
|---|---|
| `markup`, `numbers` | escaped HTML and SVG, numbers as text |
| `panels` | what a figure shows |
| `axes`, `bins`, `plots` | how it is drawn |
| `standalone` | `Figure`: a figure outside a report, with its colours inside |
"""
