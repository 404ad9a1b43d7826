"""What to know before a metric is chosen: weaknesses, what a score means, how well it agreed with people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median

from rejoinder.scoring.table import ScoreTable
from rejoinder.show.text import counted, inflected, number_text

# What to know before a metric is chosen: its weaknesses, and how well it agreed with human ratings.
#
# The agreement is that of docs/results/evaluator-figures.md; `docs/make_agreement.py` copies it into the package.


PAGES = "https://github.com/rejoinder/rejoinder/tree/main/docs/"

_OVERLAP = "A good reply in other words than the references scores low."
_WORD_VECTORS = "Ignores word order and negation, and rates nearly all replies on the topic of the reference alike."
_ADEM = "Predictions tend towards the mean of the ratings; other systems than those in the ratings may be misjudged."
_DOT = "Not calibrated: a starting point of ADEM, rarely of use by itself."

WEAKNESSES: dict[str, str] = {
    "default": "Knows no facts, and only short chat in English: nothing is decided about long replies, lists or code. "
    "Hardly distinguishes replies to one context that are all on topic, nor specific replies from generic ones. Do not "
    "rely on the score of a single reply.",
    "default@1": "As default, but rates broken language made of the context's words too high, and reads only the "
    "beginning of a long reply.",
    "default-large": "As default, and slow: two to three replies per second on one core.",
    "default-fast": "Agrees less well with people than default. Reads words and not their order, and only English.",
    "bleu": f"{_OVERLAP} Word order hardly matters to bleu-1 and bleu-2; most replies score near 0 with one reference.",
    "rouge-l": f"{_OVERLAP} Long replies gain from common words that happen to be in order.",
    "meteor": f"{_OVERLAP} Stems and synonyms soften this for English only.",
    "cider": f"{_OVERLAP} Its word weights come from the references of the scored file, so that scores of two files "
    "cannot be compared.",
    "chrf": f"{_OVERLAP} Parts of words that happen to be shared count, so that unrelated replies score above 0.",
    "embedding-average": _WORD_VECTORS,
    "vector-extrema": _WORD_VECTORS,
    "greedy-matching": _WORD_VECTORS,
    "distinct": "Says nothing about a reply's quality: random words are the most diverse. Falls as replies get longer.",
    "repetition": "Finds loops and echoes, nothing else: an off-topic reply can have a perfect score.",
    "specificity": "Not a quality: rare words may be wrong, off-topic or misspelt (typos .73, good replies .48).",
    "pm": "Looks for contradictions in places, numbers and yes or no only; any other wrong reply passes.",
    "fluency": "Judges the language only, and only English: an off-topic reply can have a perfect score. Says nothing "
    "about replies of fewer than four words.",
    "length": "Not a measure of quality. Report it beside metrics that may prefer long or short replies.",
    "ruber-pool": "Rewards replies that repeat words of the context.",
    "judge": "Only as good as the language model behind it: it may prefer long replies, its own style or the first of "
    "two. Costs a request per reply.",
    "jury": "The same as for judge, averaged over several models, at the cost of all of them.",
    "encoder": "Learns what its training data reward; replies unlike them may be misjudged (score prints a note). "
    "Training needs the train extra.",
    "blend": "Learns what the rated replies reward: with ratings of one kind of chat, other kinds may be misjudged. It "
    "is no better than its members allow.",
    "ensemble": "All members count as weighted, however bad; compare it with its best member on rated replies.",
    "encoder-cosine": "Measures similarity: a reply that repeats the last turn has a perfect score.",
    "skip-thought": f"{_OVERLAP} Needs much text to learn useful vectors.",
    "likelihood": "Rewards replies that the language model itself would give, often generic ones.",
    "static": "Reads words and not their order.",
    "am-fm": f"{_OVERLAP} Needs training text of the same domain as the references.",
    "am": f"{_OVERLAP} Word order does not matter to it.",
    "fm": "Judges fluency only; an off-topic reply can have a perfect score.",
    "ruber": f"{_OVERLAP} Its other half learned to tell true replies from random ones, so that a wrong reply on the "
    "topic may pass.",
    "ruber-ref": _WORD_VECTORS,
    "ruber-unref": "Learned to tell true replies from random ones: a wrong reply on the topic may pass.",
    "adem": _ADEM,
    "c-adem": _ADEM,
    "r-adem": _ADEM,
    "encoder-dot": _DOT,
    "vhred-dot": _DOT,
    "t2v-dot": _DOT,
    "human-likeness": "Learns the habits of the systems in its training data; a new system has other ones.",
}
"""Metric or evaluator -> where it is known to be wrong."""

RESULTS: dict[str, str] = {
    **dict.fromkeys(("ruber", "ruber-ref", "ruber-unref", "ruber-pool"), "results/ruber-figures.md"),
    **dict.fromkeys(
        ("adem", "c-adem", "r-adem", "encoder-dot", "vhred-dot", "t2v-dot", "human-likeness"),
        "results/adem-figures.md",
    ),
    **dict.fromkeys(("am-fm", "am", "fm"), "results/am-fm-dstc6.md"),
    **dict.fromkeys(("default", "default-large", "blend", "fluency"), "results/default-blend.md"),
}
"""Evaluators whose agreement with people depends on how they were trained -> the page with their figures."""

QUESTIONS: dict[str, str] = {
    "Are the replies good? (contexts, no references)": "default",
    "The same, for millions of replies": "default-fast",
    "The same, closer to people, but slow": "rejoinder setup default-large",
    "Are they close to what people answered? (references)": "meteor, embedding-average",
    "Are they dull or repetitive?": "specificity, distinct-2, repetition",
    "What would my own raters say? (a few hundred ratings)": "rejoinder train blend",
    "Which of these can I trust on my data? (some ratings)": "rejoinder trust",
}
"""A question -> the metrics or the command that answer it."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well one metric agreed with people on one set of rated replies."""

    measured: str
    """The metric with the setting that was measured."""
    judged: str
    """Name of the set."""
    dimension: str
    """What people rated."""
    replies: int
    spearman: tuple[float, float, float]
    """Spearman's correlation with the mean rating: estimate, low and high end of its 95 % interval."""


