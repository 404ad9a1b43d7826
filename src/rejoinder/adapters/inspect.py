"""An Inspect scorer: `Task(dataset, solver=generate(), scorer=reply_score("default"))`."""

from __future__ import annotations

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from rejoinder.adapters.single_reply import score_reply, single_reply_metric
from rejoinder.data.records import turns_of_messages
from rejoinder.errors import NeedsError


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def reply_score(metric: str = "default") -> Scorer:
    """Scores the model's completion as the reply to the messages before it, with the targets as references.

    Instructions and what tools returned are not part of the context. A reply that cannot be scored is left out of
    the mean.
    """
    loaded = single_reply_metric(metric)

    async def score(state: TaskState, target: Target) -> Score:
        messages = [{"role": message.role, "content": message.text} for message in state.messages]
        if messages and messages[-1]["role"] == "assistant":
            messages.pop()  # the completion itself
        context = [text for _, text in turns_of_messages(messages, "messages")]
        reply = state.output.completion
        try:
            value = score_reply(loaded, context, reply, list(target))
        except NeedsError as error:
            return Score.unscored(reason=str(error), answer=reply)
        return Score(value=value, answer=reply, metadata={"signature": loaded.signature})

    return score
