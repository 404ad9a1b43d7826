"""Faults that are found by exact rules, in the reply and in what was said before it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import ClassVar

from rejoinder.data.contexts import bare_text
from rejoinder.faulting.fault import Evidence, Fault, Reply, spoken_words
from rejoinder.text.language import UNKNOWN_LANGUAGE, name_of
from rejoinder.types import Example

_SOMETHING = re.compile(r"[^\s.\-\u2013\u2014\u2026_\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


class Empty(Fault):
    """Nothing to read."""

    name: ClassVar[str] = "empty"
    sentence: ClassVar[str] = "is empty"
    decides: ClassVar[str] = "Nothing but white space, invisible characters, dots or dashes."
    misses: ClassVar[str] = "Replies of words that say nothing."

    def find(self, reply: Reply) -> Evidence | None:
        """The whole reply."""
        return None if _SOMETHING.search(reply.text) else Evidence(*reply.whole)


# Cut off: within a sentence, a block of code or a list.

_ITEM = re.compile(r"[ \t]*(?:[-*\u2022]|\d{1,3}[.)])(?:[ \t]+|$)")
_FENCE = re.compile(r"(?m)^[ \t]*(?:```|~~~)")
_SENTENCE_END = re.compile(r"[.!?][\"')\u201d]?\s+[\"'(\u201c]?[A-Z]")
_LAST_WORD = re.compile(r"[A-Za-z]+(?:['\u2019][A-Za-z]+)*$")
_STRANDED = re.compile(
    r"(?i)\b(?:what|who|whom|where|which|that|thing|things|one|someone|somebody|something|anything|nothing|how|place"
    r"|people|lot|much|more|age)\b[^.!?]{0,60} (?:to|at|of|for|with|from|about|on|in|by|into|like)$"
    r"|\b(?:want|wants|wanted|love|like|used|have|has|had|going|need|try|trying|able|happy|hope|plan|supposed|glad"
    r"|dare|allowed)(?: \w+)? to$|\b(?:up|here|there) (?:to|of|in)$"
    r"|\b(?:i|you|he|she|it|we|they|that|there|this|who|so|as|not|n't) (?:is|are|am|was|were|has|have|had|do|does|did"
    r"|can|could|will|would|should|may|might|must)$"
)
"""Ends of sentences that are complete: "what they were up to", "I'd love to", "yes, it has"."""
_ENDS = frozenset(".!?\u2026\"')]}\u201d\u2019*`~:;>\u3002\uff01\uff1f|=_/\\")
_FEWEST_WORDS = 3


@cache
def _rarely_last() -> tuple[frozenset[str], frozenset[str]]:
    """English words that hardly ever end an utterance, and those that rarely do where the writer uses punctuation."""
    text = files("rejoinder").joinpath("resources/rarely_last_words.txt").read_text(encoding="utf-8")
    _, hardly, rarely = re.split(r"(?m)^# .*\n", text)[-3:]
    return frozenset(hardly.split()), frozenset([*hardly.split(), *rarely.split()])


class CutOff(Fault):
    """Ends in the middle of something."""

    name: ClassVar[str] = "cut-off"
    sentence: ClassVar[str] = "breaks off"
    decides: ClassVar[str] = (
        "A block of code that is not closed; a list whose last item is empty or lacks the full stop that the others "
        "have; a comma, an opening bracket or quotation mark at the end; or no punctuation after a word that hardly "
        "ever ends an English sentence (after one that rarely does, if the sentences before it are punctuated)."
    )
    misses: ClassVar[str] = (
        "A single sentence that breaks off after a word which could be its last, or in the middle of a word; "
        "sentences of other languages."
    )

    def find(self, reply: Reply) -> Evidence | None:
        """The last line or word."""
        text = reply.text.rstrip()
        if not text:
            return None
        if ("```" in text or "~~~" in text) and len(_FENCE.findall(text)) % 2:
            last = [*_FENCE.finditer(text)][-1]
            return Evidence(last.start() + len(last[0]) - 3, len(text), note="the block of code is not closed")
        start = text.rfind("\n") + 1
        if start and (item := _ITEM.match(text, start)):
            return self._item(text, start, item)
        final = text[-1]
        if final in ",([{\u201c\u201e\u00ab" and len(text) > 1:
            return None if text[-2:-1] in ":;" else Evidence(len(text) - 1, len(text), note="ends within a sentence")
        if final in _ENDS or not final.isalpha() or not final.isascii():
            return None
        return self._sentence(reply, text)

    def _item(self, text: str, start: int, item: re.Match[str]) -> Evidence | None:
        if item.end() >= len(text):
            return Evidence(start, len(text), note="the last item of the list is empty")
        others = [line.rstrip() for line in text[: start - 1].split("\n") if _ITEM.match(line)]
        ended = [line[-1] in ".!?" for line in others if line]
        if len(ended) >= 1 and all(ended) and (text[-1].isalnum() or text[-1] == ","):
            return Evidence(start, len(text), note="the last item of the list is not finished")
        return None

    def _sentence(self, reply: Reply, text: str) -> Evidence | None:
        found = _LAST_WORD.search(text, max(0, len(text) - 30))
        if found is None or len(reply.words) < _FEWEST_WORDS:
            return None
        word = found[0].lower().replace("\u2019", "'")
        hardly, rarely = _rarely_last()
        if word not in hardly and (word not in rarely or _SENTENCE_END.search(text) is None):
            return None
        if _STRANDED.search(text, max(0, len(text) - 120)) or reply.language not in ("en", UNKNOWN_LANGUAGE):
            return None
        return Evidence(found.start(), len(text), note="ends within a sentence")


# Loops: the same words again and again.

_WANTED = re.compile(
    r"\b(?:songs?|sing|lyrics|chorus|poem|rhyme|verse|repeat|again and again|times|tongue.?twister|chant|count|mantra"
    r"|echo)\b"
)
_SOUNDS = frozenset(
    "ha haha hahaha he hehe ho la na no yes yeah yay very really so bye go woof meow shh hm hmm mm wow long far way "
    "more much many ok okay knock tick tock please blah bla x o".split()
)
_FEWEST_REPEATED = 4
_FEW_LINES = 5
"""Lines from which a text may be a table, or code, which repeat themselves."""
_UNBROKEN = re.compile(r"(\S{1,12}?)\1{7,}")


class Loop(Fault):
    """The same words in a row."""

    name: ClassVar[str] = "loop"
    sentence: ClassVar[str] = "says the same words again and again"
    decides: ClassVar[str] = (
        "One word at least five times in a row, two to four words at least three times, five or more at least twice; "
        "or most runs of three words occur more than once. Not where the user asks for a song, a rhyme or repetition."
    )
    misses: ClassVar[str] = "The same thing said in other words; languages without spaces, unless a few signs repeat."

    def find(self, reply: Reply) -> Evidence | None:
        """Where the same words follow each other."""
        words = reply.words
        count = len(words)
        if count - len(set(words)) < _FEWEST_REPEATED:
            return self._unbroken(reply) if len(reply.text) > 30 * count else None
        found = _repeated(words, most=reply.text.count("\n") < _FEW_LINES)
        if found is None or _WANTED.search(reply.asked):
            return None
        first, last = found
        places = [match.span() for match in _places(reply)]
        if last >= len(places):  # lower case has other words, as with "\u0130"
            return Evidence(*reply.whole)
        return Evidence(places[first][0], places[last][1])

    def _unbroken(self, reply: Reply) -> Evidence | None:
        found = _UNBROKEN.search(reply.text[:2000])
        if found is None or len(set(found[1])) < 2 or len(found[0]) < 24:
            return None
        return reply.span(found)


def _places(reply: Reply) -> list[re.Match[str]]:
    from rejoinder.faulting.fault import _WORD

    return [*_WORD.finditer(reply.text)]


def _repeated(words: Sequence[str], *, most: bool) -> tuple[int, int] | None:
    """The first and the last word of a run that repeats itself; with `most`, also of a text that mostly does."""
    count = len(words)
    last_at: dict[tuple[str, str, str], int] = {}
    tried: set[tuple[int, int]] = set()
    again = 0
    for at in range(count - 2):
        three = (words[at], words[at + 1], words[at + 2])
        before = last_at.get(three)
        last_at[three] = at
        if before is None:
            continue
        again += 1
        period = at - before
        if (period, at - 1) in tried:
            tried.add((period, at))
            continue
        tried.add((period, at))
        if run := _run(words, before, period):
            return run
    return (0, count - 1) if most and count >= 24 and again >= 0.5 * (count - 2) else None


def _run(words: Sequence[str], start: int, period: int) -> tuple[int, int] | None:
    """The words from `start` that repeat after `period` words, if they do so often enough."""
    count, stop = len(words), start
    while stop + period < count and words[stop] == words[stop + period]:
        stop += 1
    while start > 0 and words[start - 1] == words[start - 1 + period]:
        start -= 1
    covered = stop - start + period
    unit = words[start : start + period]
    if period == 1:
        enough = covered >= (15 if unit[0] in _SOUNDS else 8 if unit[0].isdigit() else 5)
    elif period <= 4:
        joined = {"and", "by", "to"} & set(unit) and period == 2
        enough = covered >= 3 * period and len(set(unit) - _SOUNDS) > 0 and (not joined or covered >= 12)
    else:
        enough = covered >= 2 * period and len(set(unit)) >= 3
    return (start, start + covered - 1) if enough else None


# Repeating what was said: by the user, or in one's own earlier turn.

_FORMULA = re.compile(
    r"^(?:(?:oh|well|yes|and|so|ok|okay|ah|no)\b[\s,!.]*)*(?:(?:hi|hello|hey|hiya|good (?:morning|evening|night"
    r"|afternoon|day|luck|bye)|goodbye|bye"
    r"|see (?:you|ya)|take care|have (?:a|fun)|nice to (?:meet|see|talk|chat)|nice (?:meeting|talking|chatting)"
    r"|(?:it was )?(?:nice|good|great|lovely) (?:to )?(?:meet|talk|chat)|how are (?:you|things)|how's it"
    r"|how is it going"
    r"|how do you do|what'?s up|thanks?|thank you|you(?:'re| are) (?:very |most )?welcome|happy|merry|congrat\w*"
    r"|i(?:'m| am) (?:so |very |really )?sorry|i love you|i miss you|good for you|cheers|same (?:here|to you)"
    r"|no problem|my pleasure|how (?:can|may) i help)\b[\s,!.]*)"
)
_LONGEST_FORMULA = 9
_DICTATED = re.compile(
    r"\b(?:repeat|translate|correct|rewrite|rephrase|spell|proofread|quote|read out|write down|capital|paraphrase"
    r"|summari[sz]e|fix|edit|grammar)\b|(?:^|please |now |you )say\b(?! so)"
)
_AGAIN = re.compile(
    r"\b(?:pardon|repeat|come again|once more|didn't (?:hear|catch|get|understand)|(?:did|do) you say|excuse me"
    r"|what was that"
    r"|say that|slower|slowly|louder|remind me|what exactly|what did (?:it|he|she|they) say)\b|\b(?:say|tell|read"
    r"|show|explain)\b.{0,30}\bagain|^(?:what|huh|hm+|eh|sorry|again)\b\W*$|\bsorry,? (?:what|i (?:didn|couldn))"
)
_NEAR = 0.85
_LEAST_SHARED = 0.75
_MOST_TURNS = 20


def _alike_in_length(text: str, other: str) -> bool:
    """Whether two texts may have nearly the same words."""
    return 3 * len(text) <= 4 * len(other) + 30 and 3 * len(other) <= 4 * len(text) + 30


def _near(words: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two texts have nearly the same words in the same order."""
    if words == other:
        return True
    longer = max(len(words), len(other))
    if min(len(words), len(other)) < _NEAR * longer - 1 or longer > 400:
        return False
    if len(set(words).intersection(other)) < _LEAST_SHARED * len(set(words)):
        return False
    from rapidfuzz.distance import Indel

    return float(Indel.normalized_similarity(words, other, score_cutoff=_NEAR)) >= _NEAR


