"""A language model as a judge: an ordinary metric, asked over an OpenAI-compatible endpoint.

In reading order:

| module | what it has |
|---|---|
| `rubrics` | what is judged: a question and what each score means, from a TOML file |
| `prompt` | the chat messages of one reply, in which the dialogue is data and never instruction |
| `answers` | an answer of the model -> the mean over the five digits, or why there is none |
| `cache` | every answer that was paid for, in SQLite |
| `wire` | one HTTP request: limits, retries, faults |
| `asking` | many requests at once, through the cache, with their cost |
| `judge` | `Judge`, the metric |
| `jury` | `Jury`, several judges as one |
"""
