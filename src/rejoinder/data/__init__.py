"""Anything to examples: files, frames, streams and lists of any tool, read more than once.

In reading order:

records    one record (a JSON object, a row of a table) to an Example, with every field checked
opening    files and folders are opened here; what cannot be opened is an error in plain words
files      the raw records of files, each with its line number: lines of JSON, whole documents, tables
tables     records of Parquet files, lazy frames and workbooks, and text in CSV that a spreadsheet would run
importers  records of other tools to records of ours: which tool wrote them, and what its fields are called
chats      logs of chat services, conversations and traces to contexts with replies
source     examples from any origin, readable more than once, and the first pass over them: the survey
spans      parts of a source that another process reads
replay     examples that are parsed once and read several times
judged     judged sets and preferences: replies with what people said of them
contexts   which replies share a context: by hashes for what a model was trained on, and by groups for pairing
dialogues  dialogues, and contexts without replies, in any supported form
negatives  unsuitable replies made from dialogues, and broken ones made from good replies
results    result files of Inspect, the LM evaluation harness and promptfoo as rows of scores
convert    A file of any tool to a file in our own format
"""
