"""The HTTP service: `rejoinder serve`.

batcher    scores the replies of many requests together
limits     how much one request, and all that wait, may hold
app        the routes
"""
