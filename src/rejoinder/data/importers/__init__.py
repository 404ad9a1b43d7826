"""Records of other tools to records of ours.

What a file contains is decided once, from its first records and by their structure alone. A file that could be read in
two ways is refused, with the options that would make it clear.

In reading order:

paths          a value inside a record, by a path such as output.content
conversation   chat messages of any tool to messages with `role` and `content`; the reply in what a model returned
chats          logs of requests and responses; ShareGPT conversations
traces         exports of LangSmith and Langfuse
columns        tables whose columns have the usual names: question, answer, model
detection      which of these a file is
reading        the decision, applied to every record
turns          one record per assistant turn of a chat
"""
