"""Forty pairs of systems whose truth is known by construction: is the verdict of `rejoinder compare` right?

    python benchmarks/known_truths.py
    python benchmarks/known_truths.py -m default-fast --only chat --json found.json

Twenty pairs differ, twenty do not. The replies are written by hand (`known_truths/chat.jsonl`, `assistant.jsonl`) or
made from those by the rules below; `known_truths/pairs.jsonl` says which two systems form a pair, and has a digest of
their replies. All of it was written before anything was scored, and is not changed to suit a metric.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

import rejoinder
from rejoinder.comparing.comparison import Comparison
from rejoinder.types import Example

FOLDER = Path(__file__).parent / "known_truths"
Row = dict[str, Any]
Outcome = Literal["right", "abstained", "missed", "sure and wrong"]

MEANINGS = {
    "right": "the better system is named; or none is, where there is no difference",
    "abstained": "not decided, because the metric cannot judge the replies",
    "wrong": "decided, and not the truth: missed, or sure and wrong",
    "missed": "a wrong one without a claim: no significant difference, although there is one",
    "sure and wrong": "a wrong one with a claim: a system is named as better that is not",
}

# ----------------------------------------------------------------------------------------------------------------------
# Rules that make a reply from those written by hand.

STOCK = (
    "I don't know.|That's great!|Oh, I see.|Okay.|That sounds good.|I'm not sure.|Really?|Me too.|That's interesting.|"
    "I think so.|Thank you.|Yes, of course.|Haha, that's funny.|No problem.|Tell me more.|I'm sorry to hear that.|"
    "Nice.|What do you mean?"
).split("|")

EIGHT_SENTENCES = (
    "That reminds me of a summer that I spent by the sea with my cousins.|"
    "I was just thinking about making a pot of tea. Would you like some?|"
    "You always have the best stories, I could listen to them all day.|"
    "My brother said the same thing to me last week, isn't that funny?|"
    "I've been so busy lately that I hardly have time to read.|"
    "Let's talk about it over lunch tomorrow, I know a lovely place.|"
    "I love how the light changes in the evening at this time of year.|"
    "I never know what to say in such situations, to be honest."
).split("|")

ONE_REPLY = "Thank you for your message. We have received your request and will get back to you as soon as possible."

EVASIVE = (
    "It depends on a lot of things, I'm afraid.|There are different ways to deal with {topic}.|"
    "That's a good question about {topic}. Many people ask it.|I'd have to look into that.|"
    "You could search for information about {topic} on the internet.|I can't say anything definite about {topic}.|"
    "Maybe someone else can help you with {topic}.|That varies from case to case.|"
    "It's always good to be careful with {topic}.|I understand. These things can be complicated.|"
    "There's no simple answer to that.|Please check the usual sources for {topic}.|Opinions differ on {topic}.|"
    "You will surely find a way.|Let me know if you have any other questions.|"
    "Something can be done about {topic}, in general."
).split("|")

POLITE = (
    (
        "Thank you for getting in touch with us today.",
        "Thanks a lot for your message.",
        "It is great to hear from you.",
    ),
    (
        "I am happy to help you with your question about {topic}.",
        "I completely understand that you would like to have {topic} sorted out.",
        "Let us look at {topic} together.",
    ),
    (
        "Please let me know if there is anything else that I can do for you.",
        "If anything remains unclear, you are always welcome to write to me again.",
        "I wish you a wonderful day, and please do not hesitate to ask again.",
    ),
)

HEADINGS = (
    ("In short", "Step by step", "Good to know"),
    ("Summary", "What to do", "Notes"),
    ("Answer", "Details", "Tip"),
)


@dataclass(frozen=True)
class Turn:
    """What a rule replies to."""

    row: Row
    rows: Sequence[Row]
    rng: random.Random
    """Random numbers that depend on the reply's name, the draw and the row."""
    draw: int

    def one_of(self, texts: Sequence[str]) -> str:
        """One of the texts, with the row's topic put in."""
        return texts[int(self.rng.random() * len(texts))].format(topic=self.row.get("topic", ""))


def off_topic(turn: Turn) -> str:
    """The good reply to another context; a draw is a rotation, so that no context gets its own."""
    return str(turn.rows[(turn.rows.index(turn.row) + 6 + turn.draw) % len(turn.rows)]["good"])


def garbled(turn: Turn) -> str:
    """The words of the good reply in random order."""
    words = turn.row["good"].split()
    return " ".join(sorted(words, key=lambda _: turn.rng.random()))


def truncated(turn: Turn) -> str:
    """The first 40 % of the words of the good reply, at least two."""
    words = turn.row["good"].split()
    return " ".join(words[: max(2, int(len(words) * 0.4))]).rstrip(".,;:?!")


def typos(turn: Turn) -> str:
    """The good reply, with a letter dropped, doubled or swapped in 60 % of the words of four letters or more."""

    def mistyped(word: str) -> str:
        if len(word) < 4 or turn.rng.random() >= 0.6:
            return word
        place, kind = 1 + int(turn.rng.random() * (len(word) - 2)), int(turn.rng.random() * 3)
        middle = (word[place + 1] + word[place], word[place + 1], word[place] * 2 + word[place + 1])[kind]
        return word[:place] + middle + word[place + 2 :]

    return " ".join(map(mistyped, turn.row["good"].split()))


