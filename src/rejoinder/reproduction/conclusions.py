"""What each paper concludes, what we find, and whether the conclusion survives.

Figures stay on the pages, which are made from data: nothing here repeats them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Survives = Literal["yes", "in part", "no", "not measured"]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One claim of a paper."""

    claim: str
    found: str
    survives: Survives
    page: str
    """The page with the figures."""


CONCLUSIONS: Mapping[str, tuple[Conclusion, ...]] = {
    "liu2016": (
        Conclusion(
            "no metric comes near the agreement of people",
            "the best metric is below the agreement of two halves of the raters on every set with several raters",
            "yes",
            "metric-figures",
        ),
        Conclusion(
            "metrics hardly correlate with people at all",
            "they hardly do on the two GRADE sets, and moderately on the others, in three of which the true reply is "
            "among the replies and its own reference",
            "in part",
            "metric-figures",
        ),
        Conclusion(
            "BLEU depends on the length of the reply, people do not",
            "BLEU favours replies of the reference's length more than people do, on every set",
            "yes",
            "metric-figures",
        ),
        Conclusion(
            "the dual encoder is above both TF-IDF baselines by embedding metrics",
            "the opposite, on both corpora, with other models and little training",
            "no",
            "reply-model-figures",
        ),
    ),
    "adem": (
        Conclusion(
            "a learned evaluator agrees with people better than word overlap does",
            "slightly, where the sentence encoder was pretrained; over the paper's own encoders it is no better than "
            "BLEU or ROUGE on these sets",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "over the means of systems it agrees with people almost perfectly, and word overlap does not",
            "it is ahead of word overlap, which also agrees well: the true replies are one of the systems",
            "in part",
            "evaluator-studies",
        ),
        Conclusion(
            "it works as well for a system whose replies it was not trained on",
            "on the system left out the correlation is much lower; on all systems there is no such loss",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "half of the labels give nearly the same correlation",
            "with a pretrained encoder on two of three sets; otherwise three quarters or all labels are needed",
            "in part",
            "adem-figures",
        ),
    ),
    "ruber": (
        Conclusion(
            "blending both parts is better than either",
            "the arithmetic blend is above the better part with every encoder on both sets",
            "yes",
            "ruber-figures",
        ),
        Conclusion(
            "the maximum is the worst blend",
            "with some encoders on some sets",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "it transfers from one corpus to another",
            "with all of DailyDialog the loss on PersonaChat is clear with one of three encoders; with a fifth of it, "
            "little is left in either direction",
            "in part",
            "ruber-transfer",
        ),
    ),
    "am-fm": (
        Conclusion(
            "AM-FM agrees with people over the systems far better than other metrics do",
            "the same correlation, but one system that lies far from all others makes most of it",
            "in part",
            "am-fm-dstc6",
        ),
        Conclusion(
            "word overlap has low or negative correlation over the systems",
            "the same figures for BLEU-4, ROUGE-L and CIDEr; without the one system all three are positive",
            "in part",
            "am-fm-table1",
        ),
    ),
    "zhao2020": (
        Conclusion(
            "removing outliers raises the agreement of raters",
            "the same figures; but alpha of ratings chosen for being alike is not their reliability",
            "yes",
            "rater-figures",
        ),
        Conclusion(
            "ADEM and RUBER owe much of their agreement to true replies",
            "the reference part of RUBER has none left without them",
            "yes",
            "ruber-figures",
        ),
        Conclusion(
            "a pretrained encoder fitted on 720 labels reaches .64 / .66",
            "missed by the encoders that could be trained here, which are a fraction of its size",
            "not measured",
            "evaluator-figures",
        ),
        Conclusion(
            "about 100 labels come close to all of them",
            "with ADEM about 200 come close, and 100 do not; RoBERTa-eval itself was not trained",
            "in part",
            "evaluator-studies",
        ),
        Conclusion(
            "an evaluator without references stays as good without true replies, and follows relevance, not grammar",
            "so does the default evaluator, at a lower level; ADEM, which needs references, loses much",
            "yes",
            "evaluator-studies",
        ),
    ),
}
"""Key of the paper -> its conclusions."""
