"""Questions about topics, with replies about the same or another topic."""

from __future__ import annotations

from rejoinder.types import Dialogue, Example, JudgedExample
from tiny_encoder import TOPICS


def questions() -> list[Dialogue]:
    """A question about each topic, and a reply that is like all others but for the topic."""
    return [Dialogue(topic, (f"tell me about {topic}", f"well {topic} is what i like")) for topic in TOPICS]


def topics_in_order(shift: int = 0) -> list[Example]:
    """Each question about a topic, with the reply about it, or about another topic."""
    return [
        Example(
            topic,
            (f"tell me about {topic}",),
            f"well {TOPICS[(place + shift) % len(TOPICS)]} is what i like",
            (f"well {topic} is what i like",),
        )
        for place, topic in enumerate(TOPICS)
    ]


def labelled() -> list[JudgedExample]:
    """People like long replies, whatever they are about."""
    return [
        JudgedExample(
            Example(
                f"{topic} {long}", (f"tell me about {topic}",), "because it makes me happy all day" if long else "why"
            ),
            {"overall": (5.0 if long else 1.0,)},
        )
        for topic in TOPICS
        for long in (False, True)
    ]
