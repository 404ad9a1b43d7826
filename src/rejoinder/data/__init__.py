"""Reading and writing: files, frames and streams to examples, and back.

In reading order:

formats      files that are not lines of text: JSON arrays, spreadsheets, folders
rows         raw records of a file, each with its line number
parquet      records of Parquet files and lazy frames
values       single values of a record, checked
messages     chat messages with roles to a context and a reply
record       one record to an Example
importers    records of other tools (chat logs, traces, tables with other column names) to records of ours
results      result files of other evaluation tools to rows of scores
source       all examples of a file, frame, stream or list, readable more than once
survey       the first pass over a source: everything readable, ids unique, what the examples have
judged       examples with human scores
unanswered   contexts that wait for a reply
dialogues    dialogues to train on
sentences    sentences to train on
corpora      training data in any supported form
files        single files of a model folder
output       writing files atomically, and the formats of score files
spreadsheets text in a CSV file that a spreadsheet would run
pairs        a context with one reply
contexts     hashes of contexts, to keep training and test data apart
negatives    unsuitable replies made from dialogues
garbling     replies in broken language made from good ones
digests      short hashes of data
"""
