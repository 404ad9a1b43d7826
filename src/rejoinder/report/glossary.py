"""Technical terms, explained where they occur: a tooltip in the text, and a list at the end of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rejoinder.figures.markup import Html, element, joined

TERMS = {
    "significant": "If the systems were equally good, a difference this large would be seen in fewer than 1 of 20 "
    "comparisons.",
    "80% power": "With this many contexts, a true difference of that size would be found in 8 of 10 comparisons.",
    "primary metric": "The metric that was chosen in advance to decide; the others only add evidence.",
    "secondary evidence": "Other metrics. They do not decide, and their p-values are corrected for their number.",
    "95 % interval": "The range that would contain the true mean in 95 of 100 such samples.",
    "percentile": "The share of all replies with a lower score by the same metric.",
    "p": "The probability of a difference at least this large if the systems were equally good.",
    "effect": "The difference in standard deviations: below 0.2 is very small, above 0.8 is large (Cohen, 1988).",
    "group": "Systems of one group do not differ significantly.",
    "Spearman": "Rank correlation: 1 is the same order as people give, 0 is no relation.",
    "Pearson": "Linear correlation: 1 is a straight line with people's ratings, 0 is no relation.",
    "Kendall": "Rank correlation that counts pairs of replies in the same order as people give.",
    "scored": "The number of replies that the metric could score.",
    "split half": "The mean ratings of two halves of the raters, correlated with each other.",
    "cluster": "Metrics of one cluster do not agree with people significantly better or worse than each other.",
}
"""Term -> explanation."""

_IN_TEXT = ("significant", "80% power", "primary metric", "secondary evidence")
"""Terms that are looked for in sentences; shorter ones, such as p, could be names in the data."""
_FOUND = re.compile("|".join(rf"\b{re.escape(name)}(?:ly)?\b" for name in _IN_TEXT), re.IGNORECASE)


def explained(sentences: Iterable[str]) -> list[Html]:
    """The sentences as markup, with a tooltip at the first occurrence of each term."""
    seen: set[str] = set()
    return [_with_tooltips(sentence, seen) for sentence in sentences]


def term(name: str, shown: str | None = None) -> Html:
    """One term with its tooltip."""
    return element("abbr", shown or name, title=TERMS[name])


def glossary() -> Html:
    """All terms with their explanations, for readers without a mouse."""
    entries = [element("div", element("dt", name), element("dd", text)) for name, text in TERMS.items()]
    return element("dl", *entries, class_="terms")


def _with_tooltips(sentence: str, seen: set[str]) -> Html:
    parts: list[object] = []
    end = 0
    for match in _FOUND.finditer(sentence):
        name = match[0].lower().removesuffix("ly")
        if name in seen:
            continue
        seen.add(name)
        parts += [sentence[end : match.start()], term(name, match[0])]
        end = match.end()
    return joined([*parts, sentence[end:]])