@cache
def agreement(name: str) -> tuple[Agreement, ...]:
    """The measured agreement of a metric with people, set by set; empty where it was not measured."""
    measured = json.loads((files("rejoinder") / "resources" / "agreement.json").read_text(encoding="utf-8"))
    return tuple(Agreement(**{**each, "spearman": tuple(each["spearman"])}) for each in measured.get(name, ()))


# What the numbers of a table of scores mean: the scale, where replies of known quality fall on it, and a caution.


FEW = 10
"""Replies below which a mean says little."""
WEAK = 0.2
"""Rank correlation with people below which a score says little about a reply."""


_MISLEADING = {"generic replies"}
"""Reference points that are not shown: raters like many a stock phrase, so that a system which says nothing else may
have a higher mean than these (docs/results/default-blend.md)."""


def meaning(table: ScoreTable, *, told: str = "") -> list[str]:
    """Sentences about metrics that cannot judge these replies, the scale of the scores, too few replies, and metrics
    that are known not to agree with people; `told` is a metric whose doubts the verdict has."""
    doubts = [table.doubt(label) for label in table.metrics if label != told]
    sentences = [f"{doubt}: its numbers say little about them." for doubt in doubts if doubt]
    if len(table.system_names) == 1:
        sentences += _scale(table)
    fewest = min((len(table.rows_of(system)) for system in table.system_names), default=FEW)
    if 0 < fewest < FEW:
        every = "" if len(table.system_names) == 1 else " of a system"
        verb = inflected(fewest, "is", "are")
        sentences.append(
            f"{counted(fewest, 'reply', 'replies')}{every} {verb} too few for a useful mean: the intervals show how "
            "little is known."
        )
    return [*sentences, *_caution(table)]


def _scale(table: ScoreTable) -> Iterator[str]:
    """The scale of an evaluator that has reference points, and the means of replies whose quality is known.

    They help to read the mean of one system. Beside several, what their comparison says is what counts.
    """
    from rejoinder.evaluators.reference_points import points_of_signature

    for label in table.metrics:
        all_points, limits = points_of_signature(table.signatures.get(label, "")), table.limits(label)
        points = [point for point in all_points if point.name not in _MISLEADING]
        if points and limits is not None and not table.doubt(label):
            known = ", ".join(f"{point.name} {number_text(point.mean, 2)}" for point in points)
            scale = f"{label} is on a scale from {limits[0]:g} to {limits[1]:g}"
            yield f"{scale}; for orientation, means on other conversations: {known}."


def _caution(table: ScoreTable) -> Iterator[str]:
    """Which of the metrics hardly agreed with people, where that was measured."""
    weak = []
    for label in table.metrics:
        found = [each.spearman[0] for each in agreement(label) or agreement(table.family_of(label))]
        if found and median(found) < WEAK:
            weak.append(label)
    if weak:
        yield (
            f"Little agreement with people on rated replies (median rank correlation below {WEAK:g}): "
            f"{', '.join(weak)}. `rejoinder trust` measures it on your own ratings."
        )
