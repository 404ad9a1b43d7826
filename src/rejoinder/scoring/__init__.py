"""Scoring examples by several metrics: one loop, in the order in which its modules are read.

choosing    which metrics run, and which the data cannot serve
scorer      one batch of examples in, one column of scores per metric out
replay      examples that are parsed once and read several times
local       the loop: all batches of a source on this machine
part_file   finished rows on disk while the loop runs, from which an interrupted run resumes
grouping    which replies answer the same context or belong to one dialogue
table       the scores of all examples, with means and intervals
score_file  a score file, read back into a table
score       all of it in one call: `rejoinder.score`
"""
