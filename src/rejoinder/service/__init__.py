"""The metrics over HTTP: docs/guide/serve.md.

In reading order:

app          the application: what each route does, and the access log
description  the routes, and the shapes of their JSON
bodies       the body of a request as examples, and two systems in one request compared
batcher      requests that arrive together are scored together
limits       how much one request may hold, how much may wait, and for how long
why          why a reply got its scores
"""
