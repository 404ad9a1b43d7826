"""The template of a study: `rejoinder annotate new replies.jsonl` writes it, to be edited by hand."""

from __future__ import annotations

import json
from pathlib import Path

_STUDY = """\
title = "How good are these replies?"
examples = {examples}
# Contexts that are used, chosen at random; 0 for all.
contexts = {contexts}
raters_per_item = {raters_per_item}
items_per_rater = {items_per_rater}
shared_items = {shared_items}
seed = 0

instructions = \"\"\"
You will read short conversations, each with one reply. Judge the reply, not the conversation before it.

There are no right or wrong answers: we want to know what you think.\"\"\"

consent = \"\"\"
Your ratings are stored with a random number instead of your name, and may be published. You may stop at any time.\"\"\"

# Hidden checks. Whoever fails them is listed on the organisers' page; nobody is rejected automatically.
[checks]
garbled = 0.05
repeated = 0.05

# Completion codes of Prolific or Mechanical Turk, if you use one of them, and where raters return to with the code.
[codes]
done = ""
declined = ""
nothing_left = ""
link = ""  # such as https://app.prolific.com/submissions/complete?cc={{code}}

# To rate only the replies that are worth most: how many, and the file that `rejoinder score --intervals -o` wrote.
# They are chosen with known probabilities, which `export` writes and `compare --labels` uses.
# [queue]
# labels = 200
# scores = "scores.jsonl"

# A question about the instructions, asked before the first reply.
# [[comprehension]]
# text = "What do you judge?"
# choices = ["the whole conversation", "the reply alone"]
# right = "the reply alone"

# The overall score comes first, on a page of its own, so that the other questions do not influence it.
[[questions]]
name = "overall"
text = "How good is this reply, all in all?"
low = 1
high = 5
labels = ["very bad", "bad", "acceptable", "good", "very good"]

[[questions]]
name = "relevance"
text = "How well does the reply fit the conversation?"
page = 2
low = 1
high = 5
labels = ["not at all", "perfectly"]
"""


def study_text(examples: Path, count: int, *, contexts: int = 0, raters_per_item: int = 3) -> str:
    """The TOML of a study of `count` replies, of which those to `contexts` contexts are used (0: all)."""
    items = max(1, min(40, count))
    path = json.dumps(str(examples), ensure_ascii=False)  # a TOML string is written like a JSON string
    return _STUDY.format(
        examples=path,
        contexts=contexts,
        raters_per_item=raters_per_item,
        items_per_rater=items,
        shared_items=min(5, items),
    )
