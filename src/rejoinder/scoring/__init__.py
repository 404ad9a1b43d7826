"""From a source and metrics to a table of scores: in this process, in several, or on Ray.

In reading order:

score         the verb: which metrics, which targets, scoring and the table in one call; what judges would cost
run           A run of metrics over a source: settings, sizes, what resuming depends on, and the run in this process
scorer        several metrics over one batch at a time
processes     batches in several processes of this machine: the same scores as in one, in the same order
ray           A run on Ray: parts of the input are scored by actors of a cluster into a folder
parts         A folder of scores in parts: what it holds, how it is read and written
score_file    A score file: written by `score -o`, in one piece or in parts, and read back into a table
table         the scores of many examples by several metrics: means, slices, thresholds, and the metric that decides
reliability   for how many replies a metric cannot be relied on
check         what a file contains, and which metrics can score it
advice        what to know before a metric is chosen: weaknesses, what a score means, how well it agreed with people
doctor        what is installed, and whether it works
chosen_rows   which replies a report shows
replies_page  these replies and why they are shown, as chats and as a table that can be searched
page          what only a page of a table of scores shows
"""
