"""Result files of other evaluation tools as rows of scores: whose reply, to what, and the numbers that the tool gave.

reading        recognises the files and gives their rows
inspect_log    logs of Inspect: .eval, and JSON
lm_eval        samples_TASK_TIME.jsonl of the Language Model Evaluation Harness
promptfoo      results.json of `promptfoo eval -o`
"""