def looping(turn: Turn) -> str:
    """The first eight words of the good reply, of which the last three come five times."""
    words = turn.row["good"].split()[:8]
    return " ".join(words + words[-3:] * 4)


def typographic(turn: Turn) -> str:
    """The good reply with typographic apostrophes and two spaces between sentences."""
    return str(turn.row["good"]).replace("'", "\u2019").replace(". ", ".  ").replace("? ", "?  ").replace("! ", "!  ")


def evasive(turn: Turn) -> str:
    """One of sixteen sentences that avoid an answer."""
    return turn.one_of(EVASIVE)


def as_list(turn: Turn) -> str:
    """The steps as a numbered list; by an even draw, with bullets."""
    marks = [f"{number}." if turn.draw % 2 else "-" for number in range(1, len(turn.row["steps"]) + 1)]
    lines = [f"{mark} {step}" for mark, step in zip(marks, turn.row["steps"], strict=True)]
    return "\n".join([("Here is what to do:", "You can do this:")[turn.draw % 2], *lines])


def polite(turn: Turn) -> str:
    """The good reply among three polite sentences."""
    first, second, last = (turn.one_of(sentences) for sentences in POLITE)
    return f"{first} {second} {turn.row['good']} {last}"


def markdown(turn: Turn) -> str:
    """The good reply, steps and note in about 200 tokens of markdown."""
    first, second, last = (turn.one_of(sentences) for sentences in POLITE)
    short, steps, notes = HEADINGS[turn.draw % len(HEADINGS)]
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(turn.row["steps"], 1))
    return (
        f"## {turn.row['title']}\n\n{first} {second}\n\n**{short}:** {turn.row['good']}\n\n"
        f"### {steps}\n\n{numbered}\n\n"
        f"### {notes}\n\n- {turn.row['note']}\n- In most cases, all of this takes only **a few minutes**.\n"
        f"- Keep this message, so that you can come back to it later.\n\n{last}"
    )


RULES: dict[str, Callable[[Turn], str]] = {
    "stock": lambda turn: turn.one_of(STOCK),
    "eight_sentences": lambda turn: turn.one_of(EIGHT_SENTENCES),
    "one_reply": lambda turn: turn.one_of([ONE_REPLY]),
    "echo": lambda turn: turn.row["context"][-1],
    "speaks_for_user": lambda turn: f"{turn.row['good']}\nUser: {turn.row['user_next']}",
    "off_topic": off_topic,
    "garbled": garbled,
    "truncated": truncated,
    "typos": typos,
    "looping": looping,
    "typographic": typographic,
    "evasive": evasive,
    "list": as_list,
    "polite": polite,
    "markdown": markdown,
}
"""Names of `reply` in pairs.jsonl; every other name is a field of the row, written by hand."""

# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two systems, and which of them is better."""

    id: str
    better: str | None
    """ "A", "B", or None where there is no difference."""
    kind: str
    talk: str
    """chat or assistant: the file of the contexts."""
    systems: dict[str, Row]
    """Per system: `reply`, a field or a rule; `or`, which half of the contexts gets instead (`share`, `swap`); `draw`,
    the seed of rules; `part`, every other context only; `noise`, added to the scores of the other system."""
    digest: str

    @property
    def paired(self) -> bool:
        """Whether both systems answer the same contexts."""
        return not any("part" in how for how in self.systems.values())

    def examples(self) -> dict[str, list[Example]]:
        """The replies of both systems."""
        rows = _lines(f"{self.talk}.jsonl")
        return {name: [*_replies(name, how, rows)] for name, how in self.systems.items()}

    def actual_digest(self) -> str:
        """The digest of the replies as they are made now."""
        plain = [
            [example.id, example.system, example.context, example.response]
            for examples in self.examples().values()
            for example in examples
        ]
        return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def pairs() -> list[Pair]:
    """All forty."""
    return [Pair(systems={"A": row.pop("A"), "B": row.pop("B")}, **row) for row in _lines("pairs.jsonl")]


def _lines(name: str) -> list[Row]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def _replies(system: str, how: Row, rows: Sequence[Row]) -> Iterator[Example]:
    draw = how.get("draw", 1)
    by_chance = sorted(rows, key=lambda row: random.Random(f"mix {draw} {row['id']}").random())
    first = {row["id"] for row in by_chance[: round(how.get("share", 1) * len(rows))]}
    for place, row in enumerate(rows):
        if "part" in how and place % 2 != how["part"]:
            continue
        name = how["reply"] if (row["id"] in first) != how.get("swap", False) else how["or"]
        rng = random.Random(f"{name} {draw} {row['id']}")
        response = RULES[name](Turn(row, rows, rng, draw)) if name in RULES else row[name]
        context = tuple(row["context"])
        yield Example(row["id"], context, response, system=system, context_id=row["id"], dialogue_id=row["id"])


