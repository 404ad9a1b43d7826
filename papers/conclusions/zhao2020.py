"""What Zhao et al. 2020 conclude, and what holds of it."""

from __future__ import annotations

from papers.conclusions.record import Conclusion
from papers.published import zhao2020

_ROBERTA_EVAL = zhao2020.TABLE_3.correlations()[zhao2020.ROBERTA_EVAL]

CONCLUSIONS = (
    Conclusion(
        "removing outliers raises the agreement of raters",
        "the same figures, but the alpha of ratings that were chosen for being alike is not their reliability",
        "yes",
        "rater-figures",
        ("Appendix A",),
    ),
    Conclusion(
        "the referenced parts of ADEM and RUBER owe much of their agreement to true replies",
        "without them, nothing is left of the agreement of RUBER's s_R (0.173 to -0.076), and R-ADEM agrees less "
        "with every encoder (MiniLM: 0.408 to 0.288 in adem-figures)",
        "yes",
        "ruber-figures",
        ("Table 1",),
    ),
    Conclusion(
        "RUBER without its referenced part gives less conservative scores",
        "on DailyDialog the standard deviation of s_U is 0.35, that of the blend 0.18 and that of s_R 0.07",
        "yes",
        "ruber-figures",
        ("Table 1",),
    ),
    Conclusion(
        "labels help RUBER",
        "the arithmetic blend gains with every encoder on both sets; the gain is significant with all but the GRU "
        "on PersonaChat",
        "in part",
        "ruber-figures",
        ("Table 2",),
    ),
    Conclusion(
        "a pretrained encoder fitted on 720 labels agrees strongly with people "
        f"({_ROBERTA_EVAL.pearson:.2f} / {_ROBERTA_EVAL.spearman:.2f})",
        "the published settings, run as far as a CPU allows with an encoder a third of its size, reach 0.468 / "
        "0.440 on DailyDialog and 0.463 / 0.574 on PersonaChat",
        "not reached",
        "roberta-eval",
        ("Table 3",),
    ),
    Conclusion(
        "fitted on one corpus it also works on another, better on PersonaChat than on DailyDialog",
        "the same pattern at a lower level with a blend in its place: 0.546 on PersonaChat (0.565 if fitted "
        "there), 0.270 on DailyDialog (0.400); RoBERTa-eval, as far as we trained it, has 0.388 and 0.337 "
        "(roberta-eval), a difference well within their intervals",
        "in part",
        "evaluator-studies",
        ("Table 4",),
    ),
    Conclusion(
        "it transfers to another corpus much better than RUBER",
        "a blend in its place does on DailyDialog (0.270; in ruber-transfer RUBER has 0.05 with a GRU and 0.20 "
        "with MiniLM), but hardly on PersonaChat (0.546; RUBER 0.33 and 0.53, without labels)",
        "in part",
        "evaluator-studies",
        ("Table 4",),
    ),
    Conclusion(
        "about 100 labels do nearly as well as all of them",
        "with ADEM in place of RoBERTa-eval, 198 do (0.393, all 720 labels 0.399), and 99 do not (0.298)",
        "in part",
        "evaluator-studies",
        ("Figure 2",),
    ),
    Conclusion(
        "an evaluator without references stays as good without true replies, and follows relevance, not grammar",
        "so does the default evaluator, at a lower level; ADEM, which needs references, loses much agreement",
        "yes",
        "evaluator-studies",
        ("Section 6.3",),
    ),
    Conclusion(
        "noise on the labels and rounded scores hardly change the agreement",
        "noise of 0.5 lowers that of the default evaluator from 0.335 to 0.313 and that of ADEM from 0.371 to "
        "0.349, as little as in the paper; rounding, which costs nothing there, costs more (0.298 and 0.348)",
        "in part",
        "evaluator-studies",
        ("Appendix D",),
    ),
    Conclusion(
        "the judged replies are diverse: their scores cover the whole range, and differ between sources",
        "mean scores rise from 2.00 for random replies to 4.61 for true ones on DailyDialog, and from 1.80 to 4.19 on "
        "PersonaChat",
        "yes",
        "rater-figures",
        ("Figure 1",),
    ),
    Conclusion(
        "scores of ADEM and RUBER lie close to the mean, and those of RoBERTa-eval are spread more than people's",
        "43 % of ADEM's scores and 33 % of RUBER's are within half a step of the mean, of people's 17 %; but of the "
        "default evaluator's, in place of RoBERTa-eval, 33 %",
        "in part",
        "evaluator-studies",
        ("Figure 3",),
    ),
)
