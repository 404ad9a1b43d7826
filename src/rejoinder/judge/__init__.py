"""A language model as a metric: docs/guide/llm-judge.md.

In reading order:

prompt  what a judge is asked and what it may answer: rubrics, examples with scores, messages, and the reading of
        answers
wire    one HTTP request to an OpenAI-compatible endpoint: key, limits, retries, and errors reported in one line
asking  many questions to one endpoint: cached answers are reused, other questions are sent concurrently
cost    prices, a count of what was sent, and a plan before anything is sent
judge   the metrics `judge` and `jury`: one score from 1 to 5 per reply, by one language model or by several
"""