def judged(pair: Pair, metric: str, *, resamples: int = 1000) -> Comparison:
    """The comparison of a pair."""
    examples = pair.examples()
    noise = max(how.get("noise", 0.0) for how in pair.systems.values())
    if not noise:
        return rejoinder.compare(*examples.values(), metrics=[metric], resamples=resamples)
    frame = rejoinder.score([*examples["A"], *examples["B"]], [metric], resamples=resamples).to_polars()
    rounded = [
        value + noise * (2 * random.Random(f"noise {place}").random() - 1)
        for place, value in enumerate(frame[metric].to_list())
    ]
    is_b = pl.col("system") == "B"
    changed = pl.when(is_b).then(pl.Series(metric, rounded)).otherwise(pl.col(metric)).alias(metric)
    return rejoinder.compare(scores=frame.with_columns(changed), metrics=[metric], resamples=resamples)


def outcome(pair: Pair, comparison: Comparison) -> Outcome:
    """What the verdict is worth."""
    if not comparison.decided:
        return "abstained"
    if comparison.better == pair.better:
        return "right"
    return "missed" if comparison.better is None else "sure and wrong"


def named_faults(comparison: Comparison) -> dict[str, list[str]]:
    """System -> the faults that it has significantly more often than the other one."""
    found: dict[str, list[str]] = {}
    for difference in comparison.faults.differences if comparison.faults else ():
        if difference.more is not None:
            found.setdefault(difference.more, []).append(difference.fault)
    return found


def with_faults(pair: Pair, comparison: Comparison) -> Outcome:
    """What the verdict and the named faults are worth together: a fault of the worse system finds a difference, and
    one of the better or of an equal system is wrong."""
    by_score, faulty = outcome(pair, comparison), named_faults(comparison).keys()
    worse = {"A": "B", "B": "A"}.get(pair.better or "")
    if by_score == "sure and wrong" or faulty - {worse}:
        return "sure and wrong"
    return "right" if faulty else by_score


def counts(outcomes: Sequence[str]) -> dict[str, int]:
    """How often each word of MEANINGS holds."""
    found = Counter(outcomes)
    found["wrong"] = found["missed"] + found["sure and wrong"]
    return {word: found[word] for word in MEANINGS}


def told(pair: Pair, comparison: Comparison) -> Row:
    """One line of the result."""
    verdict = comparison.decisive_verdicts[0]
    difference = verdict.result.difference
    return {
        "id": pair.id,
        "kind": pair.kind,
        "talk": pair.talk,
        "paired": pair.paired,
        "truth": f"{pair.better} is better" if pair.better else "no difference",
        "verdict": "not decided"
        if not comparison.decided
        else f"{comparison.better} is better"
        if comparison.better
        else "no difference",
        "b_minus_a": [difference.estimate, difference.low, difference.high],
        "p": verdict.p_adjusted,
        "outcome": outcome(pair, comparison),
        "faults": named_faults(comparison),
        "with_faults": with_faults(pair, comparison),
        "first_sentence": comparison.sentences[0],
    }


def summary(found: Sequence[Row], key: str = "outcome") -> dict[str, dict[str, int]]:
    """The counts of all pairs, of those with a difference, and of those without."""
    groups = {
        "all": found,
        "with a difference": [row for row in found if row["truth"] != "no difference"],
        "without": [row for row in found if row["truth"] == "no difference"],
    }
    return {name: {"pairs": len(rows)} | counts([row[key] for row in rows]) for name, rows in groups.items()}


def main() -> None:
    """Print a line per pair and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--metric", default="default")
    parser.add_argument("--only", metavar="TEXT", help="only pairs whose id, kind or talk has this text")
    parser.add_argument("--json", metavar="FILE", help="also write all of it as JSON")
    arguments = parser.parse_args()
    found = []
    print(f"{'':4} {'kind':43} {'talk':9} {'truth':13} {'verdict':13} {'B - A':>6}  outcome")
    for pair in pairs():
        if arguments.only and not any(arguments.only in text for text in (pair.id, pair.kind, pair.talk)):
            continue
        row = told(pair, judged(pair, arguments.metric))
        found.append(row)
        talk = f"{row['talk'][:6]}{'' if row['paired'] else ' *'}"
        faults = "".join(f"; more {', '.join(names)} in {system}" for system, names in row["faults"].items())
        print(
            f"{row['id']:4} {row['kind'][:43]:43} {talk:9} {row['truth']:13} {row['verdict']:13} "
            f"{row['b_minus_a'][0]:+6.2f}  {row['outcome']}{faults}",
            flush=True,
        )
    print("* unpaired: each system has other contexts\n")
    for key, title in (("outcome", "by score"), ("with_faults", "by score or a named fault")):
        for name, numbers in summary(found, key).items():
            print(f"{title}, {name}: " + ", ".join(f"{number} {word}" for word, number in numbers.items()))
    print()
    for word, meaning in MEANINGS.items():
        print(f"{word}: {meaning}")
    if arguments.json:
        result = {"metric": arguments.metric, "meanings": MEANINGS, "counts": summary(found), "pairs": found}
        result["with_faults"] = summary(found, "with_faults")
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