def _says_something(words: Sequence[str], lower: str, least: int) -> bool:
    """Whether a repetition of this is one: formulas such as "nice to meet you" are not."""
    return len(words) > _LONGEST_FORMULA or (len(words) >= least and _FORMULA.match(lower.lstrip()) is None)


class RepeatsUser(Fault):
    """The user's words are given back."""

    name: ClassVar[str] = "repeats-user"
    sentence: ClassVar[str] = "repeats what the user said"
    decides: ClassVar[str] = (
        "At least 85 % of the words of the reply and of the user's last turn are the same and in the same order; four "
        "words or more, and no formula such as a greeting. Not where the user asks to repeat, correct or translate."
    )
    misses: ClassVar[str] = "Paraphrases; a short echo within a longer reply."
    needs: ClassVar[frozenset[str]] = frozenset({"context"})

    def find(self, reply: Reply) -> Evidence | None:
        """The user's turn."""
        if not reply.user_turns or not _says_something(reply.words, reply.lower, 4):
            return None
        if not _alike_in_length(reply.text, reply.asked):
            return None
        theirs = spoken_words(reply.asked)
        if not _near(reply.words, theirs) or _DICTATED.search(reply.asked):
            return None
        if reply.text.rstrip().endswith("?") and "you" in reply.lower and "you" not in reply.asked:
            return None  # "You lost your job?" makes sure of what was understood
        return Evidence(*reply.whole, turn=reply.user_turns[0])


