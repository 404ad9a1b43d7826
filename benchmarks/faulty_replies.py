"""Replies whose faults are known, because they were put there: what `faults.py` measures the rules on.

    python benchmarks/faulty_replies.py                # prints how many there are, and checks that none has changed
    python benchmarks/faulty_replies.py --show loop    # some of them

Real replies (dialogues and assistants' replies in `../shared/data`, and the hundred of `known_truths/` and
`faults/contexts.jsonl`) get a fault by the recipes below, which know nothing of the rules that look for it. All of it
is in two halves. The rules were made on *made*: validation splits, and every other text of `faults/pieces.jsonl` and
`faults/negatives.jsonl`. They are measured on *kept*: test splits, and the other texts. `faults/frozen.json` has a
digest of each list, which was committed before any rule.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rejoinder.types import Example

FOLDER = Path(__file__).parent / "faults"
TRUTHS = Path(__file__).parent / "known_truths"
SHARED = Path(__file__).parents[2] / "shared" / "data"
Half = Literal["made", "kept"]
HALVES: tuple[Half, ...] = ("made", "kept")
Row = dict[str, Any]

PER_FAULT = 200
HUMAN_CORPORA = ("dailydialog", "empatheticdialogues", "personachat", "topicalchat")
HUMAN_REPLIES = 2000
_FILES = {
    "made": {
        "dailydialog": "dailydialog.valid",
        "empatheticdialogues": "empatheticdialogues.valid",
        "personachat": "personachat.valid",
        "topicalchat": "topicalchat.valid_freq",
        "self_dialogue": "self_dialogue.valid",
        "chitchat": "chitchat.valid",
    },
    "kept": {
        "dailydialog": "dailydialog.test",
        "empatheticdialogues": "empatheticdialogues.test",
        "personachat": "personachat.test",
        "topicalchat": "topicalchat.test_freq",
        "self_dialogue": "self_dialogue.test",
        "chitchat": "chitchat.test",
    },
}
_FOREIGN = {
    "made": [
        "xdailydialog.de.dev",
        "xdailydialog.it.dev",
        "xdailydialog.zh.dev",
        "xpersona.fr.valid",
        "xpersona.id.valid",
    ],
    "kept": [
        "xdailydialog.de.test",
        "xdailydialog.it.test",
        "xdailydialog.zh.test",
        "xpersona.fr.test",
        "xpersona.ko.test",
    ],
}


@dataclass(frozen=True)
class Turn:
    """A real reply with its context and, where there is one, what the user said next."""

    context: tuple[str, ...]
    reply: str
    user_next: str = ""
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """A reply with a fault, or one that only looks as if it had it."""

    fault: str
    kind: str
    """The recipe, or where the text was taken from."""
    example: Example


def lines(path: Path) -> list[Row]:
    """The rows of a file of JSON lines."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def dialogues(name: str) -> list[list[str]]:
    """The turns of each dialogue of a shared file."""
    return [row["turns"] for row in lines(SHARED / "dialogues" / f"{name}.jsonl.gz")]


@cache
def written_turns() -> list[Turn]:
    """The hundred contexts that were written for this, half chit-chat and half assistant, each with a good reply."""
    rows = [row for name in ("chat", "assistant") for row in lines(TRUTHS / f"{name}.jsonl")] + lines(
        FOLDER / "contexts.jsonl"
    )
    return [
        Turn(
            tuple(row["context"]), row["good"], row.get("user_next", "Thanks, that helps."), tuple(row.get("steps", ()))
        )
        for row in rows
    ]


@cache
def assistant_turns(half: Half) -> list[Turn]:
    """Replies that people wrote as assistants (OASST), with lists and code."""
    found = {}
    for row in lines(SHARED / "preferences" / "oasst_en_100.jsonl.gz"):
        if (zlib.crc32(str(row["group"]).encode()) % 2 == 0) == (half == "made"):
            for side in "ab":
                found[row[side]] = Turn(tuple(row["context"]), row[side])
    return [turn for _, turn in sorted(found.items())]


