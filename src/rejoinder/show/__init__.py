"""How a result looks: text, LaTeX, HTML and figures. Nothing here needs a plotting library.

In reading order:

text     tables, numbers, intervals and counts as text, in terminals, sentences, notebooks and LaTeX
document what a result is made of: blocks, and the base class of all results
forms    a document as terminal text, as Markdown and as LaTeX
markup   HTML and SVG as strings in which all text is escaped, and numbers in them
figures  the contents of figures, and their axes and bins
plots    figures as SVG, within a page or as files
html     a document as a self-contained page: one HTML file that fetches nothing
"""