class RepeatsItself(Fault):
    """An earlier turn once more."""

    name: ClassVar[str] = "repeats-itself"
    sentence: ClassVar[str] = "repeats an earlier turn of its own"
    decides: ClassVar[str] = (
        "At least 85 % of the words of the reply and of an earlier turn by the same speaker are the same and in the "
        "same order; five words or more, and no formula. Not where the user asks again or says the same again."
    )
    misses: ClassVar[str] = "The same in other words; repetition of a part of a longer turn."
    needs: ClassVar[frozenset[str]] = frozenset({"context", "own turns"})

    def find(self, reply: Reply) -> Evidence | None:
        """The earlier turn."""
        own = reply.own_turns
        if not own or not _says_something(reply.words, reply.lower, 5):
            return None
        count = len(reply.words)
        first, second, third = (reply.words[at] for at in (count // 4, count // 2, 3 * count // 4))
        for place in own[:_MOST_TURNS]:
            earlier = reply.example.context[place]
            if not _alike_in_length(reply.text, earlier):
                continue
            lower = earlier.lower()
            if (first in lower) + (second in lower) + (third in lower) >= 2 and _near(reply.words, spoken_words(lower)):
                return None if self._asked_again(reply) else Evidence(*reply.whole, turn=place)
        return None

    def _asked_again(self, reply: Reply) -> bool:
        if _AGAIN.search(reply.asked):
            return True
        last = spoken_words(reply.asked)
        return len(last) >= 3 and any(
            _near(last, spoken_words(reply.example.context[at].lower())) for at in reply.user_turns[1:_MOST_TURNS]
        )


# Canned: one reply to many contexts.

_FEWEST_CONTEXTS = 3
_LEAST_SHARE = 0.02
_LEAST_SHARE_SHORT = 0.06
_SHORT = 3


@dataclass(frozen=True)
class Canned(Fault):
    """One reply of a system to different contexts."""

    name: ClassVar[str] = "canned"
    sentence: ClassVar[str] = "is given to other contexts, too"
    decides: ClassVar[str] = (
        "The system gives the same reply, letter case and punctuation aside, to at least three different contexts and "
        "to 2 % of all its contexts (6 % for a reply of up to three words)."
    )
    misses: ClassVar[str] = "Templates that are filled in differently; stock phrases that a system uses once or twice."
    needs: ClassVar[frozenset[str]] = frozenset({"context", "other replies"})

    contexts: dict[str, int] = field(default_factory=dict, repr=False)
    """System -> how many different contexts it replies to."""
    counts: dict[tuple[str, int], int] = field(default_factory=dict, repr=False)
    """System and hash of a reply -> different contexts that it is given to, where these are several."""

    def observed(self, _examples: Iterable[Example]) -> Canned:
        """The fault, with the replies counted."""
        seen: set[tuple[str, int, int]] = set()
        for one in _examples:
            if one.context:
                seen.add((one.system, hash(_plain(one.response)), hash((one.context_id, one.context))))
        counts = Counter((system, reply) for system, reply, _ in seen)
        contexts = Counter(system for system, _ in {(system, context) for system, _, context in seen})
        return Canned(dict(contexts), {key: count for key, count in counts.items() if count >= _FEWEST_CONTEXTS})

    def find(self, reply: Reply) -> Evidence | None:
        """The whole reply, and how often it is given."""
        if not self.counts:
            return None
        system = reply.example.system
        count, of = self.counts.get((system, hash(_plain(reply.text))), 0), self.contexts.get(system, 0)
        share = _LEAST_SHARE if len(reply.words) > _SHORT else _LEAST_SHARE_SHORT
        if count < max(_FEWEST_CONTEXTS, share * of) or not reply.words:
            return None
        return Evidence(*reply.whole, note=f"given to {count:,} of {of:,} contexts")


_ASCII_SIGNS = {code: None for code in range(128) if not chr(code).isalnum()}


def _plain(text: str) -> str:
    return text.lower().translate(_ASCII_SIGNS) if text.isascii() else bare_text(text)


# Another language than the user's.

_ALIKE = (
    {"no", "da", "sv"},
    {"hr", "sr", "sl"},
    {"id", "ms", "tl"},
    {"cs", "sk"},
    {"es", "pt", "ca", "it"},
    {"ru", "uk", "bg"},
    {"hi", "ur"},
)
"""Languages that short texts are easily taken for each other in."""
_LANGUAGE_NAMES = (
    r"(?:english|german|french|spanish|italian|portuguese|chinese|mandarin|japanese|korean|russian|latin|arabic|dutch"
    r"|polish|turkish|hindi|swedish|greek|germans|french(?:men)?|italians)"
)
_ABOUT_LANGUAGE = re.compile(
    r"translat|(?<!programming )language|how (?:do|would|can) (?:you|i|we) say|\bsay .* in\b|what does (?!that|this"
    r"|it\b)(?:\S+ ){1,3}mean"
    rf"|\b{_LANGUAGE_NAMES}\b|englisch|deutsch|fran\u00e7ais|espa\u00f1ol|anglais|ingl[e\u00e9]s"
)
_ASKED_BEFORE = re.compile(rf"\b(?:in|speak|to|auf|en) {_LANGUAGE_NAMES}\b|translat")
_FEWEST_OTHER_WORDS = 4
_FEWEST_OTHER_LETTERS = 16


class OtherLanguage(Fault):
    """The user is not answered in their language."""

    name: ClassVar[str] = "other-language"
    sentence: ClassVar[str] = "is in another language than the user's"
    decides: ClassVar[str] = (
        "The languages of the reply and of the user's turns are each identified (py3langid), and differ. Not where the "
        "user speaks of a language, nor between languages that are easily confused."
    )
    misses: ClassVar[str] = "Replies of one or two words; texts that mix languages."
    needs: ClassVar[frozenset[str]] = frozenset({"context"})

    def find(self, reply: Reply) -> Evidence | None:
        """The whole reply, with both languages."""
        if not reply.user_turns or _is_short(reply):
            return None
        ours = reply.language
        if ours == UNKNOWN_LANGUAGE:
            return None
        theirs = reply.user_language
        if theirs in (ours, UNKNOWN_LANGUAGE) or any({ours, theirs} <= alike for alike in _ALIKE):
            return None
        if _ABOUT_LANGUAGE.search(reply.asked):
            return None
        if any(_ASKED_BEFORE.search(reply.example.context[place].lower()) for place in reply.user_turns[1:10]):
            return None
        note = f"the user writes {name_of(theirs)}, the reply is in {name_of(ours)}"
        return Evidence(*reply.whole, note=note)


def _is_short(reply: Reply) -> bool:
    """Whether a reply in Latin letters may be a name or a title."""
    latin = reply.text[:_FEWEST_OTHER_LETTERS] < "\u0250"
    few = len(reply.words) < _FEWEST_OTHER_WORDS or sum(map(len, reply.words)) < _FEWEST_OTHER_LETTERS
    return latin and few
