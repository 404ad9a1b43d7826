"""What each paper concludes, what we find, and whether the conclusion holds.

Figures of the papers come from `published`. Those of ours stand on the page that a row names, or on another page that
its text names: a test looks them up there, so that none is left behind when a page changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rejoinder.reproduction.published import adem, zhao2020

Holds = Literal["yes", "in part", "no", "not reached", "not measured"]
"""`not reached`: what could be run here falls short of it, but the paper's own model could not be run."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One claim of a paper."""

    claim: str
    found: str
    holds: Holds
    page: str
    """The page with the figures."""


_ROBERTA_EVAL = zhao2020.TABLE_3.correlations()[zhao2020.ROBERTA_EVAL]
_SECONDS = adem.TABLE_11.column("seconds")["GPU"]

CONCLUSIONS: Mapping[str, tuple[Conclusion, ...]] = {
    "liu2016": (
        Conclusion(
            "no metric comes near the agreement of people",
            "the best metric is below the agreement of two halves of the raters on all five sets with several raters; "
            "on grade_empatheticdialogues, people hardly agree either (0.152, the best metric 0.118)",
            "yes",
            "metric-figures",
        ),
        Conclusion(
            "metrics correlate with people very weakly on Twitter",
            "at most 0.184 on the two GRADE sets, but up to 0.428 on the other four; in three of these, the true reply "
            "is one of the judged replies and its own reference",
            "in part",
            "metric-figures",
        ),
        Conclusion(
            "metrics do not correlate with people at all on Ubuntu, a technical domain",
            "the judged Ubuntu replies are not public, and none of our sets is technical",
            "not measured",
            "metric-figures",
        ),
        Conclusion(
            "BLEU-3 and BLEU-4 are a noisy BLEU-2, which should be used instead",
            "the three are much alike (0.375, 0.377 and 0.379 on zhao2020_dailydialog), and none is ahead on every set",
            "in part",
            "metric-figures",
        ),
        Conclusion(
            "without stop words and punctuation, BLEU-2 agrees less with people",
            "it agrees more on five of six sets, most clearly on gupta2019_dailydialog (0.290, with them 0.210)",
            "no",
            "metric-figures",
        ),
        Conclusion(
            "BLEU and METEOR favour replies of the reference's length; the embedding average and people do not",
            "BLEU favours them more than people do on all six sets, METEOR on three, the embedding average on none; "
            "people themselves do on one",
            "in part",
            "metric-figures",
        ),
        Conclusion(
            "embedding metrics rank the dual encoder above both TF-IDF baselines",
            "a dual encoder that was trained briefly is below both on DailyDialog (reply-model-figures), and below or "
            "not clearly different on EmpatheticDialogues",
            "no",
            "reply-model-figures-empathetic",
        ),
        Conclusion(
            "embedding metrics rank HRED above the LSTM",
            "by all three metrics on EmpatheticDialogues, and by greedy matching alone on DailyDialog "
            "(reply-model-figures)",
            "in part",
            "reply-model-figures-empathetic",
        ),
        Conclusion(
            "HRED and the dual encoder are alike by embedding metrics",
            "HRED is above a briefly trained dual encoder by all three metrics on both corpora",
            "no",
            "reply-model-figures-empathetic",
        ),
    ),
    "adem": (
        Conclusion(
            "a learned evaluator agrees with people far better than word overlap does",
            "with MiniLM, clearly on PersonaChat (0.580, ROUGE 0.373 in metric-figures) and humod, slightly on "
            "DailyDialog (0.417, ROUGE 0.381); with VHRED or tweet2vec, as in the paper, not clearly on any set",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "context and reference both help, the reference more",
            "both together are best on PersonaChat and humod with every encoder, and on DailyDialog with VHRED and "
            "HRED; the reference helps more on DailyDialog and humod, the context mostly on PersonaChat",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "over the means of systems it agrees with people almost perfectly, and word overlap does not",
            "it is ahead (0.838; 0.888 without the true replies, which are also the references), but word overlap "
            "agrees well too (ROUGE 0.765; BLEU-4 0.851 without them)",
            "in part",
            "evaluator-studies",
        ),
        Conclusion(
            "it works as well for a system whose replies it was not trained on",
            "over all systems nothing is lost (MiniLM on DailyDialog: 0.430, with as many labels of all systems "
            "0.435), but on the replies of the system left out alone the correlation is low (0.185)",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "most good replies are scored low by BLEU-2 and ROUGE, and nearly half of these high by ADEM",
            "both score 32 of 220 good replies low, and ADEM 3 of these high; but ADEM alone misses the fewest, 22",
            "no",
            "evaluator-studies",
        ),
        Conclusion(
            "it does not favour replies of the reference's length, as word overlap does",
            "with MiniLM and tweet2vec not more than people do; on DailyDialog it does with VHRED, by 0.400 points, "
            "and HRED, though by less than BLEU-2 (metric-figures)",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "its scores are too close to the mean",
            "with every encoder on every set: on DailyDialog the standard deviation is 0.39 with VHRED and 0.41 with "
            "MiniLM, that of people 1.17",
            "yes",
            "adem-figures",
        ),
        Conclusion(
            "training is necessary: before it, the correlation is about 0",
            "training raises it (VHRED 0.178 to 0.314, tweet2vec hardly), but it is not 0 before; the dot product of "
            "MiniLM's vectors, which learns nothing, agrees about as well as ADEM",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            "half of the labels give nearly the same correlation",
            "true with MiniLM on two of three sets; otherwise three quarters or all are needed",
            "in part",
            "adem-figures",
        ),
        Conclusion(
            f"it scores the test replies in a reasonable time ({_SECONDS:.0f} s on a GPU)",
            "with MiniLM, a smaller encoder, as many replies take 6.3 s on a CPU",
            "yes",
            "adem-speed",
        ),
    ),
    "ruber": (
        Conclusion(
            "it agrees with people better than BLEU and ROUGE do",
            "on PersonaChat (0.422 with a GRU, 0.577 with MiniLM; ROUGE 0.373 in metric-figures), but not on "
            "DailyDialog (0.272 and 0.369; ROUGE 0.381)",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "the referenced part, s_R, agrees with people better than BLEU and ROUGE do",
            "it agrees less on both sets: 0.173 on DailyDialog and 0.303 on PersonaChat (ROUGE 0.381 and 0.373 in "
            "metric-figures)",
            "no",
            "ruber-figures",
        ),
        Conclusion(
            "the unreferenced part, s_U, agrees with people better than s_R does",
            "with every encoder on PersonaChat, and on DailyDialog with a GRU (0.246, s_R 0.173) and MiniLM (0.350), "
            "but not clearly with the hierarchical one (0.172)",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "blending both parts is better than either",
            "the arithmetic blend is better than the better part, with every encoder and on both sets",
            "yes",
            "ruber-figures",
        ),
        Conclusion(
            "the maximum is the worst blend",
            "true on DailyDialog with two of three encoders, and on PersonaChat with none",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "it comes near the agreement of people",
            "with MiniLM on PersonaChat (0.577, two halves of the raters 0.648 in metric-figures); not with a GRU, as "
            "in the paper (0.422), nor on DailyDialog (at most 0.369, halves 0.602)",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "mean s_U rises with the human score, even among true replies",
            "over all replies, it rises from each fifth to the next in four of six cases, and from the lowest to the "
            "highest in all; there are too few true replies to tell",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "it transfers to another corpus with a slight loss",
            "with MiniLM hardly anything is lost in either direction (0.576 to 0.559 on PersonaChat, 0.326 to 0.308 on "
            "DailyDialog); a GRU trained on as many replies keeps little (0.404 to 0.154, 0.191 to 0.060), but one "
            "trained on all of DailyDialog does on PersonaChat (0.417 in ruber-figures)",
            "in part",
            "ruber-transfer",
        ),
    ),
    "am-fm": (
        Conclusion(
            "AM-FM agrees with people over the systems better than any other metric",
            "the same correlation (0.892), but most of it is due to one system that lies far from all others: without "
            "it 0.484, and CIDEr 0.466 (am-fm-table1)",
            "in part",
            "am-fm-dstc6",
        ),
        Conclusion(
            "word overlap has low or negative correlation over the systems",
            "the same figures for BLEU-4, ROUGE-L and CIDEr; without the one system all three are positive",
            "in part",
            "am-fm-table1",
        ),
        Conclusion(
            "of the other metrics, the embedding average agrees best",
            "not with our word vectors: 0.433, greedy matching 0.695, if replies without a known word count as 0, and "
            "negative for both otherwise",
            "no",
            "am-fm-table1",
        ),
        Conclusion(
            "AM is best with 10 dimensions, and worse with more",
            "from 0.867 with 10 to 0.213 with 2,500; without the one system from 0.307 to 0.041",
            "yes",
            "am-fm-dstc6",
        ),
        Conclusion(
            "bigrams are the best order for FM",
            "they are the worst: 0.652, unigrams 0.815, trigrams 0.698; by rank correlation the orders hardly differ",
            "no",
            "am-fm-dstc6",
        ),
        Conclusion(
            "a weight of .8 for AM is best, and better than AM or FM alone",
            "0.892, AM alone 0.867 and FM alone 0.652; .9 is slightly better (0.907), and with training text of "
            "another domain FM alone is best",
            "in part",
            "am-fm-dstc6",
        ),
        Conclusion(
            "reply by reply, it follows people more closely than the embedding average for all three systems",
            "for the median system alone (0.467 and 0.427); not for the best, S_17 (0.330 and 0.356), the worst, S_20 "
            "(0.701 and 0.810), or all systems together (0.427 and 0.449)",
            "no",
            "am-fm-dstc6",
        ),
        Conclusion(
            "people agree less on the replies of good systems than on those of the worst",
            "two halves of the raters agree at 0.620 for the best system, 0.684 for the median, 0.795 for the worst",
            "yes",
            "am-fm-dstc6",
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
            "the referenced parts of ADEM and RUBER owe much of their agreement to true replies",
            "without them, nothing is left of the agreement of RUBER's s_R (0.173 to -0.076), and R-ADEM agrees less "
            "with every encoder (MiniLM: 0.408 to 0.288 in adem-figures)",
            "yes",
            "ruber-figures",
        ),
        Conclusion(
            "RUBER without its referenced part gives less conservative scores",
            "on DailyDialog the standard deviation of s_U is 0.35, that of the blend 0.18 and that of s_R 0.07",
            "yes",
            "ruber-figures",
        ),
        Conclusion(
            "labels help RUBER",
            "the arithmetic blend gains with every encoder on both sets; the gain is significant with all but the GRU "
            "on PersonaChat",
            "in part",
            "ruber-figures",
        ),
        Conclusion(
            "a pretrained encoder fitted on 720 labels agrees strongly with people "
            f"({_ROBERTA_EVAL.pearson:.2f} / {_ROBERTA_EVAL.spearman:.2f})",
            "the published settings, run as far as a CPU allows with an encoder of a third of its size, reach 0.390 / "
            "0.388 on DailyDialog and 0.456 / 0.522 on PersonaChat",
            "not reached",
            "roberta-eval",
        ),
        Conclusion(
            "fitted on one corpus it also works on another, better on PersonaChat than on DailyDialog",
            "the same pattern at a lower level with a blend in its place: 0.546 on PersonaChat (0.565 if fitted "
            "there), 0.270 on DailyDialog (0.400)",
            "yes",
            "evaluator-studies",
        ),
        Conclusion(
            "it transfers to another corpus much better than RUBER",
            "a blend in its place does on DailyDialog (0.270; in ruber-transfer RUBER has 0.05 with a GRU and 0.20 "
            "with MiniLM), but hardly on PersonaChat (0.546; RUBER 0.33 and 0.53, without labels)",
            "in part",
            "evaluator-studies",
        ),
        Conclusion(
            "about 100 labels do nearly as well as all of them",
            "with ADEM in place of RoBERTa-eval, 198 do (0.393, all 720 labels 0.399), and 99 do not (0.298)",
            "in part",
            "evaluator-studies",
        ),
        Conclusion(
            "an evaluator without references stays as good without true replies, and follows relevance, not grammar",
            "so does the default evaluator, at a lower level; ADEM, which needs references, loses much agreement",
            "yes",
            "evaluator-studies",
        ),
        Conclusion(
            "noise on the labels and rounded scores hardly change the agreement",
            "noise of 0.5 lowers that of the default evaluator from 0.335 to 0.313 and that of ADEM from 0.371 to "
            "0.349; rounding costs as much or slightly more (0.298 and 0.348)",
            "yes",
            "evaluator-studies",
        ),
    ),
}
"""Key of the paper -> its conclusions."""
