"""A language model as a judge: an ordinary metric, asked over an OpenAI-compatible endpoint.

In reading order:

| module | what it has |
|---|---|
| `rubrics` | what is judged: a question and what each score means, from a TOML file |
| `prompt` | the chat messages of one reply, in which the dialogue is data and never instruction |
| `answers` | an answer of the model -> the mean over the five digits, or why there is none |
| `cache` | every answer that was paid for, in SQLite |
| `key` | the key of an endpoint: which addresses are refused, and its removal from what a server sends |
| `wire` | one HTTP request: limits, retries, faults |
| `cost` | prices, what was sent, the limit, a plan before anything is sent |
| `asking` | many requests at once, through the cache, with their cost |
| `shots` | worked examples from judged replies |
| `families` | whether judge and judged system seem to be of one model family |
| `judge` | `Judge`, the metric |
| `jury` | `Jury`, several judges as one |
| `pairs` | which of two replies a judge prefers, asked in both orders |
| `spending` | what the judges among some metrics would send, and the most that they may cost |
"""
