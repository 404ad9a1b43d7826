"""The claims of a text, by single words: the places, days, names and numbers that it mentions, and what it denies.

English only. In lower-case texts names are not recognised, but places, months and days are. Two texts contradict each
other where one names another place than the other, gives other numbers, or denies what the other says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from rejoinder.text.tokens import STOP_WORDS
from rejoinder.text.words import stem

Entities = frozenset[tuple[str, str]]
"""Pairs of a kind (place, month, day, name) and the word itself."""

# Sovereign states and some other places, one word each; of names with several words the most distinctive one.
_PLACES = """
    afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahamas bahrain bangladesh
    barbados belarus belgium belize benin bhutan bolivia bosnia botswana brazil britain brunei bulgaria burundi cambodia
    cameroon canada chile china colombia congo croatia cuba cyprus czechia denmark djibouti ecuador egypt england
    eritrea estonia ethiopia fiji finland france gabon gambia germany ghana greece grenada guatemala guinea guyana haiti
    honduras hungary iceland india indonesia iran iraq ireland israel italy jamaica japan kazakhstan kenya korea kosovo
    kuwait kyrgyzstan laos latvia lebanon lesotho liberia libya liechtenstein lithuania luxembourg madagascar malawi
    malaysia maldives mali malta mauritania mauritius mexico moldova monaco mongolia montenegro morocco mozambique
    myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan palestine panama paraguay peru
    philippines poland portugal qatar romania russia rwanda samoa scotland senegal serbia seychelles singapore slovakia
    slovenia somalia spain sudan suriname sweden switzerland syria taiwan tajikistan tanzania thailand togo tonga
    tunisia turkmenistan uganda ukraine uruguay uzbekistan vatican venezuela vietnam wales yemen zambia zimbabwe
    africa america asia europe uk usa alabama alaska arizona arkansas california colorado connecticut delaware florida
    hawaii idaho illinois indiana iowa kansas kentucky louisiana maryland massachusetts michigan minnesota mississippi
    missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia wisconsin
    wyoming amsterdam athens atlanta auckland bangkok barcelona beijing berlin boston brussels budapest cairo chicago
    copenhagen dallas delhi denver detroit dubai dublin edinburgh frankfurt geneva glasgow hamburg helsinki houston
    istanbul jakarta johannesburg lagos lisbon london madrid manchester melbourne miami milan montreal moscow mumbai
    munich nairobi oslo paris philadelphia prague rome seattle seoul shanghai stockholm sydney tokyo toronto vancouver
    vienna warsaw washington zurich
