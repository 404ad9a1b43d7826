"""Asking people: plan, sample, collect, agree.

In reading order:

plan       how many contexts, raters and labels does an evaluation need? From a pilot, or without one
sample     which replies people should label next, each chosen with a known probability: docs/guide/what-to-label-
           next.md
agreement  can these ratings be trusted? Agreement on every dimension, filters, and one score per reply
study      A study: questions about replies, read from a TOML file, and the template of a new one
items      items for raters
queue      what to rate next: items assigned to raters, and waves that learn from the ratings so far
databases  SQLite or PostgreSQL
store      raters, their items and their answers, appended and never changed
pages      the pages of a study, for raters and for organisers
server     the web application of a study, its server, and what keeps it safe
progress   the state of a study
flags      raters that an organiser should check, and consensus on what they answered. The program itself excludes
           nobody
export     answers to files, and to and from other tools: Label Studio, Potato, crowdsourcing batches
datasheet  a datasheet of a study, by the questions of HEDS 3.0
"""
