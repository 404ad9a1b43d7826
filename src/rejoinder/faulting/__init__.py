"""What is wrong with a reply, named: `rejoinder.faults` is the function.

In reading order:

fault    what a fault is: its evidence, what it needs, its card; all faults by name, those of other packages included
rules    faults that are found by exact rules in the reply and what was said before it
wording  faults that are found by their wording: refusals, leftovers of templates, contact data, offensive words
found    `faults`: all replies of a source, and what was found in them
"""
