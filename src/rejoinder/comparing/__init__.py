"""Is B better than A? Systems against each other, by metrics, by labels, by a judge's preferences or by releases.

In reading order:

compare      the verb: systems in pairs, on the contexts that both answered
systems      which replies belong to which system, and which are paired: from sources of examples, or from scores of
             other tools
tests        two systems on one metric: the test, and the ranking of three or more
verdict      what the test decides, the sentence that says so, and whether a check passes
labels       means of ratings, estimated from the scores of all replies and labels of a few
comparison   what `compare` returns: its verdict in words, and its document
tables       the tables of a comparison, and how to read them
fault_shares which system has more replies with a fault: shares, tests, and the check of a candidate
release      the recorded scores of one version of a chatbot
history      the releases of a chatbot in a folder: recorded, compared with each other, and shown as a history
preferences  which system do people prefer? The ranking from pairwise preferences, and its report
pairwise     the preferences of a judge that is shown two replies, and what they say about the systems
"""