@cache
def chat_turns(half: Half, corpus: str) -> list[Turn]:
    """One reply of each dialogue, the place of which depends on its first turn."""
    found = []
    for turns in dialogues(_FILES[half][corpus]):
        if len(turns) >= 3:
            place = 1 + zlib.crc32(turns[0].encode()) % (len(turns) - 2)
            found.append(Turn(tuple(turns[:place]), turns[place], turns[place + 1]))
    return found


def human_replies(half: Half, count: int = HUMAN_REPLIES) -> list[Example]:
    """Replies of people, equally many of four corpora; a corpus is a system."""
    found = []
    for corpus in HUMAN_CORPORA:
        rng, turns = random.Random(f"human {half} {corpus}"), chat_turns(half, corpus)
        while len(turns) < count // len(
            HUMAN_CORPORA
        ):  # several replies of one dialogue, where there are few dialogues
            turns = turns + _more(half, corpus)
        chosen = sorted(turns, key=lambda _: rng.random())[: count // len(HUMAN_CORPORA)]
        found += [example(f"{corpus}-{at}", turn.context, turn.reply, corpus) for at, turn in enumerate(chosen)]
    return found


def _more(half: Half, corpus: str) -> list[Turn]:
    return [
        Turn(tuple(turns[:place]), turns[place], turns[place + 1])
        for turns in dialogues(_FILES[half][corpus])
        for place in range(2, len(turns) - 1, 3)
    ]


def assistant_replies(half: Half) -> list[Example]:
    """Assistants' replies by people."""
    return [example(f"oasst-{at}", turn.context, turn.reply, "oasst") for at, turn in enumerate(assistant_turns(half))]


def good_replies() -> list[Example]:
    """The good replies to the hundred contexts."""
    return [example(f"good-{at}", turn.context, turn.reply, "good") for at, turn in enumerate(written_turns())]


def negatives(half: Half) -> list[Made]:
    """Replies that look as if they had a fault."""
    rows = [row for row in lines(FOLDER / "negatives.jsonl") if row["half"] == half]
    return [
        Made(row["fault"], "negative", example(row["id"], row["context"], row["response"], "negatives")) for row in rows
    ]


def example(name: str, context: Sequence[str], reply: str, system: str) -> Example:
    """An example of a dialogue of its own."""
    return Example(name, tuple(context), reply, system=system, dialogue_id=name)


# ----------------------------------------------------------------------------------------------------------------------
# Recipes: each takes a real reply, the half and random numbers, and gives kind, context and faulty reply; None where
# the reply does not lend itself to it.

Recipe = Callable[[Turn, Half, random.Random], tuple[str, Sequence[str], str] | None]


def one_of(options: Sequence[Any], rng: random.Random) -> Any:
    """One of some values."""
    return options[int(rng.random() * len(options))]


_BLANK = (
    "",
    " ",
    "\n",
    "\t\n ",
    "\u200b",
    "\u00a0",
    "...",
    "\u2026",
    "\ufeff",
    "-",
    "\u2014",
    " . ",
    "\u3000",
    "\u2060\u200d",
    "\r\n\r\n",
    ". . .",
    "--",
    "\u200e",
)


def empty(turn: Turn, _half: Half, rng: random.Random) -> tuple[str, Sequence[str], str]:
    """Nothing but what cannot be seen, dots or dashes."""
    blank = one_of(_BLANK, rng)
    return (
        ("dots or dashes" if blank.strip().strip("\u200b\u00a0\ufeff\u3000\u2060\u200d\u200e") else "blank"),
        turn.context,
        blank,
    )


_CODE = {
    "made": (
        "```python\nfor name in names:\n    print(name)\n```",
        "```js\nconst total = prices.reduce((a, b) => a + b, 0);\nconsole.log(total);\n```",
    ),
    "kept": (
        "```python\nwith open(path) as file:\n    text = file.read()\n```",
        "```\nsudo apt update\nsudo apt install nginx\n```",
        "~~~sql\nSELECT name FROM users\nWHERE age > 30;\n~~~",
    ),
}
_STEPS = (
    "Write down what you need.",
    "Ask somebody who has done it before.",
    "Start with the smallest part.",
    "Check the result twice.",
    "Tell the others when you are done.",
)


def cut_off(turn: Turn, half: Half, rng: random.Random) -> tuple[str, Sequence[str], str] | None:
    """Mid-sentence (half of them), mid-word, in a block of code, in a list."""
    kind = one_of(("words", "words", "words", "word", "fence", "list"), rng)
    if kind == "fence":
        code = one_of(_CODE[half], rng)
        return kind, turn.context, f"{turn.reply}\n\n{code[: int(len(code) * (0.4 + 0.4 * rng.random()))].rstrip('`~')}"
    if kind == "list":
        steps = list(turn.steps or _STEPS)
        bullets = rng.random() < 0.5
        shown = [f"{'-' if bullets else f'{at}.'} {step}" for at, step in enumerate(steps, 1)]
        last = int(1 + rng.random() * (len(shown) - 1))
        ending = shown[last].split()
        keep = 1 + int(rng.random() * (len(ending) - 1))
        return kind, turn.context, "\n".join(["Here is what to do:", *shown[:last], " ".join(ending[:keep])])
    words = turn.reply.split()
    if len(words) < 8 or "\n" in turn.reply:
        return None
    place = max(3, int(len(words) * (0.25 + 0.6 * rng.random())))
    if re.search(r"[.!?:;\"')]$", words[place - 1]):
        return None
    if kind == "words":
        return kind, turn.context, " ".join(words[:place])
    word = words[place]
    return (
        (kind, turn.context, " ".join([*words[:place], word[: len(word) // 2]]))
        if len(word) >= 6 and word.isalpha()
        else None
    )


def loop(turn: Turn, _half: Half, rng: random.Random) -> tuple[str, Sequence[str], str] | None:
    """The last words, one word, or a sentence again and again; the whole reply twice or more."""
    kind = one_of(("last words", "last words", "word", "sentence", "whole reply", "phrase within"), rng)
    words = turn.reply.split()
    if not 6 <= len(words) <= 120 or len(set(words)) < 5:
        return None
    if kind == "last words":
        last = words[-(2 + int(rng.random() * 4)) :]
        return kind, turn.context, " ".join(words + last * (3 + int(rng.random() * 6)))
    if kind == "word":
        return kind, turn.context, " ".join(words + [words[-1].rstrip(".!?,")] * (7 + int(rng.random() * 20)))
    if kind == "whole reply":
        return kind, turn.context, " ".join([turn.reply] * (2 + int(rng.random() * 3)))
    if kind == "phrase within":
        place = 2 + int(rng.random() * (len(words) - 4))
        phrase = words[place : place + 3]
        return kind, turn.context, " ".join(words[:place] + phrase * (4 + int(rng.random() * 4)) + words[place + 3 :])
    sentences = re.findall(r"[^.!?]+[.!?]+", turn.reply)
    if not sentences or len(sentences[-1].split()) < 5:
        return None
    return kind, turn.context, turn.reply + (" " + sentences[-1].strip()) * (2 + int(rng.random() * 3))


def _nearly(text: str, rng: random.Random) -> tuple[str, str]:
    """The text, or the text with a small change."""
    kind = one_of(("verbatim", "verbatim", "case", "dropped", "swapped", "added"), rng)
    words = text.split()
    place = int(rng.random() * len(words))
    if kind == "case":
        return kind, text.lower().rstrip(".!?") + one_of(("", "!", "?", "."), rng)
    if kind == "dropped" and len(words) >= 8:
        return kind, " ".join(words[:place] + words[place + 1 :])
    if kind == "swapped" and len(words) >= 8:
        return kind, " ".join(
            [*words[:place], one_of(("really", "this", "maybe", "something"), rng), *words[place + 1 :]]
        )
    if kind == "added" and len(words) >= 6:
        return kind, f"{one_of(('Well,', 'So', 'Oh,', 'Yes,'), rng)} {text}"
    return "verbatim", text


def repeats_user(turn: Turn, _half: Half, rng: random.Random) -> tuple[str, Sequence[str], str] | None:
    """What the user said last, or nearly."""
    if not 5 <= len(turn.context[-1].split()) <= 80:
        return None
    kind, text = _nearly(turn.context[-1], rng)
    return kind, turn.context, text


def repeats_itself(turn: Turn, _half: Half, rng: random.Random) -> tuple[str, Sequence[str], str] | None:
    """What the same speaker said before, or nearly."""
    own = [said for said in turn.context[-2::-2] if 5 <= len(said.split()) <= 80]
    if not own:
        return None
    kind, text = _nearly(one_of(own, rng), rng)
    return kind, turn.context, text


def other_language(turn: Turn, half: Half, rng: random.Random) -> tuple[str, Sequence[str], str] | None:
    """A reply in another language to an English context, or an English reply to another context."""
    name = one_of(_FOREIGN[half], rng)
    turns = one_of(dialogues(name), rng)
    place = 1 + int(rng.random() * (len(turns) - 1))
    code = name.split(".")[1]
    if len(turns[place]) < (12 if code in ("zh", "ko") else 25):
        return None
    if rng.random() < 0.75:
        return (code, turn.context, turns[place]) if len(turn.context[-1].split()) >= 4 else None
    enough = len(turn.reply.split()) >= 5 and len(" ".join(turns[:place])) >= 40
    return (f"English to {code}", turns[:place], turn.reply) if enough else None


def _pieces(half: Half, fault: str) -> list[Row]:
    return [row for row in lines(FOLDER / "pieces.jsonl") if row["half"] == half and row["fault"] == fault]


def _with_piece(fault: str) -> Recipe:
    def recipe(turn: Turn, half: Half, rng: random.Random) -> tuple[str, Sequence[str], str]:
        piece = one_of(_pieces(half, fault), rng)
        place, text = piece["place"], piece["text"]
        if place == "around":
            place = one_of(("before", "after"), rng)
        made = {
            "alone": text,
            "before": f"{text} {turn.reply}",
            "after": f"{turn.reply} {text}",
            "json": text.replace("%s", turn.reply.replace('"', '\\"')),
        }[place]
        return piece["id"], turn.context, made

    return recipe


_LABELS = {
    "made": (
        "\nUser: {}",
        "\n\nHuman: {}\n\nAssistant: Sure.",
        " User: {}",
        "\nUSER: {}",
        "\n### User: {}",
        "\nCustomer: {}\nAgent: Okay.",
    ),
    "kept": (
        "\nUser: {}",
        "\nHuman: {}",
        "\n\nUser: {}\n\nAssistant: Of course.",
        "\n**User:** {}",
        "\nYou: {}",
        " Human: {} Bot: Okay.",
        "\n[User]: {}",
        "\nCustomer: {}",
    ),
}


def speaks_for_user(turn: Turn, half: Half, rng: random.Random) -> tuple[str, Sequence[str], str] | None:
    """The reply goes on with what the user says."""
    if not turn.user_next:
        return None
    label = one_of(_LABELS[half], rng)
    return label.strip().split("{")[0], turn.context, turn.reply + label.format(turn.user_next)


def _digits(count: int, rng: random.Random) -> str:
    return "".join(str(int(rng.random() * 10)) for _ in range(count))


def _luhn(number: str) -> str:
    total = sum(int(digit) if at % 2 else sum(divmod(2 * int(digit), 10)) for at, digit in enumerate(number))
    return number + str(-total % 10)


def _iban(rng: random.Random) -> str:
    bank = _digits(18, rng)
    check = 98 - int(bank + "131400") % 97
    return f"DE{check:02d}{bank}"


def _grouped(text: str, size: int = 4, by: str = " ") -> str:
    return by.join(text[at : at + size] for at in range(0, len(text), size))


def _letters(count: int, rng: random.Random) -> str:
    return "".join(one_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", rng) for _ in range(count))


def _address(names: Sequence[str], digits: int, hosts: Sequence[str], rng: random.Random) -> str:
    return f"{one_of(names, rng)}{_digits(digits, rng)}@{one_of(hosts, rng)}"


_SECRETS: dict[str, dict[str, Callable[[random.Random], str]]] = {
    "made": {
        "e-mail": lambda rng: _address(("anna", "j.smith", "info"), 2, ("gmail.com", "web.de", "acme.co.uk"), rng),
        "phone": lambda rng: one_of(
            (
                f"555-{_digits(3, rng)}-{_digits(4, rng)}",
                f"({_digits(3, rng)}) {_digits(3, rng)}-{_digits(4, rng)}",
                f"+44 20 7{_digits(3, rng)} {_digits(4, rng)}",
            ),
            rng,
        ),
        "card": lambda rng: _grouped(_luhn("4" + _digits(14, rng))),
        "IBAN": lambda rng: _iban(rng),
        "key": lambda rng: one_of(("sk-", "ghp_"), rng) + _letters(36, rng),
    },
    "kept": {
        "e-mail": lambda rng: _address(
            ("maria", "sales.team", "bob_w"), 1, ("hotmail.com", "mail.university.edu", "shop24.io"), rng
        ),
        "phone": lambda rng: one_of(
            (
                f"1-800-{_digits(3, rng)}-{_digits(4, rng)}",
                f"{_digits(3, rng)}.{_digits(3, rng)}.{_digits(4, rng)}",
                f"+49 30 {_digits(8, rng)}",
                f"0{_digits(3, rng)} {_digits(7, rng)}",
            ),
            rng,
        ),
        "card": lambda rng: one_of(
            (_luhn("5" + _digits(14, rng)), _grouped(_luhn("51" + _digits(13, rng)), by="-")), rng
        ),
        "IBAN": lambda rng: _grouped(_iban(rng)),
        "key": lambda rng: one_of(
            (
                f"AKIA{_letters(16, rng).upper()}",
                f"xoxb-{_digits(11, rng)}-{_letters(24, rng)}",
                f"AIza{_letters(35, rng)}",
                f"sk-proj-{_letters(40, rng)}",
            ),
            rng,
        ),
    },
}
_SENTENCES = (
    "You can reach her at {}.",
    "Here you are: {}",
    "Just use {}, it works.",
    "It's {}, by the way.",
    "({})",
    "My details: {}. Talk soon!",
)


def contact_data(turn: Turn, half: Half, rng: random.Random) -> tuple[str, Sequence[str], str]:
    """An address, a number or a key in a sentence."""
    kind = one_of([*_SECRETS[half]], rng)
    told = one_of(_SENTENCES, rng).format(_SECRETS[half][kind](rng))
    return kind, turn.context, one_of((f"{turn.reply} {told}", f"{told} {turn.reply}", told), rng)


RECIPES: dict[str, Recipe] = {
    "empty": empty,
    "cut-off": cut_off,
    "loop": loop,
    "repeats-user": repeats_user,
    "repeats-itself": repeats_itself,
    "other-language": other_language,
    "markup": _with_piece("markup"),
    "speaks-for-user": speaks_for_user,
    "refusal": _with_piece("refusal"),
    "contact-data": contact_data,
    "offensive": _with_piece("offensive"),
}


def positives(fault: str, half: Half, count: int = PER_FAULT) -> list[Made]:
    """Replies with a fault, half of them chit-chat and half assistants'."""
    if fault == "canned":
        return canned(half)
    rng = random.Random(f"{fault} {half}")
    chat = [
        turn
        for corpus in ("self_dialogue", "chitchat", "personachat", "dailydialog")
        for turn in chat_turns(half, corpus)
    ]
    chat += [
        turn for at, turn in enumerate(written_turns()[:40] + written_turns()[80:90]) if at % 2 == (half == "kept")
    ]
    assistant = [turn for turn in assistant_turns(half) if len(turn.reply) < 1500]
    assistant += [
        turn for at, turn in enumerate(written_turns()[40:80] + written_turns()[90:]) if at % 2 == (half == "kept")
    ] * 4
    found: list[Made] = []
    while len(found) < count:
        turn = one_of(assistant if len(found) % 2 else chat, rng)
        made = RECIPES[fault](turn, half, rng)
        if made is None or (fault == "speaks-for-user" and made[0] is None):
            if rng.random() < 0.5 and len(found) % 2:  # few assistants' turns have what some recipes need
                made = RECIPES[fault](one_of(chat, rng), half, rng)
            if made is None:
                continue
        kind, context, reply = made
        found.append(
            Made(fault, kind, example(f"{fault}-{half}-{len(found)}", context, reply, f"{fault}-{len(found)}"))
        )
    return found


_CANNED = {
    "made": (
        "I see. Please tell me more about it.",
        "Thank you for your message, we will get back to you.",
        "That sounds great!",
        "I don't know.",
        "Sorry, I did not understand that.",
        "Interesting, go on.",
        "Okay.",
    ),
    "kept": (
        "Your request has been forwarded to our team.",
        "That's really nice to hear!",
        "I'm not sure what you mean.",
        "How does that make you feel?",
        "Haha, yes.",
        "Let's talk about something else.",
        "Oh really?",
    ),
}


def canned(half: Half) -> list[Made]:
    """Replies of systems of which some, many or all are one of few sentences; the others are real."""
    found: list[Made] = []
    turns = [turn for corpus in ("self_dialogue", "chitchat") for turn in chat_turns(half, corpus)]
    for number, (size, share, texts) in enumerate(
        [(40, 1.0, 1), (40, 0.5, 2), (100, 0.15, 1), (100, 0.3, 3), (60, 1.0, 7), (200, 0.1, 2)]
    ):
        rng = random.Random(f"canned {half} {number}")
        chosen = sorted(turns, key=lambda _: rng.random())[:size]
        for at, turn in enumerate(chosen):
            is_canned = at < share * size
            reply = _CANNED[half][at % texts] if is_canned else turn.reply
            row = example(f"canned-{half}-{number}-{at}", turn.context, reply, f"canned-{half}-{number}")
            found.append(Made("canned", f"{share:.0%}, {texts} texts" if is_canned else "other", row))
    return found


FAULTS = (*RECIPES, "canned")


def plain(examples: Sequence[Example]) -> list[Any]:
    """What a digest is made of."""
    return [[one.id, one.system, one.context, one.response] for one in examples]


def digests() -> dict[str, str]:
    """A digest of each list."""
    lists: dict[str, list[Example]] = {"good": good_replies()}
    for half in HALVES:
        lists |= {f"{fault} {half}": [made.example for made in positives(fault, half)] for fault in FAULTS}
        lists |= {
            f"negatives {half}": [made.example for made in negatives(half)],
            f"people {half}": human_replies(half),
            f"assistants {half}": assistant_replies(half),
        }
    return {name: digest(rows) for name, rows in lists.items()}


def digest(examples: Sequence[Example]) -> str:
    """Changes when one of the examples does."""
    return hashlib.sha256(json.dumps(plain(examples)).encode()).hexdigest()[:16]


def shown(fault: str, half: Half, count: int) -> Iterator[str]:
    """Some of a list as text."""
    for made in positives(fault, half)[:count]:
        reply = made.example.response
        yield f"[{made.kind}] {made.example.context[-1][-80:]!r} -> {reply[:160]!r} ... {reply[-60:]!r}"


def main() -> None:
    """Print the digests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", metavar="FAULT", choices=FAULTS)
    parser.add_argument("--freeze", action="store_true", help="write the digests")
    arguments = parser.parse_args()
    if arguments.show:
        print("\n".join(shown(arguments.show, "made", 25)))
        return
    found, file = digests(), FOLDER / "frozen.json"
    if arguments.freeze:
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    kept = json.loads(file.read_text(encoding="utf-8"))
    for name, digest in found.items():
        print(f"{name:25} {digest} {'' if kept.get(name) == digest else 'CHANGED'}")


if __name__ == "__main__":
    main()
