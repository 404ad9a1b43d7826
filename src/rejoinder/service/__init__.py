"""The HTTP service: `rejoinder serve`.

limits         how much one request, and all that wait, may hold
batcher        scores the replies of many requests together
bodies         requests as examples, checked with the messages of the command line
comparing      the comparison of systems
why            why a reply got its scores
description    the routes and the shapes of their JSON: routes and OpenAPI document are made from it
access_log     headers, counters and the log, around every answer
app            what the routes do
pages          the page at /
"""
