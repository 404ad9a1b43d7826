"""What each paper concludes, what we find, and whether the conclusion holds.

Figures stay on the pages, which are made from data: nothing here repeats them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Holds = Literal["yes", "in part", "no", "not measured"]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One claim of a paper."""

    claim: str
    found: str
    holds: Holds
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
            "they hardly do on the two GRADE sets, and moderately on the others; in three of these, the true reply is "
            "one of the judged replies and its own reference",
            "in part",
            "metric-figures",
        ),
        Conclusion(
            "BLEU depends on the length of the reply, people's ratings do not",
            "BLEU favours replies of the reference's length more than people do, on every set",
            "yes",
            "metric-figures",
        ),
        Conclusion(
            "embedding metrics rank the dual encoder above both TF-IDF baselines",
            "with other models and little training, the opposite on DailyDialog, and no difference or the opposite on "
            "EmpatheticDialogues",
            "no",
            "reply-model-figures-empathetic",
        ),
        Conclusion(
            "embedding metrics rank HRED above the LSTM",
            "by all three metrics on EmpatheticDialogues, and by greedy matching alone on DailyDialog",
            "in part",
            "reply-model-figures-empathetic",
        ),
    ),
    "adem": (
        Conclusion(
            "a learned evaluator agrees with people better than word overlap does",
            "slightly, with a pretrained sentence encoder; with the paper's own encoders it is no better than "
            "BLEU or ROUGE on these sets",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "over the means of systems it agrees with people almost perfectly, and word overlap does not",
            "it is ahead of word overlap, which also agrees well, because the true replies are one of the systems",
            "in part",
            "evaluator-studies",
        ),
        Conclusion(
            "it works as well for a system whose replies it was not trained on",
            "the correlation is much lower on the system left out, but not over all systems together",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "half of the labels give nearly the same correlation",
            "true with a pretrained encoder on two of three sets; otherwise three quarters or all are needed",
            "in part",
            "adem-figures",
        ),
    ),
    "ruber": (
        Conclusion(
            "blending both parts is better than either",
            "the arithmetic blend is better than the better part, with every encoder and on both sets",
            "yes",
            "ruber-figures",
        ),
        Conclusion(
            "the maximum is the worst blend",
            "true with some encoders on some sets",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "it transfers from one corpus to another",
            "trained on all of DailyDialog, one of three encoders loses clearly on PersonaChat; trained on a fifth of "
            "it, little is left in either direction",
            "in part",
            "ruber-transfer",
        ),
    ),
    "am-fm": (
        Conclusion(
            "AM-FM agrees with people over the systems far better than other metrics do",
            "the same correlation, but most of it is due to one system that lies far from all others",
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
            "the same figures, but the alpha of ratings that were chosen for being alike is not their reliability",
            "yes",
            "rater-figures",
        ),
        Conclusion(
            "ADEM and RUBER owe much of their agreement to true replies",
            "without them, nothing is left of the agreement of RUBER's referenced part",
            "yes",
            "ruber-figures",
        ),
        Conclusion(
            "a pretrained encoder fitted on 720 labels reaches .64 / .66",
            "not reached by the encoders that could be trained here, which are a fraction of its size",
            "not measured",
            "evaluator-figures",
        ),
        Conclusion(
            "about 100 labels do nearly as well as all of them",
            "with ADEM, about 200 do, and 100 do not; RoBERTa-eval itself was not trained",
            "in part",
            "evaluator-studies",
        ),
        Conclusion(
            "an evaluator without references stays as good without true replies, and follows relevance, not grammar",
            "so does the default evaluator, at a lower level; ADEM, which needs references, loses much agreement",
            "yes",
            "evaluator-studies",
        ),
    ),
}
"""Key of the paper -> its conclusions."""