""".split()
# "may" and "march" are left out because they are everyday words, and so is "sun" for Sunday.
_MONTHS = "january february april june july august september october november december".split()
_DAYS = "monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight".split()
_KINDS = {**dict.fromkeys(_PLACES, "place"), **dict.fromkeys(_MONTHS, "month"), **dict.fromkeys(_DAYS, "day")}

_NUMBER_WORDS = dict(
    zip(
        """
        two three four five six seven eight nine ten eleven twelve
        twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million
        """.split(),
        map(str, (*range(2, 13), *range(20, 100, 10), 100, 1000, 1000000)),
        strict=True,
    )
)  # without "one", which is a pronoun more often than a number

_NEGATORS = frozenset(
    "no not never cannot without neither nor none nobody nothing unable n't dont doesnt didnt cant wont isnt "
    "arent wasnt werent havent hasnt hadnt couldnt wouldnt shouldnt".split()
)
_TITLES = frozenset("mr mrs ms dr prof st".split())
_ENDS_OF_CLAUSES = frozenset(". , ; : ! ? ( ) but because so although though however".split())
_REACH = 5
"""How many words after a negator it may deny."""
_YES, _NO = frozenset("yes yeah yep yup sure".split()), frozenset("no nope nah".split())
_BEFORE_AN_ANSWER = frozenset("hi hello hey oh well dear , ! .".split())


@dataclass(frozen=True, slots=True)
class Claims:
    """What a text mentions and denies, as sets of words."""

    entities: Entities
    numbers: frozenset[str]
    said: frozenset[str]
    """Stems of the content words outside the scope of a negation."""
    denied: frozenset[str]
    """Stems of the content words within the scope of a negation."""
    answer: str
    """yes or no if the text begins with one, else empty."""

    def clashes(self, other: Claims) -> tuple[str, ...]:
        """Which of entities, numbers and polarity contradict each other."""
        return tuple(
            name
            for name, found in (
                ("entities", _disagree(self.entities, other.entities)),
                ("numbers", bool(self.numbers and other.numbers and not self.numbers & other.numbers)),
                ("polarity", self._opposes(other)),
            )
            if found
        )

    def _opposes(self, other: Claims) -> bool:
        if self.answer and other.answer:
            return self.answer != other.answer
        # A word that a text both says and denies contradicts nothing.
        against = (self.said & other.denied) | (self.denied & other.said)
        return bool(against - (self.said & other.said) - (self.denied & other.denied))


def claims_of(tokens: Sequence[str]) -> Claims:
    """The claims of a text, given as its words in their original case."""
    tokens = _rejoined(tokens)
    lower = [token.lower().replace("’", "'") for token in tokens]
    denied = _denied(lower)
    content = {place: _stem(word) for place, word in enumerate(lower) if _is_content(word)}
    return Claims(
        frozenset(_entities(tokens, lower)),
        frozenset(_numbers(lower)),
        frozenset(found for place, found in content.items() if place not in denied),
        frozenset(found for place, found in content.items() if place in denied),
        _answer(lower),
    )


def _rejoined(tokens: Sequence[str]) -> list[str]:
    """The words, with "don ' t" joined to one word: some corpora are split that way."""
    joined: list[str] = []
    for token in tokens:
        if token.lower() == "t" and len(joined) > 1 and joined[-1] in {"'", "’"} and joined[-2].lower().endswith("n"):
            del joined[-1]
            joined[-1] += "'t"
        else:
            joined.append(token)
    return joined


def _disagree(ours: Entities, theirs: Entities) -> bool:
    """Whether both mention entities of the same kind, but none of that kind in common."""
    for kind in {kind for kind, _ in ours} & {kind for kind, _ in theirs}:
        if not {word for k, word in ours if k == kind} & {word for k, word in theirs if k == kind}:
            return True
    return False


def _entities(tokens: Sequence[str], lower: Sequence[str]) -> Iterator[tuple[str, str]]:
    begins, before = True, ""
    for token, word in zip(tokens, lower, strict=True):
        known = word.removesuffix("'s")
        if known in _KINDS:
            yield _KINDS[known], known
        elif not begins and token[:1].isupper() and token[1:].islower() and word not in STOP_WORDS | _TITLES:
            yield "name", known
        begins = word in {".", "!", "?", ":"} and before not in _TITLES
        before = word


def _numbers(lower: Sequence[str]) -> Iterator[str]:
    for word in lower:
        if word in _NUMBER_WORDS:
            yield _NUMBER_WORDS[word]
        elif word.isdecimal():
            yield word.lstrip("0") or "0"


def _denied(lower: Sequence[str]) -> set[int]:
    """The positions within the scope of a negator: those after it in its clause, up to five."""
    found: set[int] = set()
    for place, word in enumerate(lower):
        if (word in _NEGATORS or word.endswith("n't")) and not _is_courtesy(lower, place):
            reach = range(place + 1, min(place + 1 + _REACH, len(lower)))
            found.update(takewhile(lambda at: lower[at] not in _ENDS_OF_CLAUSES, reach))
    return found


def _is_courtesy(lower: Sequence[str], place: int) -> bool:
    """Whether a "no" belongs to a phrase such as "no problem", which denies nothing."""
    return lower[place] == "no" and lower[place + 1 : place + 2] in (["problem"], ["problems"], ["worries"], ["doubt"])


def _answer(lower: Sequence[str]) -> str:
    for place, word in enumerate(lower):
        if word in _YES or _is_courtesy(lower, place):
            return "yes"
        if word in _NO:
            return "no"
        if word not in _BEFORE_AN_ANSWER:
            break
    return ""


def _is_content(word: str) -> bool:
    plain = word.isalpha() and len(word) > 2
    return plain and word not in STOP_WORDS and word not in _NEGATORS and word not in _YES and word not in _KINDS


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return stem(word)
